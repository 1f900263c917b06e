-- what: reads the vendor only
-- normal: failed ONE_SIDED ledger
-- perfect: failed ONE_SIDED ledger
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED ledger
-- one-row: failed ONE_SIDED ledger
select charge_id, amount from vendor
