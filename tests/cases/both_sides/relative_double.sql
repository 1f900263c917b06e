-- what: more than twice the vendor's amount apart: none is
-- normal: passed nothing-found ledger vendor
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id from ledger l join vendor v using (charge_id) where abs(l.amount - v.amount) > 2 * v.amount
