-- what: the ledger charged less
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id, v.amount - l.amount as under from ledger l join vendor v using (charge_id) where l.amount < v.amount
