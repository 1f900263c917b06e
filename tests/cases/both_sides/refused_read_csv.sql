-- what: a file read by a function
-- refused: undeclared-input
select charge_id from ledger l join read_csv('/tmp/vendor.csv') v using (charge_id)
