-- what: an arbitrary amount per account
-- refused: nondeterministic-query
select account_id, any_value(v.amount) as a from ledger l join vendor v using (charge_id, account_id) group by account_id
