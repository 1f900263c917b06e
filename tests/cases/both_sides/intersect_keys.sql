-- what: matched keys
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id from ledger intersect select charge_id from vendor
