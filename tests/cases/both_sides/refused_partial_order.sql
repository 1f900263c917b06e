-- what: an order that does not tell lines apart
-- refused: nondeterministic-query
select charge_id, row_number() over (partition by l.account_id order by l.amount) as n from ledger l join vendor v using (charge_id)
