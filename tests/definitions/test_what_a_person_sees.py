"""One failure, one sentence: the same text on run, asset check, failure sensor and command line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from click.testing import CliRunner
from dagster import DagsterEventType

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.cli.main import main
from dagster_planexec.compiler.markup import escaped
from dagster_planexec.definitions.triggers.failure_sensor import failure_text
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.run_report import load_report
from tests.support.flagship import SMALL, TASK, Month
from tests.support.planexec import PROJECT, planexec

PARTITION = f"{SMALL}-01"
pytestmark = pytest.mark.xdist_group("flagship-months")


@dataclass(frozen=True)
class Seen:
    """What must be read of a fault, wherever a person meets it. Written down here, not read from the code."""

    fault: str
    code: str
    claim: str
    """The claim and where it broke."""
    expected: str
    expected_from: str
    seen: str
    seen_from: str
    hint: str
    asset: str | None = "vendor_invoice"
    """The asset whose gate shows it; None if the run is green and only the plan run's check does."""
    step: str | None = None


TABLE = [
    Seen("delete-export-after-admission", "OBJECT_GONE", "object_exists failed at fetch_export", "etag ",
         f"admission:vendor-drops/vendor/exports/{SMALL}-invoice.csv, HEAD at admission", "no object",
         f"s3:vendor-drops/vendor/exports/{SMALL}-invoice.csv, HEAD", "ask the vendor to deliver it again",
         step="fetch_export"),
    Seen("header-only-export", "EMPTY_EXTRACT", "extract_has_rows failed at load_staging", "at least 1 record",
         "contract:vendor_invoice v1, min_rows", "no record", "landing:", "ask the vendor for the data",
         step="load_staging"),
    Seen("one-sided-sql", "ONE_SIDED", "both_sides_contribute failed at reconcile", "every side contributes",
         "task:vendor_reconciliation v1, min_matched_share", "ledger 4100 rows, vendor 4097 rows",
         "warehouse:recon.lines_202602, reconcile.sql run again", "correct the query: it must compare both sides",
         asset="recon_lines", step="reconcile"),
    Seen("one-row-export", "COVERAGE_LOW", "both_sides_contribute failed at reconcile", "at least 0.9 of its keys",
         "task:vendor_reconciliation v1, min_matched_share", "vendor 1 rows",
         "warehouse:recon.lines_202602, reconcile.sql run again", "check whether the delivery is complete",
         asset="recon_lines", step="reconcile"),
    Seen("empty-staging-before-reconcile", "ROWCOUNT_MISMATCH", "input_still_holds failed at reconcile",
         '"rows": 4097', "warehouse:staging.vendor_invoice_202602, SQL fingerprint", '"rows": 0',
         "warehouse:staging.vendor_invoice_202602, SQL fingerprint", "run the month again", asset="recon_lines",
         step="reconcile"),
    Seen("empty-export", "EMPTY_EXTRACT", "object_is_non_empty failed before the run", "1",
         "contract:s3.get, at least 1 byte", "0", f"s3:vendor-drops/vendor/exports/{SMALL}-invoice.csv, HEAD",
         "ask the vendor for the data"),
    Seen("inflate-credits", "CAP_EXCEEDED", "within_cap failed at issue_credit", "500.00",
         "task:vendor_reconciliation v1, credit_cap", "1430.94",
         "credits:vendor-invoice-credits/2026-02, credits issued, compared by key with recon.lines_202602",
         "look at the held credits: `planexec show hold_", asset=None, step="issue_credit"),
]  # fmt: skip


@pytest.fixture(scope="module", params=TABLE, ids=lambda seen: seen.fault)
def met(request, month) -> Iterator[tuple[Seen, Month]]:
    """A month under one fault, and what must be read of it."""
    with month(fault=request.param.fault) as done:
        yield request.param, done


def sentence_in(done: Month) -> str:
    """The sentence, from the document of the task run."""
    document = load_report(Journal(), done.task_run.run_id)
    assert document is not None
    return str(document["text"])


