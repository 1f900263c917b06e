"""Verdicts and decisions in Dagster's words."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from decimal import Decimal

import dagster as dg
import pytest
from dagster import AssetCheckSeverity

from assets.vendor_reconciliation.task import TASK
from dagster_planexec.compiler.events import evaluations, follow
from dagster_planexec.compiler.markup import escaped
from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.execute.work import StepReport
from dagster_planexec.journal.told.line import shown
from dagster_planexec.journal.told.sentence import sentence_of
from dagster_planexec.recovery.decision import (
    Hold,
    Proceed,
    RefreshCredentials,
    Replan,
    Retry,
    RetryAfter,
    RetryCorrected,
    Skip,
    Stop,
    UseFallback,
)
from dagster_planexec.world.observation import Source
from dagster_planexec.world.subject import Subject

PERIOD = TASK.period("2026-02")
AT = datetime(2026, 3, 7, 9, 12, tzinfo=UTC)


def verdict(status="passed", *, check="row_counts_agree", phase="post", observed=Decimal("1.50"), text="as expected"):
    """A verdict with two real sides."""
    return Verdict(
        check, phase, status,
        Side(61400, Source(Subject("landing", "ab12"), "csv module", AT)),
        Side(observed, Source(Subject("warehouse", "staging.x"), "SQL count(*)", AT)),
        None if status in {"passed", "not-applicable"} else "ROWCOUNT_MISMATCH", text,
    )  # fmt: skip


def report(*verdicts, decision=None, state="done", code=None):
    """A step's report."""
    decision = decision or Proceed("every check passed")
    return StepReport("load_staging", "warehouse.load", state, code, "why", 1, 0.1, tuple(verdicts), decision)


def evaluated(*verdicts, **more):
    """What the step yields."""
    return list(evaluations(TASK, report(*verdicts, **more), PERIOD))


def followed(step_report):
    """What the decision comes to."""
    return list(follow(step_report, TASK, max_tries=4, log=logging.getLogger("test")))


def test_evaluation_names_task_step_phase_and_partition():
    """Under keys of the plan run's own."""
    (found,) = evaluated(verdict())

    assert found.asset_key == dg.AssetKey(["planexec", "vendor_reconciliation", "load_staging"])
    assert (found.check_name, found.partition, found.passed) == ("post__row_counts_agree", "2026-02-01", True)


def test_evaluation_shows_both_sides_with_their_sources():
    """As text: a table takes no decimals, and a page no NaN."""
    metadata = {name: value.value for name, value in evaluated(verdict())[0].metadata.items()}

    assert (metadata["expected"], metadata["observed"]) == ("61400", "1.50")
    assert metadata["expected_from"] == "landing:ab12 read by csv module at 2026-03-07T09:12:00.000Z"
    assert metadata["observed_from"].startswith("warehouse:staging.x read by SQL count(*)")


def test_several_verdicts_of_one_check_are_one_evaluation_and_the_worst_counts():
    """Dagster keeps one row per check and run: a later one would hide an earlier one."""
    (found,) = evaluated(verdict(), verdict("failed", observed=0, text="lost rows"), verdict(), code="X",
                         decision=Stop("lost rows"))  # fmt: skip

    assert (found.passed, found.severity, found.blocking) == (False, AssetCheckSeverity.ERROR, True)
    sentence = sentence_of(verdict("failed", observed=0, text="lost rows"), step="load_staging")
    assert (found.description, found.metadata["status"].value, found.metadata["observed"].value) == (
        escaped(sentence, 600), "failed", "0",
    )  # fmt: skip
    assert [row.data["verdict"] for row in found.metadata["verdicts"].records] == ["passed", "failed", "passed"]


def test_same_check_before_and_after_the_call_is_two_evaluations():
    """The phase is part of the name."""
    assert [e.check_name for e in evaluated(verdict(phase="pre"), verdict())] == [
        "pre__row_counts_agree", "post__row_counts_agree",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("status", "passed"),
    [("passed", True), ("not-applicable", True), ("failed", False), ("not-evaluated", False), ("errored", False)],
)
def test_only_what_opens_a_gate_is_shown_as_passed(status, passed):
    """Nothing else is green."""
    assert evaluated(verdict(status), decision=Stop("x"))[0].passed is passed


