-- what: reads the ledger only and finds nothing: of the vendor nothing can be said
-- normal: not-evaluated INDETERMINATE_SIDE vendor
-- perfect: not-evaluated INDETERMINATE_SIDE vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id, amount from ledger where amount > 50000
