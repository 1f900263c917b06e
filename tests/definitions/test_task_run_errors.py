"""What goes wrong outside the steps: it ends red with a code, and no gate is left open or PLANNED."""

from __future__ import annotations

import dagster as dg
import pytest
import sqlalchemy as sa

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import OpenAIPlannerResource, PlannedTask, planexec_definitions
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.journal.run_report import load_report
from dagster_planexec.journal.store import tables as schema
from tests.support.flagship import TASK, Month, materialise, world_of

pytestmark = pytest.mark.xdist_group("flagship-errors")


@pytest.fixture
def world(tmp_path, seeded, endpoint):
    """A world of the test's own."""
    with world_of(seeded, tmp_path, endpoint) as world:
        yield world


@pytest.fixture
def instance(tmp_path, world):
    """A Dagster instance with files, beside the world's."""
    overrides = {"telemetry": {"enabled": False}}
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster"), overrides=overrides) as instance:
        yield instance


def run_with(planner, instance, world):
    """The month, with another planner."""
    defs = planexec_definitions(PlannedTask(VENDOR_RECONCILIATION.binding, planner))
    job = defs.resolve_job_def(f"{TASK}__task_run")
    result = job.execute_in_process(instance=instance, partition_key=world.period.key, raise_on_error=False)
    return Month(instance, world, instance.get_run_by_id(result.run_id))


def assert_nothing_open(month):
    """Every gate is shown, shut, and none is PLANNED."""
    checks = month.checks(month.task_run)
    planned = month.events(month.task_run, dg.DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED)
    assert len(checks) == len(planned) > 0
    assert {data.passed for data in checks.values()} == {False}
    assert month.materialised(month.task_run) == {}


def test_planner_that_raises_is_an_error_of_the_run(instance, world):
    """Whatever it raised."""

    def broken():
        raise RuntimeError("no key")

    month = run_with(broken, instance, world)
    sentence, metadata = month.failure(month.task_run)

    assert metadata["code"] == "INTERNAL"
    assert "RuntimeError: no key" in sentence
    assert_nothing_open(month)


def test_a_planner_that_cannot_be_set_up_is_in_the_journal_too(instance, world, monkeypatch):
    """A missing key is what the run page, the command line and `planexec status` say, and not that something broke."""
    monkeypatch.delenv("A_KEY_NOBODY_SET", raising=False)
    resource = OpenAIPlannerResource(model="m", api_key=dg.EnvVar("A_KEY_NOBODY_SET"))
    month = run_with(resource.planner, instance, world)
    sentence, metadata = month.failure(month.task_run)
    work = work_of(VENDOR_RECONCILIATION.binding)
    document = load_report(work.journal, month.task_run.run_id)
    work.journal.close()

    assert metadata["code"] == "BAD_CONTRACT"
    assert "'A_KEY_NOBODY_SET' is not set" in sentence
    assert document is not None
    assert (document["status"], document["code"]) == ("error", "BAD_CONTRACT")
    assert "'A_KEY_NOBODY_SET' is not set" in document["text"]
    assert_nothing_open(month)


def test_missing_setting_is_named(instance, world, monkeypatch):
    """A worker without its environment says which variable it lacks."""
    monkeypatch.setenv("DAGSTER_HOME", str(world.home))
    monkeypatch.delenv("PLANEXEC_HOME")
    month = materialise(instance, world)
    sentence, metadata = month.failure(month.task_run)

    assert metadata["code"] == "BAD_CONTRACT"
    assert "PLANEXEC_HOME" in sentence
    assert_nothing_open(month)


def test_unreachable_store_is_an_error_with_a_code(instance, world, monkeypatch):
    """Nothing was admitted, so nothing is planned."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    month = materialise(instance, world)

    assert month.failure(month.task_run)[1]["code"] == "UNAVAILABLE"
    assert_nothing_open(month)


def test_plan_altered_in_the_store_is_refused(instance, world):
    """The second run of the month finds other bytes under the digest, and runs nothing of them."""
    assert materialise(instance, world).task_run.status is dg.DagsterRunStatus.SUCCESS
    work = work_of(VENDOR_RECONCILIATION.binding)
    with work.journal.engine.begin() as db:
        body = db.execute(sa.select(schema.plans.c.body)).scalar_one()
        db.execute(sa.update(schema.plans).values(body=body.replace(b"invoice.csv", b"invoice.bak")))
    work.journal.close()
    month = materialise(instance, world)
    sentence, metadata = month.failure(month.task_run)

    assert metadata["code"] == "PLAN_REJECTED"
    assert "altered" in sentence
    assert month.plan_run is None
    assert_nothing_open(month)
