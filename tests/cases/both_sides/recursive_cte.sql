-- what: a recursive CTE beside the comparison
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
with recursive copies(n) as (select 1 union all select n + 1 from copies where n < 3)
select n, charge_id from copies, (
  select charge_id from ledger l full join vendor v using (charge_id) where l.amount is distinct from v.amount
) d
