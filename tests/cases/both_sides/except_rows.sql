-- what: ledger lines that the vendor does not have exactly so
-- normal: passed
-- perfect: passed nothing-found ledger
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed COVERAGE_LOW ledger
select charge_id, amount from ledger except all select charge_id, amount from vendor
