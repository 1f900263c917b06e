-- what: the first ten of something
-- refused: nondeterministic-query
select charge_id from ledger l join vendor v using (charge_id) where l.amount <> v.amount order by l.amount limit 10
