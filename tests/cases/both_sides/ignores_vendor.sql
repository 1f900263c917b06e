-- what: reads the ledger only
-- normal: failed ONE_SIDED vendor
-- perfect: failed ONE_SIDED vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed ONE_SIDED vendor
select charge_id, amount from ledger where amount > 90
