"""Both tasks load, say the same thing of their result, and their recorded plans name what they allow."""

from __future__ import annotations

import csv
import json
from types import SimpleNamespace

import pytest

from assets import reconciliation
from assets.council_spend.task import TASK as COUNCIL
from assets.demo import council as council_data
from assets.demo import saturday as saturday_data
from assets.vendor_reconciliation.task import TASK as FLAGSHIP
from dagster_planexec.contract.layout import effect_scope, result_layout
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.reference import references
from dagster_planexec.planner.recording import contract_version, fill, read_recording
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.ingest import TextIngest
from tests.assets.conftest import ASSETS

TASKS = pytest.mark.parametrize("task", [FLAGSHIP, COUNCIL], ids=lambda task: task.name)
RECORDINGS = pytest.mark.parametrize(
    ("task", "recording"),
    [(task, path) for task in (FLAGSHIP, COUNCIL) for path in sorted((ASSETS / task.name / "plans").glob("*.json"))],
    ids=lambda value: getattr(value, "stem", getattr(value, "name", "")),
)


@TASKS
def test_task_has_a_result_that_can_be_closed_against_both_sides(task):
    layout = result_layout(task)

    assert {side for side, _ in layout.only} == {"ledger", "vendor"} == {side.name for side in task.sides}


@TASKS
def test_money_of_a_task_has_bounds(task):
    limits = task.limits

    assert (str(limits.credit_cap), limits.credit_lines_threshold, str(limits.min_matched_share)) == (
        "500.00",
        50,
        "0.9",
    )


def test_effect_scopes_are_what_they_have_always_been():
    """Another name would pay every credit again."""
    assert effect_scope(FLAGSHIP) == ("vendor-invoice-credits", "2026-01")
    assert effect_scope(COUNCIL) == ("council-spend-credits", "2017-Q2")


def test_asset_keys_of_both_tasks_are_distinct():
    names = [deliverable.name for task in (FLAGSHIP, COUNCIL) for deliverable in task.deliverables]

    assert len(set(names)) == len(names) == 8


@pytest.mark.parametrize(
    ("key", "belongs"),
    [
        ("vendor/exports/2026-03-invoice.csv", True),
        ("vendor/exports/2026-03-invoice.csv.gz", True),
        ("vendor/exports/2026-03-invoice-part2.csv", True),
        ("vendor/exports/2026-02-invoice.csv", False),
        ("vendor/exports/2026-03-statement.csv", False),
        ("vendor/exports/2026-03-invoice.pdf", False),
        ("vendor/other/2026-03-invoice.csv", False),
    ],
)
def test_drop_of_the_flagship(key, belongs):
    assert belongs is FLAGSHIP.drop.matches(key, FLAGSHIP.period("2026-03"))


@pytest.mark.parametrize("text", ["2025-12", "2026-13", "march", "2026-Q1"])
def test_period_outside_the_flagship_is_refused(text):
    with pytest.raises(PlanexecError) as refused:
        FLAGSHIP.period(text)

    assert refused.value.code == "UNKNOWN_PARTITION"


@pytest.mark.parametrize("text", ["2017-Q1", "2018-Q2", "2026-03"])
def test_period_without_a_published_file_is_refused(text):
    with pytest.raises(PlanexecError) as refused:
        COUNCIL.period(text)

    assert refused.value.code == "UNKNOWN_PARTITION"


@pytest.mark.parametrize("period", council_data.FILES)
def test_contract_knows_every_header_of_every_published_file(period):
    header = next(csv.reader(council_data.published(period).decode().splitlines()))
    contract = COUNCIL.contracts["published_spend"]
    columns = contract.columns_for(tuple(header))

    assert {column.header for column in columns if column.header is not None} == set(header)
    assert [c.name for c in columns if c.header is None and contract.column(c.name).required] == []


