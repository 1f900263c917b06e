-- what: keys that do not occur exactly twice
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id, count(*) as n, sum(amount) as total
from (select charge_id, amount from ledger union all select charge_id, -amount from vendor) both_sides
group by charge_id having sum(amount) <> 0
