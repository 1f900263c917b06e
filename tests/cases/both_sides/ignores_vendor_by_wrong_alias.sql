-- what: compares the ledger with itself, by a slip of the alias
-- normal: failed ONE_SIDED vendor
-- perfect: failed ONE_SIDED vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed ONE_SIDED vendor
select l.charge_id, l.amount - x.amount as d, l.amount from ledger l join ledger x using (charge_id)
left join vendor v on v.charge_id = l.charge_id where l.amount > 20
