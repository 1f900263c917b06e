-- what: ledger lines the vendor lacks; in a perfect month nothing, with or without the ledger; where no key matches, the vendor changes nothing
-- normal: passed
-- perfect: passed nothing-found ledger
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed COVERAGE_LOW ledger
select charge_id from ledger except select charge_id from vendor