@pytest.mark.parametrize(
    ("decision", "severity"),
    [
        (Stop("x"), AssetCheckSeverity.ERROR),
        (Hold("x"), AssetCheckSeverity.WARN),
        (Retry("x", 1.0), AssetCheckSeverity.WARN),
        (RetryAfter("x", 7200.0), AssetCheckSeverity.WARN),
        (Replan("x"), AssetCheckSeverity.WARN),
        (Skip("x"), AssetCheckSeverity.WARN),
        (UseFallback("x", "t"), AssetCheckSeverity.WARN),
    ],
    ids=["stop", "hold", "retry", "retry-after", "replan", "skip", "use-fallback"],
)
def test_severity_follows_the_decision(decision, severity):
    """What a person or the next try may settle is a warning."""
    assert evaluated(verdict("failed"), decision=decision, state=None)[0].severity is severity


def test_proceed_hands_on_an_output():
    """And nothing else does."""
    (output,) = followed(report())

    assert output.output_name == "done"


@pytest.mark.parametrize(
    "step_report",
    [
        report(decision=Hold("x"), state="held", code="CAP_EXCEEDED"), report(decision=Stop("x"), state="not-run"),
        report(decision=RetryAfter("x", 7200.0), state="waiting", code="THROTTLED"),
        report(decision=Skip("x"), state="not-run", code="TIMEOUT"), report(decision=Replan("x"), state="failed"),
    ],
    ids=["held", "not-run", "waiting", "skipped", "replan"],
)  # fmt: skip
def test_what_waits_is_left_out_or_not_run_ends_quietly_without_an_output(step_report):
    """The run is not failed by them, and nothing behind them starts."""
    assert followed(step_report) == []


def test_retry_is_a_request_with_its_pause():
    """Shown as STEP_UP_FOR_RETRY."""
    with pytest.raises(dg.RetryRequested) as asked:
        followed(report(decision=Retry("again", 2.5), state=None, code="TIMEOUT"))

    assert (asked.value.max_retries, asked.value.seconds_to_wait) == (4, 2.5)


@pytest.mark.parametrize("decision", [RefreshCredentials("x"), RetryCorrected("x"), UseFallback("x", "t")])
def test_what_the_step_runner_carries_out_itself_is_never_the_end_of_a_step(decision):
    """Should one come through, the step is tried again rather than taken for done."""
    with pytest.raises(dg.RetryRequested):
        followed(report(decision=decision, state=None, code="AUTH_FAILED"))


def test_stop_is_a_failure_that_is_not_retried_and_says_both_sides():
    """The decision's sentence as it is, and the rest as metadata."""
    with pytest.raises(dg.Failure) as failed:
        followed(report(verdict("failed"), decision=Stop("rows differ"), state="failed", code="ROWCOUNT_MISMATCH"))

    assert failed.value.allow_retries is False
    assert failed.value.description == "rows differ"
    assert {"task", "code", "hint", "step", "expected", "observed"} <= set(failed.value.metadata)


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("![x](http://evil/i.png)", r"!\[x\](http\://evil/i.png)"),
        ("<script>alert(1)</script>", r"\<script\>alert(1)\</script\>"),
        ("see https://evil.example and www.evil.example", r"see https\://evil.example and www\.evil.example"),
        ("| a | b |\n|---|", r"\| a \| b \| \|---\|"),
        ("`code` **bold** # head", r"\`code\` \*\*bold\*\* \# head"),
        ("\x1b[31mred\u202etxt", r"\[31mred txt"),
        ("row_counts_agree: 61,400", "row_counts_agree: 61,400"),
    ],
    ids=["image", "html", "link", "table", "markup", "control", "plain"],
)
def test_text_from_outside_stands_for_itself(text, safe):
    """No image is loaded and no link is made by opening a run's page."""
    assert escaped(text) == safe


def test_text_is_bounded_and_says_how_long_it_was():
    """A vendor's cell cannot fill a page."""
    assert escaped("x" * 1000, 10) == "x" * 10 + "… (1000 characters)"


def test_values_are_shown_as_one_line():
    """Nested facts as JSON, decimals in full, names in one order: before the journal and after it the text is one."""
    assert shown({"count": 2, "amount": Decimal("10.00"), "keys": ("a", "b")}) == (
        '{"amount": "10.00", "count": 2, "keys": ["a", "b"]}'
    )
