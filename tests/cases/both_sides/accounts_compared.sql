-- what: totals per account, compared; the wrong month has the right accounts, and the keys tell
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
with l as (select account_id, sum(amount) as s from ledger group by account_id),
  v as (select account_id, sum(amount) as s from vendor group by account_id)
select account_id, l.s as charged, v.s as billed from l full join v using (account_id) where l.s is distinct from v.s
