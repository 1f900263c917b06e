-- what: a vendor part that can never have a row
-- normal: failed ONE_SIDED vendor
-- perfect: failed ONE_SIDED vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed ONE_SIDED vendor
select charge_id, amount from ledger union all select charge_id, amount from vendor where 1 = 0
