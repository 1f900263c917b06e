-- what: lines and overcharges as two numbers
-- normal: passed
-- perfect: passed nothing-found vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed COVERAGE_LOW ledger
select count(*) as lines, count(*) filter (where l.amount > v.amount) as overcharged
from ledger l left join vendor v on l.charge_id = v.charge_id
