-- what: one yes or no
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select exists (select 1 from ledger l join vendor v using (charge_id) where l.amount <> v.amount) as differs
