-- what: a CTE that takes the name of the input it reads
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
with vendor as (select * from vendor where amount > 0)
select charge_id, l.amount as la, v.amount as va from ledger l full join vendor v using (charge_id)
where l.amount is distinct from v.amount
