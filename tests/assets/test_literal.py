"""The control: the literal executor follows the plan to its end, right in a healthy world and wrong in a broken one."""

from __future__ import annotations

from decimal import Decimal

import pytest

from assets.demo.faults import FAULTS
from assets.demo.literal import execute_literally
from assets.demo.world import DemoWorld


def test_healthy_month_gets_exactly_the_true_credits(saturday, recorded):
    """Its tools are naive, not broken: with the world as planned they find the truth."""
    truth = saturday.pair.truth
    run = execute_literally(recorded(saturday), saturday)

    assert run.status == "succeeded"
    assert [step.outcome for step in run.steps] == ["done"] * 7
    assert (run.ledger_rows, run.vendor_rows, run.discrepancies) == (61_400, 61_397, len(truth.differences))
    assert (run.issued_count, run.issued_amount, run.held_count) == (len(truth.credits), truth.credit_sum, 0)


def test_healthy_quarter_gets_exactly_the_true_credits(council, recorded):
    truth = council.pair.truth
    run = execute_literally(recorded(council), council)

    assert (run.ledger_rows, run.vendor_rows, run.discrepancies) == (3_855, 3_855, len(truth.differences))
    assert (run.issued_count, run.issued_amount) == (len(truth.credits), truth.credit_sum)


def test_saturday_run_writes_its_report_and_holds_61400_credits(saturday, recorded, caplog):
    """A 404 as data, a load of nothing, five pages, and a threshold that happened to be low enough."""
    run = execute_literally(recorded(saturday), saturday, FAULTS["delete-export-after-admission"])

    assert [(step.id, step.outcome) for step in run.steps] == [
        ("scope_ledger", "done"),
        ("stage_table", "done"),
        ("fetch_export", "error"),
        ("load_staging", "done"),
        ("reconcile", "done"),
        ("write_report", "done"),
        ("issue_credit", "held"),
    ]
    assert (run.vendor_rows, run.discrepancies) == (0, 61_400)
    assert (run.status, run.held_count, run.held_amount) == ("held", 61_400, saturday.pair.truth.ledger_sum)
    assert (run.issued_count, run.issued_amount) == (0, Decimal("0.00"))
    assert run.report.read_text(encoding="utf-8").count("## Page") == 5
    assert "404" in caplog.text


@pytest.mark.parametrize(
    ("name", "discrepancies", "held"),
    [
        ("delete-export-before-plan", 61_400, 61_400),
        ("empty-export", 61_400, 61_400),
        ("header-only-export", 61_400, 61_400),
        ("empty-staging-before-reconcile", 61_400, 61_400),
        ("one-sided-sql", 61_400, 61_400),
        ("wrong-month-export", 65_497, 61_400),
        ("vendor-matches-nothing", 122_797, 61_400),
        ("one-row-export", 61_399, 61_399),
        ("perfect-month", 0, 0),
        ("delete-export-after-fetch", 22, 0),
        ("replace-export-after-admission", 23, 0),
        ("second-file-in-drop", 22, 0),
        ("new-currency-column", 22, 0),
        ("truncate-gzip-export", 0, 0),
        ("drop-staging-before-reconcile", 0, 0),
    ],
)
def test_no_fault_makes_it_stop(saturday, recorded, name, discrepancies, held):
    """Seven steps are called under every fault; what follows is whatever the world makes of it."""
    fault = FAULTS[name]
    run = execute_literally(recorded(saturday, fault.recording), saturday, fault)

    assert len(run.steps) == 7
    assert (run.discrepancies, run.held_count) == (discrepancies, held)


def test_it_touches_nothing_of_the_harness(saturday, recorded):
    """Its tables, credits and report lie under a folder of its own."""

    def contents() -> tuple:
        with saturday.connection() as warehouse:
            tables = warehouse.execute(
                "select table_schema, table_name, estimated_size from information_schema.tables "
                "join duckdb_tables() using (table_name) order by all"
            ).fetchall()
        reports = sorted(path.name for path in saturday.roots.reports.iterdir())
        return tables, reports, sorted(path.name for path in saturday.roots.landing.iterdir())

    before = contents()
    run = execute_literally(recorded(saturday), saturday)

    assert contents() == before
    assert run.report.is_relative_to(saturday.home / "literal")


def test_running_twice_keeps_one_credit_per_charge(saturday, recorded):
    """Even the control does not pay twice; its sin is another."""
    import duckdb

    for _ in range(2):
        execute_literally(recorded(saturday), saturday)
    with duckdb.connect(saturday.home / "literal" / "warehouse.duckdb") as own:
        issued = own.execute(
            "select count(*), count(distinct charge_id) from credits.issued where period = '2026-03'"
        ).fetchall()

    assert issued == [(15, 15)]


def test_it_follows_another_period(saturday, recorded):
    february = DemoWorld(saturday.home, saturday.endpoint, period="2026-02")
    run = execute_literally(recorded(february), february)
    february.s3.close()

    assert run.ledger_rows == 4_100
    assert run.issued_amount == february.pair.truth.credit_sum
