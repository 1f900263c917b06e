-- what: overcharges per region, regions without one included
-- normal: passed
-- perfect: passed nothing-found vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed COVERAGE_LOW ledger
select l.region, count(*) as lines, sum(case when v.amount < l.amount then 1 else 0 end) as overcharged
from ledger l left join vendor v using (charge_id) group by l.region
