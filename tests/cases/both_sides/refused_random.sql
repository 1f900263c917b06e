-- what: a random pick
-- refused: nondeterministic-query
select charge_id from ledger l join vendor v using (charge_id) where random() < 0.1
