-- what: one arbitrary line per account
-- refused: nondeterministic-query
select distinct on (l.account_id) l.account_id, v.amount from ledger l join vendor v using (charge_id)
