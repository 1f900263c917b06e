-- what: joins the vendor and takes nothing from it: the one-sided query of the fault list
-- normal: failed ONE_SIDED vendor
-- perfect: failed ONE_SIDED vendor
-- vendor-empty: failed EMPTY_SIDE vendor
-- wrong-month: failed ONE_SIDED vendor
-- one-row: failed ONE_SIDED vendor
select l.charge_id, l.amount, 'ledger_only' as status from ledger l left join vendor v using (charge_id)
