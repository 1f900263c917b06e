"""A delivery whose month is being run waits, and comes next: however that run was started, and however it ends."""

from __future__ import annotations

from datetime import UTC, datetime

import dagster as dg
import pytest
from dagster import DagsterRunStatus

from dagster_planexec.contract.task import Drop
from dagster_planexec.definitions.partitions import partitions_of
from dagster_planexec.journal.journal import Journal
from dagster_planexec.world.ports import ObjectFacts
from tests.support.drops import ScriptedDrop, SetClock, Watch, instance_in, planned_for
from tests.support.leases import held_by, someone, taken

BUCKET = "vendor-drops"
NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
DELIVERABLES = [dg.AssetKey(name) for name in ("vendor_invoice", "recon_lines", "recon_report")]
ENDED = ["SUCCESS", "FAILURE", "CANCELED"]


def delivered(*months: int, etag: str = "e", at: datetime = NOON) -> list[ObjectFacts]:
    """One file for each month."""
    return [ObjectFacts(BUCKET, f"in/2026-{m:02d}.csv", 10, f"{etag}{m}", at.replace(hour=9)) for m in months]


@pytest.fixture
def instance(tmp_path):
    with instance_in(tmp_path / "dagster") as found:
        yield found


@pytest.fixture
def store() -> ScriptedDrop:
    return ScriptedDrop().holds(delivered(2))


@pytest.fixture
def watch(tmp_path, monkeypatch, instance, store) -> Watch:
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    clock = SetClock(NOON)
    return Watch(planned_for(Drop(BUCKET, "in/", r"{period}\.csv", input="vendor"), store, clock), instance, clock)


def end(watch: Watch, run: dg.DagsterRun, how: str) -> None:
    """The run ends."""
    kind = {"SUCCESS": "RUN_SUCCESS", "FAILURE": "RUN_FAILURE", "CANCELED": "RUN_CANCELED"}[how]
    event = dg.DagsterEvent(event_type_value=f"PIPELINE_{kind.removeprefix('RUN_')}", job_name=run.job_name)
    watch.instance.report_dagster_event(event, run.run_id)
    assert watch.instance.get_run_by_id(run.run_id).status is DagsterRunStatus(how)


@pytest.mark.parametrize("how", ENDED)
@pytest.mark.parametrize("status", ["NOT_STARTED", "QUEUED", "STARTING", "STARTED", "CANCELING"])
def test_delivery_waits_for_the_run_of_its_month_and_comes_next(watch, status, how):
    """Not requested while the run goes on, unrequested in the journal, requested on the tick after its end."""
    run = watch.run("2026-02-01", status=DagsterRunStatus(status))
    said = watch.said()
    while_running = [seen.requested for seen in watch.seen("2026-02")]
    end(watch, run, how)

    assert f"1 wait for a run to end (2026-02: run {run.run_id}, {status} since 20" in said
    assert "if its process is gone, terminate the run in Dagster" in said
    assert while_running == [None]
    assert [watch.asked(), watch.asked()] == [["2026-02-01"], []]


def test_correction_that_comes_while_its_month_runs_comes_next(watch, store):
    """The sensor's own run is still queued when the vendor corrects the file: two runs in all, one after the other."""
    assert watch.asked(ended=False) == ["2026-02-01"]
    store.holds(delivered(2, etag="corrected"))
    watch.clock.forward(60)
    assert watch.asked() == []
    watch.clock.forward(2000)
    said = watch.said()
    end(watch, watch.runs[0], "FAILURE")

    assert watch.runs[0].run_id in said
    assert watch.asked() == ["2026-02-01"]
    assert len({run.tags["dagster/run_key"] for run in watch.runs}) == 2


MONTH = {"task": "vendor_reconciliation", "period": "2026-02"}


def test_delivery_waits_for_whatever_holds_its_month(watch):
    """A command on another machine has no run in this Dagster; its lease says who it is."""
    with held_by(someone(1, started_by="the command planexec run"), **MONTH):
        said = watch.said()
        while_held = [seen.requested for seen in watch.seen("2026-02")]

    assert (
        "1 wait for a run to end (2026-02: run run-1 (started by the command planexec run; host host-1, process 101)"
        in said
    )
    assert while_held == [None]
    assert [watch.asked(), watch.asked()] == [["2026-02-01"], []]


