-- what: matched lines with both amounts
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id, l.amount as la, v.amount as va from ledger l join vendor v using (charge_id)
