-- what: more than 50.00 apart: none is in either month, and a difference of one would stay hidden
-- normal: passed nothing-found ledger vendor
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id, l.amount, v.amount as billed from ledger l join vendor v using (charge_id)
where abs(l.amount - v.amount) > 50
