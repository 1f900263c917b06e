"""From a vendor's upload to a settled month, through the daemon's own ticks: nobody starts anything by hand."""

from __future__ import annotations

import shutil
import time

import pytest

from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from tests.projects.year.binding import waiting_room
from tests.projects.year.definitions import LOOKING
from tests.projects.year.task import DATA, TASK, export_of
from tests.support.dagster_dev import ROOT, DagsterDev
from tests.support.flagship import CREDENTIALS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("dagster-dev"), pytest.mark.timeout(600)]

SENSOR = f"{TASK.name}__arrivals"
FIRST, SECOND = "2025-01", "2025-02"
PATIENCE_S = 240.0


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The year's world before anything is delivered."""
    home = tmp_path_factory.mktemp("arrivals")
    with LocalS3() as s3:
        made = DemoWorld(home, s3.endpoint, data=DATA)
        made.seed()
        for key in made.data.exports():
            made.remove(key)
        yield made


@pytest.fixture(scope="module")
def dev(world):
    """Under `dagster dev`, with a sensor that looks every few seconds and waits two seconds for quiet."""
    shutil.copy(ROOT / "dagster_planexec" / "definitions" / "dagster.yaml", world.dagster_home)
    environment = {
        "PLANEXEC_HOME": str(world.home),
        "AWS_ENDPOINT_URL": world.endpoint,
        "PLANEXEC_QUIET_S": "2",
        "PLANEXEC_LOOK_EVERY_S": "2",
        LOOKING: "yes",
        **CREDENTIALS,
    }
    with DagsterDev(world.dagster_home, environment, workspace="tests/projects/year/workspace.yaml") as running:
        yield running


def test_delivery_is_settled_by_itself(dev, world):
    """One run, of the delivered month, asked for by the sensor; the report is made."""
    _deliver(world, FIRST, export_of(FIRST))

    (run,) = _until(lambda: _runs(dev, FIRST))
    ended = dev.ended(run["runId"])

    assert ended["status"] == "SUCCESS", dev.why(run["runId"])
    assert ended["tags"]["dagster/sensor_name"] == SENSOR
    assert {m["assetKey"]["path"][0] for m in ended["assetMaterializations"]} >= {"recon_report"}


def test_correction_that_comes_while_its_month_runs_waits_and_is_next(dev, world):
    """The tick says which run it waits for; afterwards the corrected file is an attempt of its own."""
    room = waiting_room(world.home, "fetch_export")
    room.parent.mkdir(exist_ok=True)
    room.touch()
    _deliver(world, SECOND, export_of(SECOND))
    _until(room.with_suffix(".reached").exists)
    (first,) = _runs(dev, SECOND)
    _deliver(world, SECOND, export_of(SECOND) + b"\n")
    waits = _until(lambda: [t for t in dev.ticks(SENSOR) if first["runId"] in (t["skipReason"] or "")])

    assert waits
    assert len(_runs(dev, SECOND)) == 1
    room.unlink()
    dev.ended(first["runId"])
    second, again = _until(lambda: runs if len(runs := _runs(dev, SECOND)) == 2 else None)
    assert again["runId"] == first["runId"]
    dev.ended(second["runId"])
    tags = dev.tags(second["runId"]), dev.tags(first["runId"])
    assert tags[0]["dagster/run_key"] != tags[1]["dagster/run_key"]
    assert tags[0]["planexec/attempt"] != tags[1]["planexec/attempt"]


def test_no_tick_failed_and_nothing_is_asked_for_twice(dev, world):
    """After everything has settled the sensor goes on looking, and starts nothing."""
    before = len(dev.runs())
    seen = len(dev.ticks(SENSOR))
    _until(lambda: len(dev.ticks(SENSOR)) >= min(seen + 2, 50))

    assert [t["error"] for t in dev.ticks(SENSOR) if t["status"] == "FAILURE"] == []
    assert len(dev.runs()) == before


def _deliver(world, period, content):
    time.sleep(1.05)  # the store's clock has whole seconds
    world.put(world.data.export_key(period, ".csv"), content)


def _runs(dev, period):
    """The task runs of a month, newest first."""
    found = dev.runs(dagster__partition=f"{period}-01")
    return [run for run in found if run["jobName"] == f"{TASK.name}__task_run"]


def _until(ask):
    end = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < end, "it has not happened"
        time.sleep(0.5)
    return answer
