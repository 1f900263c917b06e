-- what: a comma join that compares
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select l.charge_id, l.amount, v.amount as billed from ledger l, vendor v
where l.charge_id = v.charge_id and l.amount <> v.amount
