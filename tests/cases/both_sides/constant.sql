-- what: a result that depends on nothing
-- normal: not-evaluated INDETERMINATE_SIDE ledger
-- perfect: not-evaluated INDETERMINATE_SIDE ledger
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select 'no discrepancies' as finding
