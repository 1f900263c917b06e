-- what: the staging table instead of the input
-- refused: undeclared-input
select charge_id from ledger l join staging.vendor v using (charge_id)
