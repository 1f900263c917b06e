"""`expectations_hold` bound, observed and judged as a step does it, on loads and on results."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.checks.check import Check
from dagster_planexec.checks.plausible.expectations_hold import expectations_hold
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.outcome import Done
from dagster_planexec.contract.task import Deliverable
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.execute.admit import hash_suites
from dagster_planexec.tools.run_sql import RunSql, RunSqlArgs
from dagster_planexec.tools.warehouse.load import LoadResult, WarehouseLoad
from dagster_planexec.world.observation import Observation
from tests.support.loading import TARGET, Loading
from tests.support.reconciling import Bench, bench, make_world, shape

FULL = """select coalesce(l.charge_id, v.charge_id) as charge_id, l.amount as ledger_amount, v.amount as vendor_amount,
  case when v.charge_id is null then 'ledger_only' when l.charge_id is null then 'vendor_only'
  when l.amount = v.amount then 'identical' else 'amount_differs' end as status
  from ledger l full join vendor v on l.charge_id = v.charge_id"""
NOTED = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "note", "mostly": 0.5}, "meta": {}}
SMALL = {"type": "expect_column_values_to_be_between", "kwargs": {"column": "amount", "max_value": 50}, "meta": {}}
SCRIPT = "<img src=x onerror=alert(1)>"


def suite_at(path: Path, *expectations: dict[str, Any]) -> Path:
    """A suite's file."""
    path.write_text(json.dumps({"name": "s", "expectations": expectations, "meta": {}}))
    return path


@pytest.fixture
def loading(tmp_path: Path) -> Loading:
    """A loaded table of three rows whose deliverable has a suite of two expectations."""
    loading = Loading(tmp_path)
    path = suite_at(tmp_path / "s.json", SMALL, NOTED)
    loading.task = replace(
        loading.task, deliverables=(Deliverable("invoice", ("s3.get", "warehouse.load"), input="vendor", suite=path),)
    )
    loading.land(f"id,day,amount,note\n1,2026-03-01,10.00,a\n2,2026-03-02,50.00,{SCRIPT}\n3,2026-03-03,20.00,c\n")
    done = loading.load()
    assert isinstance(done, Done), done
    return loading


def judge(loading: Loading) -> Verdict:
    """The only verdict."""
    return loading.verdict("expectations_hold", result=LoadResult(table=TARGET, rows=3, files=1))


def test_a_suite_that_holds(loading: Loading) -> None:
    """Expected is what the file states, from the task; observed is what was counted; the page is with the reports."""
    seen = judge(loading)
    assert (seen.status, seen.code) == ("passed", None)
    assert seen.expected.value == (
        "expect_column_values_to_be_between(column=amount, max_value=50)",
        "expect_column_values_to_not_be_null(column=note, mostly=0.5)",
        "at least one row",
    )
    assert seen.expected.source.subject.system == "task"
    assert "suite of invoice, SHA-256" in seen.expected.source.reader
    assert seen.observed.source.subject.name == TARGET
    page = loading.ports.roots.reports / "expectations" / "vendor_reconciliation" / "2026-03" / "invoice.html"
    assert page.is_file()
    assert "(expectations/vendor_reconciliation/2026-03/invoice.html)" in seen.text


def test_a_suite_that_does_not_hold(loading: Loading) -> None:
    """Which expectation, how many rows, of how many, and a few of the values, quoted."""
    loading.sql(
        f"update {TARGET} set amount = 50.01 where id = '2'", f"update {TARGET} set note = null where id <> '2'"
    )
    seen = judge(loading)
    assert (seen.status, seen.code) == ("failed", "SUITE_FAILED")
    assert "2 of 2 expectations do not hold of 3 rows" in seen.text
    assert "(column=amount, max_value=50): 1 of 3 rows break it, e.g. '50.01'" in seen.text
    assert "mostly=0.5): 2 of 3 rows break it" in seen.text
    results: Any = seen.observed.value["results"]  # type: ignore[index]
    assert [one["unexpected"] for one in results] == [1, 2]


def test_what_a_cell_holds_stays_text(loading: Loading, tmp_path: Path) -> None:
    """On the page, and in the verdict's examples, which are bounded."""
    only = {"type": "expect_column_values_to_be_in_set", "kwargs": {"column": "note", "value_set": ["a"]}, "meta": {}}
    loading.sql(f"update {TARGET} set note = note || repeat('x', 5000) where id = '3'")
    suite_at(tmp_path / "s.json", only)
    seen = judge(loading)
    assert seen.status == "failed"
    assert len(seen.text) < 1_000
    page = (loading.ports.roots.reports / "expectations/vendor_reconciliation/2026-03/invoice.html").read_text()
    assert SCRIPT not in page
    assert "&lt;img src=x" in page
    assert "x" * 500 not in page