def plain(markdown: str) -> str:
    """Markdown without its escapes."""
    return re.sub(r"\\(.)", r"\1", markdown)


def shell(*arguments: object) -> str:
    """What the command line prints for people."""
    return str(CliRunner().invoke(main, ["--project", str(PROJECT), *map(str, arguments)]).stdout)


def test_the_five_parts_are_read_with_both_times(met):
    """Claim, expected and where from, seen and where from and when, what to do: in that order, on one line."""
    seen, done = met
    text = sentence_in(done)
    parts = [f"{seen.code}: {seen.claim}", seen.expected, seen.expected_from, "saw ", seen.seen, seen.seen_from,
             seen.hint]  # fmt: skip
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, f"{part!r} is not where it should be in {text!r}"
        at = found + len(part)

    assert re.search(r"saw .*, 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\); ", text)
    assert len(text) <= 600
    assert text.isprintable()
    assert not re.search(r"\d\.\d{7,}|\bnan\b", text, re.IGNORECASE)


def test_the_run_says_it(met):
    """The failure of both runs is the sentence; a hold is green and says it on what was made and what waits."""
    seen, done = met
    text = sentence_in(done)

    if seen.asset is None:
        assert done.materialised(done.task_run)["recon_report"].metadata["held"].value == text
        assert done.observed(done.task_run)["credits"].metadata["held"].value == text
        return
    assert done.failure(done.task_run)[0] == text
    assert done.plan_run is None or done.failure(done.plan_run)[0] == text


def test_the_asset_check_says_it(met):
    """The gate's description is the sentence as Markdown that stands for itself."""
    seen, done = met
    text, check = sentence_in(done), seen.claim.split(" ", 1)[0]
    gates = [done.checks(done.task_run)[seen.asset, check]] if seen.asset else []
    if done.plan_run is not None:
        own = done.checks(done.plan_run)
        gates += [own[key] for key in own if key[0] == seen.step and key[1].endswith(f"__{check}")]

    assert gates
    for gate in gates:
        assert not gate.passed
        assert gate.description == escaped(text, 600)
        assert plain(gate.description) == text


def test_gates_that_were_not_reached_say_why(met):
    """`not reached` is no answer; the sentence is beside it."""
    seen, done = met
    text = sentence_in(done)
    waiting = [g for g in done.checks(done.task_run).values() if g.description == "not reached"]

    assert bool(waiting) == (seen.asset is not None)
    assert {gate.metadata["because"].value for gate in waiting} <= {text}


def test_the_failure_sensor_says_it(met):
    """After task and partition; then code, step, link, next command."""
    seen, done = met
    if seen.asset is None:
        assert done.events(done.task_run, DagsterEventType.STEP_FAILURE) == []
        return
    failures = done.events(done.task_run, DagsterEventType.STEP_FAILURE)
    lines = failure_text(VENDOR_RECONCILIATION.binding.task, done.task_run, failures).splitlines()

    assert lines[0] == f"{TASK} {PARTITION}: {sentence_in(done)}"
    assert lines[1] == f"code: {seen.code}"
    assert seen.step is None or lines[2] == f"step: {seen.step}"
    assert lines[-1].startswith("next: planexec ")


@pytest.mark.parametrize("reference", ["task", "run"])
def test_the_command_line_says_it(met, reference):
    """`show` by task or run: the sentence, its hint on a line of its own; with --json the text word for word."""
    seen, done = met
    home = done.world.home
    name = TASK if reference == "task" else done.task_run.run_id
    text = sentence_in(done)
    document = planexec("show", name, "--home", home).document
    printed = shell("show", name, "--home", home)

    assert document["text"] == text
    assert document["hint"] in text
    assert text.removesuffix(f"; {document['hint']}") in printed
    assert f"hint: {document['hint']}" in printed
    assert printed.count(seen.claim) == 1
