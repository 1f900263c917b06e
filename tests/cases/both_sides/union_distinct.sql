-- what: all keys once: in a perfect month either side alone gives the same, but a new key would show
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id from ledger union select charge_id from vendor
