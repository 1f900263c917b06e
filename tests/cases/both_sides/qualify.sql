-- what: the dearest vendor line of each account, where the ledger knows it
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select v.account_id, v.charge_id, l.amount from vendor v join ledger l using (charge_id)
qualify row_number() over (partition by v.account_id order by v.amount desc, v.charge_id) = 1
