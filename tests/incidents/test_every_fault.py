"""Every named fault, against a real S3 server and a real DuckDB file: where it strikes, and what the run ends with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assets.demo.faults import FAULTS
from tests.support.planexec import planexec, step

STEPS = ("scope_ledger", "stage_table", "fetch_export", "load_staging", "reconcile", "write_report", "issue_credit")
EXIT = {"succeeded": 0, "held": 3, "stopped": 4, "rejected": 5}


@dataclass(frozen=True)
class Ends:
    """What the issue says a fault ends with. Written down here, not read from the code that makes it happen."""

    fault: str
    status: str
    code: str | None = None
    at: str | None = None
    check: str | None = None
    """The check that must have seen it."""


TABLE = [
    Ends("delete-export-before-plan", "rejected", "OBJECT_GONE"),
    Ends("delete-export-after-admission", "stopped", "OBJECT_GONE", "fetch_export", "object_exists"),
    Ends("delete-export-after-fetch", "succeeded"),
    Ends("replace-export-after-admission", "stopped", "OBJECT_CHANGED", "fetch_export", "object_is_unchanged"),
    Ends("reupload-same-bytes", "succeeded"),
    Ends("empty-export", "rejected", "EMPTY_EXTRACT"),
    Ends("header-only-export", "stopped", "EMPTY_EXTRACT", "load_staging", "extract_has_rows"),
    Ends("truncate-gzip-export", "stopped", "TRUNCATED_STREAM", "fetch_export", "landed_is_intact"),
    Ends("load-zero-rows", "stopped", "ROWCOUNT_MISMATCH", "load_staging", "row_counts_agree"),
    Ends("empty-staging-before-reconcile", "stopped", "ROWCOUNT_MISMATCH", "reconcile", "input_still_holds"),
    Ends("drop-staging-before-reconcile", "stopped", "TABLE_GONE", "reconcile", "input_still_holds"),
    Ends("one-sided-sql", "stopped", "ONE_SIDED", "reconcile", "both_sides_contribute"),
    Ends("wrong-month-export", "stopped", "STALE_PERIOD", "load_staging", "period_is_covered"),
    Ends("vendor-matches-nothing", "stopped", "NOTHING_MATCHED", "reconcile", "both_sides_contribute"),
    Ends("one-row-export", "stopped", "COVERAGE_LOW", "reconcile", "both_sides_contribute"),
    Ends("second-file-in-drop", "succeeded"),
    Ends("new-currency-column", "stopped", "UNKNOWN_COLUMN", "load_staging", "no_unexpected_columns"),
    Ends("inflate-credits", "held", "CAP_EXCEEDED", "issue_credit", "within_cap"),
    Ends("perfect-month", "succeeded"),
    Ends("s3-503-twice", "succeeded"),
]


@pytest.fixture(scope="module", params=TABLE, ids=lambda ends: ends.fault)
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ends, int, Any]:
    """One run under one fault."""
    ends: Ends = request.param
    answer = planexec("demo", "--fault", ends.fault, "--home", tmp_path_factory.mktemp(ends.fault) / "home")
    return ends, answer.exit_code, answer.document


def test_the_table_names_every_fault() -> None:
    """No fault is left out, none is made up."""
    assert [ends.fault for ends in TABLE] == list(FAULTS)


def test_it_ends_as_the_table_says(ended: tuple[Ends, int, Any]) -> None:
    """Status, code, exit code, and the step at which it ended."""
    ends, exit_code, document = ended
    met = [s["id"] for s in document["steps"] if s["outcome"] in {"failed", "held"}]

    assert (document["status"], document["code"]) == (ends.status, ends.code), document["text"]
    assert exit_code == EXIT[ends.status]
    assert met == ([ends.at] if ends.at else [])


def test_the_check_that_saw_it_is_named(ended: tuple[Ends, int, Any]) -> None:
    """The first check that shut carries the run's code, and a hint goes with it."""
    ends, _, document = ended
    shut = [
        (c["check"], c["code"])
        for s in document["steps"]
        for c in s["checks"]
        if c["verdict"] not in {"passed", "not-applicable"}
    ]
    found = [(f["field"], f["code"]) for f in document["findings"] if f["severity"] == "error"]

    assert shut[:1] == ([(ends.check, ends.code)] if ends.at else [])
    assert [code for _, code in found[:1]] == ([ends.code] if ends.status == "rejected" else [])
    assert bool(document["hint"]) == (ends.status != "succeeded")