def test_delivery_whose_run_stood_back_is_asked_for_again(watch, store):
    """As often as that happens, each time under a new key; until a run has held the month, nothing is consumed."""
    store.holds(delivered(1, 2))
    assert watch.asked() == ["2026-01-01", "2026-02-01"]
    for _ in range(2):
        asked = watch.runs[-1].tags["dagster/run_key"]
        with held_by(someone(1), **MONTH):
            journal = Journal()
            taken(journal, someone(2, run_key=asked), **MONTH)
            journal.close()
            assert watch.asked() == []
        assert watch.asked() == ["2026-02-01"]
    keys = [run.tags["dagster/run_key"] for run in watch.runs if run.tags["dagster/partition"] == "2026-02-01"]

    assert keys == [keys[0], f"{keys[0]}-2", f"{keys[0]}-3"]
    assert [watch.asked(), watch.asked()] == [[], []]


def test_month_that_waits_holds_up_no_other(watch, store):
    """March is asked for while February runs."""
    store.holds(delivered(1, 2, 3))
    run = watch.run("2026-02-01")

    assert watch.asked() == ["2026-01-01", "2026-03-01"]
    end(watch, run, "SUCCESS")
    assert watch.asked() == ["2026-02-01"]


def everything(watch: Watch) -> dg.JobDefinition:
    """A job over all assets of a project that also has one of its own."""

    @dg.asset(partitions_def=partitions_of(watch.binding.task))
    def rollup() -> None: ...

    project = dg.Definitions.merge(watch.definitions, dg.Definitions(assets=[rollup]))
    return project.resolve_implicit_global_asset_job_def()


@pytest.mark.parametrize(
    ("how", "more"),
    [
        ("asset page, all of it", {"asset_selection": frozenset(DELIVERABLES)}),
        ("asset page, and one more", {"asset_selection": frozenset([*DELIVERABLES, dg.AssetKey("rollup")])}),
        ("a job over all assets", {}),
        ("a job over all assets, begun", {"tags": {"planexec/task": "vendor_reconciliation"}}),
    ],
)
def test_run_started_elsewhere_is_seen_before_it_has_tagged_itself(watch, how, more):
    """From the asset page or a backfill a run has another job's name, and no tag of ours until it begins."""
    run = watch.run("2026-02-01", job=everything(watch), status=DagsterRunStatus.QUEUED, **more)

    assert run.run_id in watch.said(), how


@pytest.mark.parametrize(
    "which", ["another month", "another asset", "a job that leaves the task out", "a plan run", "ended"]
)
def test_run_of_something_else_holds_up_nothing(watch, which):
    """Only a task run of this task and month does. A plan run whose task run is gone may look started for ever."""
    if which == "another month":
        watch.run("2026-01-01")
    elif which == "another asset":
        watch.run("2026-02-01", job=everything(watch), asset_selection=frozenset({dg.AssetKey("rollup")}))
    elif which == "a job that leaves the task out":
        subset = everything(watch).get_subset(asset_selection={dg.AssetKey("rollup")})
        watch.run("2026-02-01", job=subset)
    elif which == "a plan run":
        watch.run("2026-02-01", tags={"planexec/task_run": "gone", "planexec/task": "vendor_reconciliation"})
    else:
        for status in ENDED:
            watch.run("2026-02-01", status=DagsterRunStatus(status))

    assert watch.asked() == ["2026-02-01"]


def test_run_that_hangs_is_named_with_what_would_end_it(watch):
    """A killed process leaves its run started. Nothing is started beside it; what a person can do is in the text."""
    run = watch.run("2026-02-01", status=DagsterRunStatus.STARTED)
    watch.clock.forward(7 * 24 * 3600)

    assert f"run {run.run_id}, STARTED since" in watch.said()
    assert watch.said().endswith("run monitoring is off, so nothing else ends it")


def test_what_waits_is_counted_and_its_beginning_named(watch, store):
    """Many months that all wait: each is counted, the first are named, and the text stays readable."""
    watch.clock.forward(8 * 30 * 24 * 3600)
    store.holds(delivered(*range(1, 12)))
    for month in range(1, 11):
        watch.run(f"2026-{month:02d}-01")
    said = watch.said()

    assert "10 wait for a run to end (2026-01: run" in said
    assert "and 5 more)" in said
    assert len(said) < 1000
