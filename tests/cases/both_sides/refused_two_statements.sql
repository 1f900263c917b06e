-- what: a query, and more
-- refused: not-one-statement
select charge_id from ledger l join vendor v using (charge_id); drop table staging.vendor
