-- what: pairs of charges of one account and region, with what was billed for the first
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select a.charge_id, b.charge_id as twin, v.amount
from ledger a join ledger b on a.account_id = b.account_id and a.region = b.region and a.charge_id < b.charge_id
join vendor v on v.charge_id = a.charge_id
