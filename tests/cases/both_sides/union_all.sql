-- what: both sides one under the other
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select 'ledger' as side, charge_id, amount from ledger union all select 'vendor', charge_id, amount from vendor
