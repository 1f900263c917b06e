-- what: differences in three parts, through CTEs that read CTEs
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
with pairs as (select charge_id, l.amount as la, v.amount as va from ledger l join vendor v using (charge_id)),
  changed as (select charge_id, 'changed' as kind from pairs where la <> va),
  missing as (select charge_id, 'missing' as kind from ledger where charge_id not in (select charge_id from pairs)),
  unknown as (select charge_id, 'unknown' as kind from vendor where charge_id not in (select charge_id from pairs))
select * from changed union all select * from missing union all select * from unknown
