-- what: keys compared in upper case
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select upper(trim(l.charge_id)) as id, l.amount - v.amount as d
from ledger l join vendor v on upper(trim(l.charge_id)) = upper(trim(v.charge_id)) where l.amount <> v.amount
