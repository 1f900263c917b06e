-- what: the vendor's amount per ledger line, by a scalar subquery; all null where no key matches, as without a vendor
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed COVERAGE_LOW ledger
select l.charge_id, (select max(v.amount) from vendor v where v.charge_id = l.charge_id) as billed from ledger l
