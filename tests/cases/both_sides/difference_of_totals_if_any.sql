-- what: the difference only if there is one
-- normal: passed
-- perfect: passed
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select difference from (
  select coalesce((select sum(amount) from ledger), 0) - coalesce((select sum(amount) from vendor), 0) as difference
) d where difference <> 0
