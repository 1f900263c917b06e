-- what: charged more than three times what was billed: none is; of the vendor only a much smaller amount shows
-- normal: passed nothing-found ledger vendor
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id from ledger l join vendor v using (charge_id) where l.amount / v.amount > 3
