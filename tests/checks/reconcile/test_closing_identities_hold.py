"""Every row of every side is counted once: lines and amounts of the result close against the tables."""

from dataclasses import replace
from decimal import Decimal

import pytest

from dagster_planexec.checks.check import NotApplicable
from dagster_planexec.checks.reconcile.closing_identities_hold import closing_identities_hold
from dagster_planexec.contract.outcome import Done
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.tools.run_sql import RunSql, RunSqlArgs
from tests.support.reconciling import VENDOR, bench, contract, make_world, shape, task

INPUTS = {"ledger": "staging.ledger", "vendor": "staging.vendor"}
STATUS = """case when v.charge_id is null then 'ledger_only' when l.charge_id is null then 'vendor_only'
  when l.amount = v.amount then 'identical' else 'amount_differs' end as status"""
COLUMNS = (
    f"coalesce(l.charge_id, v.charge_id) as charge_id, l.amount as ledger_amount, v.amount as vendor_amount, {STATUS}"
)
FULL = f"select {COLUMNS} from ledger l full join vendor v on l.charge_id = v.charge_id"


def judged(on, text, **changes):
    (on.sql / "q.sql").write_text(text)
    args = RunSqlArgs(**({"file": "q.sql", "inputs": INPUTS, "target": "recon.lines"} | changes))
    outcome = on.call(RunSql(), args)
    assert isinstance(outcome, Done), outcome
    (verdict,) = on.verdicts(closing_identities_hold, RunSql(), args)
    return verdict


def world(tmp_path, name="normal", **changes):
    on = bench(tmp_path, **changes)
    make_world(on, name)
    return on


@pytest.mark.parametrize("name", VENDOR)
def test_a_full_join_closes_in_every_world(tmp_path, name):
    """A correct result closes whatever the data; whether the data makes sense is another check's question."""
    seen = judged(world(tmp_path, name), FULL)

    assert (seen.status, seen.code) == ("passed", None)
    assert "ledger 1000 rows 56995.00 USD, vendor " in seen.text


def test_the_figures_are_the_known_ones(tmp_path):
    """Both sides of the verdict show rows and money of both sides, each from its own source."""
    seen = judged(world(tmp_path), FULL)

    rows = {"ledger": 1000, "vendor": 1000}
    sums = {"ledger": Decimal("56995.00"), "vendor": Decimal("57152.50")}
    lines = {"identical": 994, "amount_differs": 4, "ledger_only": 2, "vendor_only": 2}
    assert seen.expected.value == {"rows": rows, "sums": sums}
    assert seen.observed.value == {"rows": rows, "sums": sums, "lines": lines}
    assert "(ledger 1000 rows 56995.00 USD, vendor 1000 rows 57152.50 USD)" in seen.text
    assert seen.expected.source.subject.name == "staging.ledger + staging.vendor"
    assert seen.observed.source.subject.name == "recon.lines"
    assert "994 identical, 4 amount_differs, 2 ledger_only, 2 vendor_only" in seen.text


TWICE = "(select * from vendor union all select * from vendor)"
RAISED = "case when charge_id = 'C0001' then ledger_amount + 0.01 else ledger_amount end"
BROKEN = {
    "inner join loses what only one side has": (
        f"select {COLUMNS} from ledger l join vendor v on l.charge_id = v.charge_id",
        "994 identical + 4 amount_differs + 0 ledger_only = 998 lines of ledger, which has 1000 rows",
    ),
    "left join loses what only the vendor has": (
        f"select {COLUMNS} from ledger l left join vendor v on l.charge_id = v.charge_id",
        "= 998 lines of vendor, which has 1000 rows",
    ),
    "a join that multiplies": (
        f"select {COLUMNS} from ledger l full join {TWICE} v on l.charge_id = v.charge_id",
        "lines of ledger, which has 1000 rows",
    ),
    "identical lines left out": (
        f"select * from ({FULL}) x where status <> 'identical'",
        "0 identical + 4 amount_differs + 2 ledger_only = 6 lines of ledger",
    ),
    "an amount changed": (
        f"select * replace ({RAISED} as ledger_amount) from ({FULL}) x",
        "amounts of ledger add up to 56995.01 USD in the result and to 56995.00 USD in its rows",
    ),
    "amounts of the wrong side": (
        FULL.replace("v.amount as vendor_amount", "l.amount as vendor_amount"),
        "amounts of vendor add up to 56995.00 USD",
    ),
    "an amount on a line the side does not have": (
        FULL.replace("v.amount as vendor_amount", "coalesce(v.amount, 7) as vendor_amount"),
        "amounts of vendor add up to 57166.50 USD",
    ),
    "a status that is no word": (
        FULL.replace("else 'amount_differs'", "else 'rounding'"),
        "4 lines have a status that is none of 'identical', 'amount_differs', 'ledger_only', 'vendor_only'",
    ),
    "a null status": (
        f"select * from ({FULL}) x union all select 'Z', null, null, null",
        "1 lines have a status that is none of",
    ),
    "one only-word for both": (
        FULL.replace("'vendor_only'", "'ledger_only'"),
        "994 identical + 4 amount_differs + 4 ledger_only = 1002 lines of ledger",
    ),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=list(BROKEN))
def test_what_does_not_close_is_broken(tmp_path, text, message):
    """IDENTITY_BROKEN with the sum that does not close, and the plain pair of side counts."""
    seen = judged(world(tmp_path), text)

    assert (seen.status, seen.code, seen.opens) == ("failed", "IDENTITY_BROKEN", False)
    assert message in seen.text
    assert "ledger 1000 rows" in seen.text
    assert "vendor 1000 rows" in seen.text


