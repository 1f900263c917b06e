-- what: ledger lines the vendor lacks; in a perfect month nothing, with or without the ledger; where no key matches, the vendor changes nothing
-- normal: passed
-- perfect: passed nothing-found ledger
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed COVERAGE_LOW ledger
select l.charge_id, l.amount from ledger l left join vendor v on v.charge_id = l.charge_id where v.charge_id is null
