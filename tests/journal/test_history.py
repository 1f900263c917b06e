"""The past as it is remembered: months of a year settled in any order, each judged against those before it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from assets.demo import saturday
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from dagster_planexec.contract.delivery.plausible import Plausible
from dagster_planexec.contract.tool import Admission
from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.journal.admission import decode_admission, encode_admission, inputs_digest
from dagster_planexec.journal.history import JournalHistory
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.results import DoneStep, save_done
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.world.history import PastPeriod
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.subject import table
from tests.projects.year.task import CHARGES, DATA, EMPTY, INFLATED, TASK, month
from tests.support.flagship import CREDENTIALS
from tests.support.months import World

ORDER = ("2025-10", "2025-01", "2025-06", EMPTY, "2025-02", "2025-04", INFLATED, "2025-07")
"""As a backfill may take them."""
PLAUSIBLE = replace(TASK, plausible=Plausible())


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, DemoWorld, dict[str, RunReport]]]:
    """Months of the year, run one after the other in that order, in this process."""
    home = tmp_path_factory.mktemp("past")
    with LocalS3() as s3, pytest.MonkeyPatch.context() as patch:
        for name, value in {"PLANEXEC_HOME": str(home), "AWS_ENDPOINT_URL": s3.endpoint, **CREDENTIALS}.items():
            patch.setenv(name, value)
        demo = DemoWorld(home, s3.endpoint, data=DATA)
        demo.seed()
        world = World(home, s3.endpoint, task=PLAUSIBLE)
        yield world, demo, {period: settle(world, period) for period in ORDER}


def settle(world: World, period: str) -> RunReport:
    """One run of one month."""
    world.period = period
    return world.settle()


def verdict(report: RunReport, check: str) -> Any:
    """The verdict of that check."""
    return next(v for step in report.steps for v in step.checks if v.check == check)


def past_of(period: str) -> tuple[PastPeriod, ...]:
    """What the journal says now."""
    journal = Journal(looking=True)
    try:
        return JournalHistory(journal, TASK).settled_before(Period.parse(period, "month"))
    finally:
        journal.close()


def admitted_past(report: RunReport) -> list[str]:
    """What the attempt was opened on."""
    journal = Journal(looking=True)
    try:
        return [one.period for one in decode_admission(journal.attempt(report.attempt or "").admission).past]
    finally:
        journal.close()


def test_each_month_has_the_settled_months_before_it(year: Any) -> None:
    """In any order. One without rows and one that is held are no measure; a later one is no past."""
    _, _, reports = year
    assert {period: report.status for period, report in reports.items() if report.status != "succeeded"} == {
        EMPTY: "stopped", INFLATED: "held",
    }  # fmt: skip
    assert {period: admitted_past(report) for period, report in reports.items()} == {
        "2025-10": [], "2025-01": [], "2025-06": ["2025-01"], EMPTY: ["2025-01"], "2025-02": ["2025-01"],
        "2025-04": ["2025-01", "2025-02"], INFLATED: ["2025-01", "2025-02", "2025-04", "2025-06"],
        "2025-07": ["2025-01", "2025-02", "2025-04", "2025-06"],
    }  # fmt: skip


def test_what_is_remembered_is_what_was_observed(year: Any) -> None:
    """Rows, total, lines by side and bytes of a settled month, from its own data."""
    remembered = {one.period: one for one in past_of("2025-08")}["2025-01"]
    assert (remembered.rows, remembered.total) == (
        CHARGES, Decimal(sum(line.cents for line in month("2025-01").vendor)) / 100,
    )  # fmt: skip
    assert remembered.lines == {"ledger": (CHARGES, CHARGES), "vendor": (CHARGES, CHARGES)}
    assert len(remembered.landed) == 1


def test_the_first_month_and_the_fourth(year: Any) -> None:
    """Nothing is judged while three have not settled, and that is known beforehand; then the median is."""
    _, _, reports = year
    for check in ("volume_is_plausible", "match_rate_is_plausible", "period_is_current"):
        assert verdict(reports["2025-01"], check).status == "not-applicable"
        assert verdict(reports["2025-07"], check).status == "passed"
    assert verdict(reports["2025-04"], "volume_is_plausible").status == "not-applicable"
    assert "median of 2025-01, 2025-02, 2025-04, 2025-06" in str(
        verdict(reports["2025-07"], "volume_is_plausible").expected.source
    )


def test_a_run_again_is_judged_against_the_same_past(year: Any) -> None:
    """What has settled since opens no other attempt and changes no bound."""
    world, _, reports = year
    again = settle(world, "2025-10")
    assert again.attempt == reports["2025-10"].attempt
    assert (again.status, admitted_past(again)) == ("succeeded", [])
    assert {step.outcome for step in again.steps} == {"reused"}


def test_a_corrected_month_counts_once_with_its_newest_attempt(year: Any) -> None:
    """And not at all while its correction has not settled."""
    world, demo, reports = year
    before = next(one for one in past_of("2025-08") if one.period == "2025-02")
    lines = month("2025-02").vendor
    demo.put(saturday.export_key("2025-02"), saturday.export_csv([lines[0]]))
    assert settle(world, "2025-02").status != "succeeded"
    assert "2025-02" not in {one.period for one in past_of("2025-08")}
    demo.put(saturday.export_key("2025-02"), saturday.export_csv(list(reversed(lines))))
    assert settle(world, "2025-02").status == "succeeded"
    (now,) = [one for one in past_of("2025-08") if one.period == "2025-02"]
    assert now.attempt != before.attempt
    assert now.attempt != reports["2025-02"].attempt
    assert (now.rows, now.total) == (before.rows, before.total)
    assert now.landed != before.landed


def test_few_of_the_usual_rows_stop_the_month_before_it_is_compared(year: Any) -> None:
    """A delivery cut at a line end; and one with the bytes of the month before it, which stops even earlier."""
    world, demo, _ = year
    demo.put(saturday.export_key("2025-08"), saturday.export_csv(month("2025-08").vendor[:20]))
    report = settle(world, "2025-08")
    assert (report.status, report.code) == ("stopped", "COVERAGE_LOW")
    stopped = next(step for step in report.steps if step.outcome == "failed")
    assert stopped.tool == "warehouse.load"
    demo.put(saturday.export_key("2025-08"), demo.read(saturday.export_key("2025-07")))
    report = settle(world, "2025-08")
    assert (report.status, report.code) == ("stopped", "STALE_PERIOD")
    assert verdict(report, "period_is_current").status == "failed"
    assert world.credits() == ()


def test_another_suite_is_another_attempt(year: Any, tmp_path: Path) -> None:
    """As another SQL file would be; what it says is judged anew on the same bytes."""
    world, _, reports = year
    suite = tmp_path / "vendor_invoice.json"
    text = '{"name": "s", "expectations": [{"type": "expect_column_values_to_be_between", "kwargs": {"column": "amount", "max_value": %d}, "meta": {}}], "meta": {}}'  # noqa: E501
    suite.write_text(text % 100_000)
    world.task = replace(
        PLAUSIBLE, deliverables=tuple(replace(d, suite=suite if d.input else None) for d in PLAUSIBLE.deliverables)
    )
    first = settle(world, "2025-06")
    assert (first.status, first.attempt != reports["2025-06"].attempt) == ("succeeded", True)
    assert settle(world, "2025-06").attempt == first.attempt
    suite.write_text(text % 1)
    second = settle(world, "2025-06")
    assert (second.status, second.code) == ("stopped", "SUITE_FAILED")
    assert second.attempt not in {first.attempt, reports["2025-06"].attempt}
    world.task = PLAUSIBLE


def month_that(
    journal: Journal, period: str, status: str, *, rows: int = 1, task: str = TASK.name, anew: str = "a"
) -> str:
    """An attempt that ended so, with a load of so many rows."""
    admission = encode_admission(Admission((), {}, {}))
    attempt, _ = journal.open_attempt(
        task=task, version="1", period=period, inputs_digest=anew, admission=admission
    )  # fmt: skip
    seen = Observation(Source(table("t"), "SQL"), "seen", {"rows": rows})
    verdict = Verdict(
        "row_counts_agree", "post", "passed", Side(rows, seen.source), Side(rows, seen.source), None, "as many"
    )
    save_done(journal, attempt.id, DoneStep("i", "load", "warehouse.load", "r", {}, {}, seen, (), (verdict,), 1, 0.0))
    if status != "open":
        journal.close_run(attempt.id, "r", status, None)
    return attempt.id


def test_what_counts(journal: Journal) -> None:
    """Settled, earlier, of this task, the newest attempt of each period; twelve of them, the latest."""
    before = JournalHistory(journal, TASK).settled_before

    def seen(period: str = "2025-06") -> list[tuple[str, int | None]]:
        return [(one.period, one.rows) for one in before(Period.parse(period, "month"))]

    assert seen() == []
    month_that(journal, "2025-05", "settled", rows=5)
    for status in ("open", "held", "stopped", "rejected", "error", "waiting"):
        month_that(journal, "2025-03", status, anew=status)
        assert seen() == [("2025-05", 5)], status
    month_that(journal, "2025-01", "settled", rows=1)
    month_that(journal, "2025-06", "settled", rows=6)  # this very period, and one after it
    month_that(journal, "2025-07", "settled", rows=7)
    month_that(journal, "2025-02", "settled", task="another task")
    month_that(journal, "2025-Q1", "settled")  # of a time when the task had quarters
    assert seen() == [("2025-01", 1), ("2025-05", 5)]
    month_that(journal, "2025-05", "settled", rows=50, anew="corrected")
    assert seen() == [("2025-01", 1), ("2025-05", 50)]
    month_that(journal, "2025-05", "stopped", anew="corrected again")
    assert seen() == [("2025-01", 1)]
    for number in range(1, 13):
        month_that(journal, f"2024-{number:02d}", "settled", rows=number)
    assert [period for period, _ in seen()] == [f"2024-{number:02d}" for number in range(2, 13)] + ["2025-01"]


def test_the_past_is_written_and_read(journal: Journal) -> None:
    """With the admission record, to the last digit; and it is no part of what makes an attempt another one."""
    past = (
        PastPeriod("2025-01", "att", frozenset({"b", "a"}), 3, Decimal("10.10"), {"ledger": (3, 2)}),
        PastPeriod("2025-02", "x"),
    )
    with_past, without = Admission((), {}, {}, past=past, suites={"lines": "0" * 64}), Admission((), {}, {})
    assert decode_admission(encode_admission(with_past)) == with_past
    assert set(encode_admission(without)) == {"objects", "tables", "sql_sha256", "at"}
    assert inputs_digest(replace(with_past, past=()), recipe={}) == inputs_digest(with_past, recipe={})
    assert inputs_digest(without, recipe={}) != inputs_digest(with_past, recipe={})
