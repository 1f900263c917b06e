-- what: vendor lines the ledger lacks: the mirror image; the one row is in the ledger, so nothing is found of it
-- normal: passed
-- perfect: passed nothing-found vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED ledger
-- one-row: failed COVERAGE_LOW ledger
select v.charge_id, v.amount from vendor v left join ledger l using (charge_id) where l.charge_id is null
