-- Every line of both sides once, with what became of it. Reads the named inputs `ledger` and `vendor` and nothing else.
-- Keys are compared as trimmed text, as the contracts say; amounts are DECIMAL and compared exactly.
select
    coalesce(trim(ledger.charge_id), trim(vendor.charge_id)) as charge_id,
    coalesce(ledger.charged_on, vendor.charged_on) as charged_on,
    case
        when vendor.charge_id is null then 'ledger_only'
        when ledger.charge_id is null then 'vendor_only'
        when ledger.amount = vendor.amount then 'identical'
        else 'amount_differs'
    end as status,
    ledger.amount as ledger_amount,
    vendor.amount as vendor_amount
from ledger
full outer join vendor on trim(ledger.charge_id) = trim(vendor.charge_id)
