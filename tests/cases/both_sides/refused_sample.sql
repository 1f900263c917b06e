-- what: a sample of the ledger
-- refused: nondeterministic-query
select charge_id from ledger l using sample 10 percent (bernoulli)