def test_contract_of_the_invoice_knows_its_headers_by_alias_and_no_currency():
    contract = FLAGSHIP.contracts["vendor_invoice"]
    columns = contract.columns_for(saturday_data.HEADER)

    assert tuple(column.header for column in columns) == saturday_data.HEADER
    assert not set(saturday_data.HEADER) & {column.name for column in columns}
    assert not any("currency" in alias.lower() for column in contract.columns for alias in column.aliases)


@RECORDINGS
def test_recording_is_a_plan_for_its_task(task, recording):
    """Seven steps, each with an allowed tool, references backwards only, every name in scope."""
    content = read_recording(recording)
    period = task.period(task.first_period)
    plan = fill(content["answer"], period)

    assert content["task"] == plan.task == task.name
    assert content["author"] == "by hand"
    assert [step.tool for step in plan.steps] == list(task.tools)
    assert "{" not in json.dumps([step.args for step in plan.steps]).replace('{"', "").replace("{}", "")
    before: set[str] = set()
    for step in plan.steps:
        assert {*step.depends_on, *(ref.step for ref in references(step))} <= before
        before.add(step.id)
    assert task.drop.matches(plan.step("fetch_export").args["key"], period)
    assert plan.step("stage_table").args["contract"] == task.input("vendor").contract
    assert plan.step("scope_ledger").args["source"] == task.input("ledger").source
    assert (reconciliation.SQL_FOLDER / plan.step("reconcile").args["file"]).is_file()


@RECORDINGS
def test_recording_was_made_for_todays_contracts(task, recording):
    assert read_recording(recording)["contract_version"] == contract_version(SimpleNamespace(task=task))


def test_recorded_plan_of_march_is_the_plan_of_the_design():
    plan = fill(
        read_recording(ASSETS / FLAGSHIP.name / "plans" / "recorded_export_csv.json")["answer"],
        FLAGSHIP.period("2026-03"),
    )
    steps = {step.id: step.args for step in plan.steps}

    assert steps == {
        "scope_ledger": {"source": "ledger.charges", "target": "staging.ledger_202603"},
        "stage_table": {"target": "staging.vendor_invoice_202603", "contract": "vendor_invoice"},
        "fetch_export": {"bucket": "vendor-drops", "key": "vendor/exports/2026-03-invoice.csv"},
        "load_staging": {"sources": [{"ref": "fetch_export.landed"}], "target": {"ref": "stage_table.table"}},
        "reconcile": {
            "file": "reconcile.sql",
            "inputs": {"ledger": {"ref": "scope_ledger.table"}, "vendor": {"ref": "load_staging.table"}},
            "target": "recon.lines_202603",
        },
        "write_report": {"source": {"ref": "reconcile.table"}, "name": "2026-03-recon"},
        "issue_credit": {"source": {"ref": "reconcile.table"}},
    }


@pytest.mark.parametrize("period", council_data.FILES)
def test_published_file_loads_by_its_contract_to_the_cent(tmp_path, period):
    """Four header lines, two line ends, absent suppliers, amounts with none to two decimals: no reject."""
    path = tmp_path / "published.csv"
    path.write_bytes(council_data.published(period))
    header = tuple(next(csv.reader(path.read_text(encoding="utf-8").splitlines())))
    contract = COUNCIL.contracts["published_spend"]
    types = {"text": "varchar", "date": "date", "decimal": "decimal(18,2)"}
    warehouse = DuckDbWarehouse(tmp_path / "warehouse.duckdb")
    with warehouse.session() as session:
        session.execute("create schema staging")
        session.execute(f"create table staging.t ({', '.join(f'{c.name} {types[c.type]}' for c in contract.columns)})")
    report = warehouse.ingest(
        TextIngest((path,), contract.format_of("x.csv"), contract.columns_for(header), "staging.t", "staging.rejects")
    )
    with warehouse.session() as session:
        found = session.rows("select count(*), sum(amount), count(distinct charge_id) from staging.t")

    truth = council_data.quarter(period).truth
    assert dict(report.rejects) == {}
    assert found == [(truth.vendor_rows, truth.vendor_sum, truth.vendor_rows)]
