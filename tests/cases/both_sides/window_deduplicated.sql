-- what: the newest vendor line per key, compared
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
with newest as (
  select charge_id, amount from (
    select *, row_number() over (partition by charge_id order by charge_date desc, amount) as n from vendor
  ) ranked where n = 1
)
select charge_id, l.amount as la, v.amount as va from ledger l full join newest v using (charge_id)
where l.amount is distinct from v.amount
