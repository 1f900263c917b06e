-- what: a comparison that contradicts itself: neither side can change it
-- normal: not-evaluated INDETERMINATE_SIDE ledger
-- perfect: not-evaluated INDETERMINATE_SIDE ledger
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id from ledger l join vendor v using (charge_id) where l.amount > v.amount and l.amount < v.amount
