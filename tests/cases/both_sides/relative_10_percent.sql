-- what: more than a tenth apart: one line is, in a normal month
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id from ledger l join vendor v using (charge_id) where abs(l.amount - v.amount) > 0.1 * l.amount
