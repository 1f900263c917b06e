-- what: one number, 4 or 0; 0 is also what an empty side gives
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select count(*) as differing from ledger l join vendor v using (charge_id) where l.amount <> v.amount
