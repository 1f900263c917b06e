-- what: the ledger charged more; a perfect month has none, and a penny up or down would show
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id, l.amount - v.amount as over from ledger l join vendor v using (charge_id) where l.amount > v.amount
