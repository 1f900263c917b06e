-- what: a threshold above the whole money of a side (57,000): no difference of these sides could reach it
-- normal: not-evaluated INDETERMINATE_SIDE ledger
-- perfect: not-evaluated INDETERMINATE_SIDE ledger
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id from ledger l join vendor v using (charge_id) where abs(l.amount - v.amount) > 1000000
