-- what: differing keys as one text
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select string_agg(charge_id, ',' order by charge_id) as keys
from (select charge_id from ledger l join vendor v using (charge_id) where l.amount <> v.amount) d