def test_nothing_after_it_ran(ended: tuple[Ends, int, Any]) -> None:
    """Later steps are not-run with the reason, nothing is reported and nothing issued."""
    ends, _, document = ended
    after = STEPS[STEPS.index(ends.at) + 1 :] if ends.at else (STEPS if ends.status == "rejected" else ())
    outcomes = {s["id"]: s["outcome"] for s in document["steps"]}

    assert [name for name in outcomes if name != "fetch_part2"] == list(STEPS)
    assert ("fetch_part2" in outcomes) == (ends.fault == "second-file-in-drop")
    assert {outcomes[name] for name in after} <= {"not-run"}
    if ends.status in {"stopped", "rejected"}:
        assert document["credits"]["issued_count"] == 0
    if "write_report" in after or ends.status == "rejected":
        assert document["report"] == {"md": None, "html": None, "json": None}


def test_both_sides_of_every_check_are_shown_and_come_from_two_sources(ended: tuple[Ends, int, Any]) -> None:
    """Non-null values, different sources."""
    _, _, document = ended
    checks = [c for s in document["steps"] for c in s["checks"]]

    for check in checks:
        assert check["expected"]["value"] is not None, check
        assert check["observed"]["value"] is not None, check
        assert check["expected"]["source"] != check["observed"]["source"], check


def test_a_503_is_tried_again_and_the_tries_are_shown(tmp_path: Path) -> None:
    """Two failures, three tries."""
    document = planexec("demo", "--fault", "s3-503-twice", "--home", tmp_path / "home").document

    assert step(document, "fetch_export")["tries"] == 3


def test_a_perfect_month_has_no_discrepancy_and_no_credit(tmp_path: Path) -> None:
    """A healthy extreme: the credit step is done with nothing to do, and nothing waits for a person."""
    document = planexec("demo", "--fault", "perfect-month", "--home", tmp_path / "home").document
    figures = document["reconciliation"]

    assert (figures["ledger_rows"], figures["vendor_rows"], figures["identical"]) == (61_400, 61_400, 61_400)
    assert (figures["amount_differs"], figures["ledger_only"], figures["vendor_only"]) == (0, 0, 0)
    assert (document["credits"]["issued_count"], document["credits"]["hold_id"]) == (0, None)
    assert step(document, "issue_credit")["outcome"] == "done"


def test_a_second_file_is_read_by_another_plan_where_the_first_would_have_missed_it(tmp_path: Path) -> None:
    """Revision 2 loads both files; the same plan to the letter reports, and credits, what the late file bills."""
    fault = ("demo", "--fault", "second-file-in-drop", "--home")
    document = planexec(*fault, tmp_path / "home").document
    literal = planexec(*fault, tmp_path / "literal", "--executor", "literal").document
    figures, missed = document["reconciliation"], literal["reconciliation"]

    assert (document["status"], document["plan"]["revision"], document["cause"]) == ("succeeded", 2, None)
    assert [(r["revision"], r["step"], r["code"]) for r in document["revisions"]] == [
        (1, "fetch_export", "DROP_INCOMPLETE"),
    ]  # fmt: skip
    assert (missed["vendor_rows"], figures["vendor_rows"]) == (61_397, 61_401)
    assert (missed["ledger_only"], figures["ledger_only"]) == (6, 2)
    assert document["credits"]["issued_count"] == 11
    assert literal["credits"]["issued_count"] == 15


def test_run_sql_is_never_called_on_an_emptied_table(tmp_path: Path) -> None:
    """The journal has no call of it."""
    home = tmp_path / "home"
    run = planexec("demo", "--fault", "empty-staging-before-reconcile", "--home", home).document

    trace = planexec("show", _attempt(home), "--home", home).document

    assert [e["tool"] for e in trace["events"] if e["kind"] == "calling"] == [
        "warehouse.snapshot", "warehouse.create_table", "s3.get", "warehouse.load",
    ]  # fmt: skip
    assert run["code"] == "ROWCOUNT_MISMATCH"


def _attempt(home: Path) -> str:
    periods = planexec("status", "vendor_reconciliation", "--home", home).document["periods"]
    return str(next(p["attempt"] for p in periods if p["attempt"]))
