-- what: columns that depend on the data
-- refused: nondeterministic-query
select * from (pivot ledger on region using sum(amount))
