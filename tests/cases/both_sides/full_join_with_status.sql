-- what: every line of both sides with its status
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select coalesce(l.charge_id, v.charge_id) as charge_id, l.amount as ledger_amount, v.amount as vendor_amount,
  case when v.charge_id is null then 'ledger_only' when l.charge_id is null then 'vendor_only'
    when l.amount = v.amount then 'identical' else 'amount_differs' end as status
from ledger l full outer join vendor v on v.charge_id = l.charge_id
