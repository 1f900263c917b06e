-- what: keys in any order
-- refused: nondeterministic-query
select string_agg(charge_id, ',') as keys from ledger l join vendor v using (charge_id) where l.amount <> v.amount
