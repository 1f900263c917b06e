-- what: rows up to today
-- refused: nondeterministic-query
select charge_id from ledger l join vendor v using (charge_id) where l.charge_date <= current_date
