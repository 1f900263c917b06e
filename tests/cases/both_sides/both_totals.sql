-- what: two sums
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select (select sum(amount) from ledger) as charged, (select sum(amount) from vendor) as billed
