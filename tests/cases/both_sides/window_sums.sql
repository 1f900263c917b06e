-- what: what was billed per account beside each matched charge
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select l.charge_id, sum(v.amount) over (partition by l.account_id) as billed
from ledger l join vendor v using (charge_id)
