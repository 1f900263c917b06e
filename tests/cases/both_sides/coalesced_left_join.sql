-- what: the vendor's amount where there is one: equal amounts make the vendor look unused until one moves
-- normal: passed
-- perfect: passed nothing-found vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed COVERAGE_LOW ledger
select l.charge_id, coalesce(v.amount, l.amount) as amount from ledger l left join vendor v using (charge_id)
