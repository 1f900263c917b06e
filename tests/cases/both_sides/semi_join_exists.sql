-- what: matched ledger lines
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select * from ledger l where exists (select 1 from vendor v where v.charge_id = l.charge_id)
