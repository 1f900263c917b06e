-- what: a file instead of the vendor
-- refused: undeclared-input
select charge_id from ledger l join '/tmp/vendor.csv' v using (charge_id)
