-- what: the vendor's sum per ledger line, by LATERAL
-- normal: passed
-- perfect: passed nothing-found ledger
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed COVERAGE_LOW ledger
select l.charge_id, l.amount, s.billed
from ledger l left join lateral (select sum(v.amount) as billed from vendor v where v.charge_id = l.charge_id) s on true
where s.billed is distinct from l.amount
