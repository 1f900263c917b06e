-- what: only the lines that differ; a side without the other is all differences, so both contribute in a perfect month
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select charge_id, l.amount as la, v.amount as va from ledger l full join vendor v using (charge_id)
where l.amount is distinct from v.amount;
