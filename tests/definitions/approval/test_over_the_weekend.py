"""Held on Friday; everything is shut down; approved on Monday, when the export has expired; continued by the daemon.

Twice: at the terminal, and in Dagster's form with a line that was signed at the terminal.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assets.demo.faults import FAULTS
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.task import TASK as THE_TASK
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.holds import HoldRecord, hold, holds_of
from tests.support.approving import with_keys
from tests.support.dagster_dev import LAUNCH, LOCATION, DagsterDev
from tests.support.flagship import CREDENTIALS, TASK
from tests.support.months import World
from tests.support.planexec import planexec

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dagster-dev")]

ROOT = Path(__file__).resolve().parents[3]
BY_TERMINAL, BY_FORM = "2026-01", "2026-02"
PATIENCE_S = 120.0
APPROVER = THE_TASK.approval.approvers[0]


@dataclass
class Weekend:
    """What there was on Friday, and what there is on Monday."""

    home: Path
    endpoint: str
    holds: dict[str, HoldRecord]
    runs: dict[str, dict[str, Any]]
    """The run that continued each period."""
    forged: dict[str, Any]

    def credits(self, period: str) -> Any:
        """What is issued."""
        return World(self.home, self.endpoint, period).credits()


def until(found: Callable[[], Any]) -> Any:
    """What it finds, once it finds something."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if there := found():
            return there
        time.sleep(0.5)
    raise AssertionError("it has not come")


def fill_in(dev: DagsterDev, said: dict[str, str]) -> dict[str, Any]:
    """The form, as the launchpad sends it; the run that it starts, once it has ended."""
    config = {"ops": {f"{TASK}__take_decision": {"config": said}}}
    params = {"selector": {**LOCATION, "jobName": f"{TASK}__decide"}, "runConfigData": config}
    answer = dev.query(LAUNCH, p=params)["launchRun"]
    assert answer["__typename"] == "LaunchRunSuccess", answer
    return dev.ended(answer["run"]["runId"]) | {"runId": answer["run"]["runId"]}


@pytest.fixture(scope="module")
def weekend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Weekend]:
    """Friday, a weekend without any process, Monday."""
    home = tmp_path_factory.mktemp("weekend")
    with LocalS3() as s3, with_keys(*THE_TASK.approval.approvers), pytest.MonkeyPatch.context() as patch:
        DemoWorld(home, s3.endpoint).seed()
        worlds = {period: DemoWorld(home, s3.endpoint, period=period) for period in (BY_TERMINAL, BY_FORM)}
        for world in worlds.values():
            FAULTS["inflate-credits"].apply(world)
        environment = {"PLANEXEC_HOME": str(home), "AWS_ENDPOINT_URL": s3.endpoint, **CREDENTIALS,
                       "PLANEXEC_QUIET_S": "100000"}  # fmt: skip
        for name, value in environment.items():
            patch.setenv(name, value)
        dagster_home = home / "dagster"
        shutil.copy(ROOT / "dagster_planexec" / "definitions" / "dagster.yaml", dagster_home)

        with DagsterDev(dagster_home, environment) as friday:
            for period in worlds:
                run = friday.ended(friday.materialise(f"{TASK}__task_run", f"{period}-01"))
                assert run["tags"]["planexec/status"] == "held", friday.why(run["runId"])
        journal = Journal(looking=True)
        held = {one.period: one for one in holds_of(journal, TASK)}
        journal.close()
        for world in worlds.values():
            FAULTS["delete-export-before-plan"].apply(world)

        by = ("--by", APPROVER, "--reason", "seen with the vendor", "--home", home)
        approved = planexec("approve", held[BY_TERMINAL].id, *by)
        assert approved.exit_code == 0, approved.document
        signed = planexec("approve", held[BY_FORM].id, *by, "--sign-only").document["signed"]
        with DagsterDev(dagster_home, environment) as monday:
            said = {"hold": held[BY_FORM].id, "decision": "approve", "by": APPROVER, "reason": "seen with the vendor"}
            forged = fill_in(monday, {**said, "signed": signed[:-8] + "00000000"})
            assert fill_in(monday, {**said, "signed": signed})["tags"]["planexec/status"] == "approved"
            runs = {
                period: monday.ended(until(lambda one=one: continuing(monday, one.id)))  # type: ignore[misc]
                for period, one in held.items()
            }
        yield Weekend(home, s3.endpoint, held, runs, forged)


def continuing(dev: DagsterDev, hold_id: str) -> str | None:
    """The run that continues a hold, if there is one."""
    runs = [run for run in dev.runs(planexec__hold=hold_id) if run["jobName"] == f"{TASK}__continue"]
    return runs[0]["runId"] if runs else None


@pytest.mark.parametrize("period", [BY_TERMINAL, BY_FORM])
def test_a_month_is_continued_on_monday(weekend: Weekend, period: str) -> None:
    """By a run that the sensor started, from the landed copy; every credit is issued once, and recorded."""
    run, held = weekend.runs[period], weekend.holds[period]
    journal = Journal(looking=True)
    closed = hold(journal, held.id)
    journal.close()

    assert (run["status"], run["tags"]["planexec/status"]) == ("SUCCESS", "succeeded")
    assert run["tags"]["dagster/run_key"].startswith("approval-")
    assert {(m["assetKey"]["path"][0], m["partition"]) for m in run["assetMaterializations"]} == {
        ("credits", f"{period}-01")
    }
    assert len(weekend.credits(period)) == held.facts["count"] > 0
    assert closed is not None
    assert closed.state == "used"


def test_a_forged_line_in_the_form_is_refused(weekend: Weekend) -> None:
    """By somebody who has seen everything that Dagster shows, and has no key."""
    assert weekend.forged["status"] == "FAILURE"
    assert weekend.forged["tags"]["planexec/code"] == "DECISION_REFUSED"