@pytest.mark.parametrize(
    ("name", "notices"),
    [
        ("normal", []),
        ("perfect", []),
        ("vendor-empty", ["discrepancies = rows of ledger (1000)"]),
        ("wrong-month", []),
        ("one-row", []),
    ],
)
def test_as_many_discrepancies_as_rows_of_a_side_is_named(tmp_path, name, notices):
    """The sign of the Saturday run: every row of one side is a discrepancy. It is named exactly when it is true."""
    seen = judged(world(tmp_path, name), FULL)

    assert [part for part in seen.text.split(" (ledger")[0].split("; ") if part.startswith("discrepancies")] == notices


def test_rows_out_of_scope_are_not_counted(tmp_path):
    """February rows in the staging tables belong to no March identity."""
    on = world(tmp_path)

    assert on.rows("select count(*) > 1000 from staging.ledger") == [(True,)]
    assert judged(on, FULL).status == "passed"


def test_money_in_floats_is_no_money(tmp_path):
    """A DOUBLE amount in the result is refused, not added up."""
    on = world(tmp_path)

    with pytest.raises(PortError, match="money is DECIMAL") as error:
        judged(on, FULL.replace("v.amount as vendor_amount", "v.amount::double as vendor_amount"))
    assert error.value.code == "SCHEMA_DRIFT"


def test_a_dropped_side_is_named(tmp_path):
    """If a side's table is gone when it is counted, the check fails with TABLE_GONE."""
    on = world(tmp_path)
    judged(on, FULL)
    on.run("drop table staging.vendor")
    args = RunSqlArgs(file="q.sql", inputs=INPUTS, target="recon.lines")

    (seen,) = on.verdicts(closing_identities_hold, RunSql(), args)

    assert (seen.status, seen.code) == ("failed", "TABLE_GONE")
    assert "staging.vendor" in seen.text


def test_a_dropped_result_is_named(tmp_path):
    """If the result is gone when it is counted, the check fails with TABLE_GONE."""
    on = world(tmp_path)
    judged(on, FULL)
    on.run("drop table recon.lines")

    (seen,) = on.verdicts(
        closing_identities_hold, RunSql(), RunSqlArgs(file="q.sql", inputs=INPUTS, target="recon.lines")
    )

    assert (seen.status, seen.code) == ("failed", "TABLE_GONE")


def test_not_applicable_without_a_result_shape(tmp_path):
    """A task whose deliverables declare no result shape cannot be closed, and the verdict says which clause."""
    on = bench(tmp_path, result=False)
    args = RunSqlArgs(file="q.sql", inputs=INPUTS, target="recon.lines")

    (check,) = closing_identities_hold(on.scope(RunSql(), args), "post")

    assert isinstance(check, NotApplicable)
    assert check.verdict().opens
    assert check.clause.reader == "deliverables.result"


def test_a_shape_that_forgets_a_side_is_a_bad_contract(tmp_path):
    """A side without its word would be closed against nothing; that is refused, not skipped."""
    base = task()
    forgetful = replace(shape("ledger", "vendor"), only={"ledger": "ledger_only"})
    on = world(tmp_path, deliverables=(replace(base.deliverables[0], result=forgetful),))

    with pytest.raises(PlanexecError, match="side 'vendor'") as error:
        judged(on, FULL)
    assert error.value.code == "BAD_CONTRACT"


def test_each_side_has_its_own_currency(tmp_path):
    """Sums are shown in the currency of their side's contract; no two sides are ever added up."""
    base = task()
    on = world(
        tmp_path,
        contracts={"charges": contract(), "bills": contract("bills", currency="EUR")},
        inputs=(base.inputs[0], replace(base.inputs[1], contract="bills")),
    )

    assert "ledger 1000 rows 56995.00 USD, vendor 1000 rows 57152.50 EUR" in judged(on, FULL).text


THREE = ("ledger", "vendor", "bank")
THREE_WAY = """
select charge_id, l.amount as ledger_amount, v.amount as vendor_amount, b.amount as bank_amount,
  case when l.amount = v.amount and v.amount = b.amount then 'identical'
    when v.amount is null and b.amount is null then 'ledger_only'
    when l.amount is null and b.amount is null then 'vendor_only'
    when l.amount is null and v.amount is null then 'bank_only' else 'amount_differs' end as status
from ledger l full join vendor v using (charge_id) full join bank b using (charge_id)
"""


@pytest.mark.parametrize(
    ("text", "status"),
    [(THREE_WAY, "passed"), (THREE_WAY.replace("full join bank", "left join bank"), "failed")],
    ids=["closed", "bank-only-lost"],
)
def test_three_sides_close(tmp_path, text, status):
    """A line that differs may lack one of three sides; its amount says so."""
    on = bench(tmp_path, sides=THREE)
    make_world(on, "normal")
    on.run(
        "delete from staging.ledger where charge_date < date '2026-03-01'",
        "create table staging.bank as select * from staging.ledger where charge_id not in ('C0003', 'C0500')",
        "insert into staging.bank select * replace ('B1' as charge_id) from staging.ledger where charge_id = 'C0001'",
    )

    seen = judged(on, text, inputs={side: f"staging.{side}" for side in THREE})

    assert seen.status == status, seen.text
    assert "bank 999 rows" in seen.text


def test_sides_are_any_names(tmp_path):
    """Nothing in the check knows a ledger or a vendor."""
    on = bench(tmp_path, sides=("books", "council"))
    make_world(on, "normal")
    text = (
        FULL.replace("from ledger", "from books").replace("join vendor", "join council")
        .replace("ledger_", "books_").replace("vendor_", "council_")
    )  # fmt: skip

    seen = judged(on, text, inputs={"books": "staging.ledger", "council": "staging.vendor"})

    assert seen.status == "passed"
    assert shape("books", "council").only["council"] == "council_only"
