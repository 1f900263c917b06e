-- what: one difference; a wrong month of the same money gives 0 too, but its keys do not match
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select (select sum(amount) from ledger) - (select sum(amount) from vendor) as difference
