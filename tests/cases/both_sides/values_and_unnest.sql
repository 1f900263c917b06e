-- what: kinds from VALUES and thresholds from unnest, beside the comparison
-- normal: passed
-- perfect: passed nothing-found ledger vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed NOTHING_MATCHED
-- one-row: failed COVERAGE_LOW ledger
select k.kind, t.t as threshold, charge_id
from (values ('over', 1), ('under', -1)) k(kind, sign), unnest([0, 2]) t(t),
  (select charge_id, l.amount - v.amount as d from ledger l join vendor v using (charge_id)) x
where x.d * k.sign > t.t
