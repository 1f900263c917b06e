"""The flagship in Dagster for tests: a seeded world of its own, and runs that can be asked what happened."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterEventType

from assets.demo.faults import FAULTS
from assets.demo.local_s3 import ACCESS_KEY, REGION, SECRET_KEY, LocalS3
from assets.demo.world import DemoWorld

SMALL = "2026-02"
"""A month with 4,100 charges: as good as March, and quicker."""
TASK = "vendor_reconciliation"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "AWS_DEFAULT_REGION": REGION}


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """A real S3 server."""
    with LocalS3() as s3:
        yield s3.endpoint


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory, endpoint: str) -> Path:
    """A home that is seeded once and copied for every test."""
    home = tmp_path_factory.mktemp("seeded")
    DemoWorld(home, endpoint).seed()
    return home


@contextmanager
def world_of(
    seeded: Path, home: Path, endpoint: str, *, period: str = SMALL, fault: str | None = None
) -> Iterator[DemoWorld]:
    """A copy of a seeded home with its bucket as the vendor left it, and the environment that leads there."""
    shutil.copytree(seeded, home, dirs_exist_ok=True)
    world = DemoWorld(home, endpoint, period=period)
    world.seed_drop()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"PLANEXEC_HOME": str(home), "AWS_ENDPOINT_URL": endpoint, **CREDENTIALS}.items():
            patch.setenv(name, value)
        patch.delenv("PLANEXEC_DEMO_FAULT", raising=False)
        if fault is not None:
            if FAULTS[fault].when == "before-plan":
                FAULTS[fault].apply(world)
            patch.setenv("PLANEXEC_DEMO_FAULT", fault)
            patch.setenv("PLANEXEC_DEMO_PERIOD", period)
        yield world


@dataclass
class Month:
    """One materialisation of one partition, and everything Dagster stored about it."""

    instance: dg.DagsterInstance
    world: DemoWorld
    task_run: dg.DagsterRun

    @cached_property
    def plan_run(self) -> dg.DagsterRun | None:
        """The run of the plan, if there was one."""
        run_id = self.task_run.tags.get("planexec/plan_run")
        return self.instance.get_run_by_id(run_id) if run_id else None

    def events(self, run: dg.DagsterRun | None, kind: DagsterEventType | None = None) -> list[dg.DagsterEvent]:
        """The events of a run, in order."""
        assert run is not None
        found = [log.dagster_event for log in self.instance.all_logs(run.run_id) if log.is_dagster_event]
        return [event for event in found if kind is None or event.event_type is kind]

    def checks(self, run: dg.DagsterRun | None) -> dict[tuple[str, str], dg.AssetCheckEvaluation]:
        """(asset or step, check) to its evaluation."""
        found = [e.asset_check_evaluation_data for e in self.events(run, DagsterEventType.ASSET_CHECK_EVALUATION)]
        return {(data.asset_key.path[-1], data.check_name): data for data in found}

    def materialised(self, run: dg.DagsterRun | None) -> dict[str, dg.AssetMaterialization]:
        """Asset to its materialisation."""
        found = [e.step_materialization_data for e in self.events(run, DagsterEventType.ASSET_MATERIALIZATION)]
        return {data.materialization.asset_key.to_user_string(): data.materialization for data in found}

    def observed(self, run: dg.DagsterRun | None) -> dict[str, dg.AssetObservation]:
        """Asset to its observation for the partition."""
        return {seen.asset_key.to_user_string(): seen for seen in self._observations(run) if seen.partition}

    def overview(self, run: dg.DagsterRun | None) -> dg.AssetObservation:
        """The observation about all periods."""
        (found,) = [seen for seen in self._observations(run) if seen.partition is None]
        return found

    def _observations(self, run: dg.DagsterRun | None) -> list[dg.AssetObservation]:
        found = self.events(run, DagsterEventType.ASSET_OBSERVATION)
        return [event.asset_observation_data.asset_observation for event in found]

    def failure(self, run: dg.DagsterRun | None) -> tuple[str, dict[str, object]]:
        """Description and metadata of the one failed step of a run."""
        (event,) = self.events(run, DagsterEventType.STEP_FAILURE)
        data = event.step_failure_data.user_failure_data
        assert data is not None, event.step_failure_data.error
        return data.description, {name: value.value for name, value in data.metadata.items()}


def materialise(instance: dg.DagsterInstance, world: DemoWorld, *, replan: bool = False) -> Month:
    """Run the task's asset for the world's period, as the job does."""
    import definitions

    job = definitions.defs.resolve_job_def(f"{TASK}__task_run")
    config = {"ops": {TASK: {"config": {"replan": replan}}}}
    result = job.execute_in_process(
        instance=instance, partition_key=world.period.key, run_config=config, raise_on_error=False
    )
    run = instance.get_run_by_id(result.run_id)
    assert run is not None
    return Month(instance, world, run)
