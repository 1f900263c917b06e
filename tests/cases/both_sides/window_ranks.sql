-- what: rank of each charge within its account, compared; moving all amounts alike keeps every rank, a new key does not
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
with l as (select charge_id, rank() over (partition by account_id order by amount, charge_id) as r from ledger),
  v as (select charge_id, rank() over (partition by account_id order by amount, charge_id) as r from vendor)
select charge_id, l.r as ours, v.r as theirs from l join v using (charge_id) where l.r <> v.r
