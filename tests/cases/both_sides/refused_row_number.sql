-- what: a number that depends on the order of rows
-- refused: nondeterministic-query
select charge_id, row_number() over () as n from ledger l join vendor v using (charge_id)
