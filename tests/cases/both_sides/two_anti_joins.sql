-- what: both directions in one result: without a side all of the other is listed
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select 'ledger' as side, charge_id from ledger where charge_id not in (select charge_id from vendor)
union all
select 'vendor' as side, charge_id from vendor where charge_id not in (select charge_id from ledger)