def test_an_empty_table_passes_only_where_it_may_be_empty(loading: Loading) -> None:
    """Of no row, anything holds. That the deliverable may be empty is declared, never seen."""
    loading.sql(f"delete from {TARGET}")
    seen = judge(loading)
    assert (seen.status, seen.code) == ("failed", "SUITE_FAILED")
    assert "the table has no row" in seen.text
    (made,) = loading.task.deliverables
    loading.task = replace(loading.task, deliverables=(replace(made, may_be_empty=True),))
    assert judge(loading).status == "passed"


def test_what_raises_is_errored(loading: Loading, tmp_path: Path) -> None:
    """A column that is not there: nobody knows, so the gate stays shut."""
    suite_at(tmp_path / "s.json", {**NOTED, "kwargs": {"column": "absent"}}, SMALL)
    seen = judge(loading)
    assert (seen.status, seen.code) == ("errored", "SUITE_FAILED")
    assert "1 of 2 expectations could not be evaluated" in seen.text


def test_no_answer_is_no_success(loading: Loading) -> None:
    """Facts without results, or with fewer than are stated: not evaluated."""
    (check,) = expectations_hold(replace_admission(loading, hash_suites(loading.task)), "post")
    assert isinstance(check, Check)
    for results in ((), ({"success": True, "raised": ""},)):
        facts: dict[str, Any] = {"rows": 3, "stated": 2, "results": results, "page": ""}
        seen = Observation(check.observes.source(), "seen", facts)
        assert check.verdict({check.observes: seen}).status == "not-evaluated"


def test_a_suite_that_changed_is_not_asked(loading: Loading, tmp_path: Path) -> None:
    """Admitted bytes, or nothing: as of SQL files."""
    scope = replace_admission(loading, {"invoice": hash_suites(loading.task)["invoice"]})
    suite_at(tmp_path / "s.json", {**SMALL, "kwargs": {"column": "amount", "max_value": 1_000_000}})
    (check,) = expectations_hold(scope, "post")
    with pytest.raises(Exception, match="changed since it was admitted"):
        check.observes.observe(loading.ports)  # type: ignore[union-attr]


def replace_admission(loading: Loading, suites: dict[str, str]) -> Any:
    """The scope of the load with these suites admitted."""
    admission = replace(loading.admission, suites=suites)
    done = LoadResult(table=TARGET, rows=3, files=1)
    return StepScope(loading.task, loading.period, "load", WarehouseLoad.contract, loading.args, done, admission,
                     loading.ports.roots)  # fmt: skip


def test_without_a_suite_it_is_not_applicable(tmp_path: Path) -> None:
    """With the clause that rules it out; from the task alone, so nothing is looked at."""
    loading = Loading(tmp_path)
    loading.land("id,day,amount,note\n")
    seen = loading.verdict("expectations_hold")
    assert (seen.status, str(seen.expected.source)) == (
        "not-applicable", "task:vendor_reconciliation v1 read by deliverables.suite",
    )  # fmt: skip


def result_of(tmp_path: Path, world: str, query: str, *, may_be_empty: bool) -> list[Verdict]:
    """The verdicts on what a query makes of a world."""
    path = suite_at(tmp_path / "s.json", {**NOTED, "kwargs": {"column": "charge_id"}})
    lines = Deliverable(
        "lines", ("warehouse.snapshot", "run_sql"), result=shape("ledger", "vendor"), suite=path,
        may_be_empty=may_be_empty,
    )  # fmt: skip
    on: Bench = bench(tmp_path / "w", deliverables=(lines,))
    make_world(on, world)
    (on.sql / "q.sql").write_text(query)
    inputs = {"ledger": "staging.ledger", "vendor": "staging.vendor"}
    args = RunSqlArgs(file="q.sql", inputs=inputs, target="recon.lines")
    done = on.call(RunSql(), args)
    assert isinstance(done, Done), done
    return list(
        on.verdicts(expectations_hold, RunSql(), args, admission=replace(on.admission(), suites=hash_suites(on.task)))
    )


DIFFERENCES = f"select * from ({FULL}) where status <> 'identical'"
NOTHING_OF_ANY = f"select * from ({FULL}) where status = 'no such word'"


def test_a_perfect_month_may_have_no_differences(tmp_path: Path) -> None:
    """Differences only, of two sides that agree: no row, and a change of either side would be seen."""
    verdicts = result_of(tmp_path, "perfect", DIFFERENCES, may_be_empty=True)
    assert [v.status for v in verdicts] == ["passed", "passed"]
    assert "no row, and every side contributes" in verdicts[1].text


@pytest.mark.parametrize(
    ("world", "query", "code"),
    [("vendor-empty", NOTHING_OF_ANY, "EMPTY_SIDE"), ("perfect", NOTHING_OF_ANY, "INDETERMINATE_SIDE")],
)
def test_no_row_of_a_side_that_is_not_there_is_no_result(tmp_path: Path, world: str, query: str, code: str) -> None:
    """A deliverable that may be empty, of a comparison that compared nothing."""
    verdicts = result_of(tmp_path, world, query, may_be_empty=True)
    assert [v.status == "passed" for v in verdicts] == [True, False]
    assert verdicts[1].code == code
