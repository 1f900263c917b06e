"""The flagship's second file, whenever it comes: before the plan, under it, or between the runs of a killed process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assets.demo import saturday
from assets.demo.faults import LATE_LINES, late_lines
from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.run_report import RunReport, reconciliation_of
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import Settling
from dagster_planexec.world.period import Period
from tests.support.settled import PERIOD, StepLauncher
from tests.support.worlds import world

__all__ = ["world"]


class Killed(BaseException):
    """What a process meets that is no more."""


class DiesAfter(StepLauncher):
    """Ends the process, as far as anybody can tell, when the n-th plan has run."""

    def __init__(self, work: Work, n: int) -> None:
        super().__init__(work)
        self.left = n

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
        """Run it, and then die."""
        run_id = super().launch(attempt=attempt, plan_digest=plan_digest, period=period, lease_token=lease_token)
        self.left -= 1
        if self.left == 0:
            raise Killed
        return run_id


@pytest.fixture
def flagship(world: DemoWorld) -> Iterator[Work]:
    """The flagship's work in a seeded world."""
    work = work_of(VENDOR_RECONCILIATION.binding)
    yield work
    work.journal.close()


def deliver_late(world: DemoWorld, *, suffix: str = "-part2.csv") -> None:
    """The late part."""
    world.put(world.key(suffix), saturday.export_csv(late_lines(world.pair)))


def run(work: Work, launcher: StepLauncher | None = None) -> RunReport:
    return settle(Settling(work, VENDOR_RECONCILIATION.planner(), launcher or StepLauncher(work)), PERIOD)


def loaded(report: RunReport) -> int:
    return int(reconciliation_of(report)["vendor_rows"])


def test_a_part_that_is_there_before_the_plan_is_a_repair(flagship: Work, world: DemoWorld) -> None:
    """The recorded plan reads one file and is refused before it runs; its repair reads both, as the first revision."""
    deliver_late(world)
    report = run(flagship)

    assert (report.status, report.revision) == ("succeeded", 1)
    assert loaded(report) == world.pair.truth.vendor_rows + LATE_LINES


def test_a_part_that_comes_after_the_month_was_settled_is_another_attempt(flagship: Work, world: DemoWorld) -> None:
    """New inputs are news: what was credited stays, and a credit that is no longer due is not issued again."""
    first = run(flagship)
    deliver_late(world)
    second = run(flagship)

    assert (first.status, loaded(first)) == ("succeeded", world.pair.truth.vendor_rows)
    assert first.attempt != second.attempt
    assert loaded(second) == world.pair.truth.vendor_rows + LATE_LINES


def test_a_process_that_dies_before_it_asks_for_another_plan(flagship: Work, world: DemoWorld) -> None:
    """The next run finds both files, opens an attempt on them, and reads both; the month is paid once."""

    class PartArrives(DiesAfter):
        def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
            deliver_late(world)
            return super().launch(attempt=attempt, plan_digest=plan_digest, period=period, lease_token=lease_token)

    with pytest.raises(Killed):
        run(flagship, PartArrives(flagship, 1))
    report = run(flagship)

    assert (report.status, loaded(report)) == ("succeeded", world.pair.truth.vendor_rows + LATE_LINES)
    assert report.standing is not None
    assert report.standing["count"] == len(world.pair.truth.credits) - LATE_LINES


def test_a_process_that_dies_with_its_second_plan_goes_on_with_it(flagship: Work, world: DemoWorld) -> None:
    """The inputs of the attempt are those of its last revision: the next run continues it and asks no planner."""

    class PartArrives(DiesAfter):
        def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
            if attempt.revision == 1:
                deliver_late(world)
            return super().launch(attempt=attempt, plan_digest=plan_digest, period=period, lease_token=lease_token)

    with pytest.raises(Killed):
        run(flagship, PartArrives(flagship, 2))
    report = run(flagship)

    assert (report.status, report.revision) == ("succeeded", 2)
    assert {step.outcome for step in report.steps} == {"reused"}
    attempt = flagship.journal.newest_attempt("vendor_reconciliation", "2026-03")
    assert attempt is not None
    assert len(flagship.journal.events(attempt.id, kinds=["proposed"])) == 2


@pytest.mark.parametrize("change", ["replaced", "ledger"])
def test_no_new_plan_for_what_the_done_steps_do_not_rest_on(flagship: Work, world: DemoWorld, change: str) -> None:
    """With the late part something else changed that was admitted: the run stops, and the next one begins anew."""

    class Changes(StepLauncher):
        def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:
            deliver_late(world)
            run_id = super().launch(attempt=attempt, plan_digest=plan_digest, period=period, lease_token=lease_token)
            if change == "replaced":
                world.put(world.export_key, saturday.export_csv(world.pair.vendor[:-1]))
            else:
                with world.connection() as warehouse:
                    warehouse.execute(
                        "update ledger.charges set amount = amount + 1 where charge_id = 'CH-202603-000001'"
                    )
            return run_id

    report = run(flagship, Changes(flagship))

    assert (report.status, report.code) == ("stopped", "DROP_INCOMPLETE")
    assert ("was replaced" if change == "replaced" else "table ledger changed") in report.text
    again = run(flagship)
    assert again.attempt != report.attempt
