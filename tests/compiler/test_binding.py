"""Resources of a binding: their settings are read where a run works, each time anew."""

from dataclasses import replace

import dagster as dg
import pytest

from assets.council_spend.task import FOLDER as COUNCIL
from dagster_planexec.compiler.binding import PortResources, TaskBinding, work_of
from dagster_planexec.contract.task import Deliverable
from dagster_planexec.errors import PlanexecError
from dagster_planexec.recovery.choice import Chooser
from dagster_planexec.resources.local.local_resources import (
    DuckDbCreditsResource,
    DuckDbWarehouseResource,
    RootsResource,
)
from dagster_planexec.resources.s3_object_store import S3ObjectStoreResource
from dagster_planexec.tools import BUILTIN_TOOLS
from tests.support.bench import TASK

HOME = dg.EnvVar("PLANEXEC_HOME")


@pytest.fixture
def resources(tmp_path, monkeypatch):
    """The resources of the examples, and the variables they read."""
    variables = {"AWS_ACCESS_KEY_ID": "first", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "eu-west-1"}
    for name, value in {"PLANEXEC_HOME": str(tmp_path), **variables}.items():
        monkeypatch.setenv(name, value)
    return PortResources(
        objects=S3ObjectStoreResource(
            aws_access_key_id=dg.EnvVar("AWS_ACCESS_KEY_ID"), aws_secret_access_key=dg.EnvVar("AWS_SECRET_ACCESS_KEY")
        ),
        warehouse=DuckDbWarehouseResource(home=HOME, path="warehouse.duckdb"),
        credits=DuckDbCreditsResource(home=HOME, path="warehouse.duckdb"),
        roots=RootsResource(home=HOME, sql="sql", reports="reports", landing="landing"),
    )


class _Nobody(Chooser):
    """Never asked here."""

    name = "nobody"

    def choose(self, question):
        raise AssertionError(question)


@pytest.mark.parametrize(("allowed", "runs_steps"), [(True, True), (False, True), (True, False)])
def test_the_one_who_may_choose_comes_along_only_where_steps_run_and_the_task_allows_it(resources, allowed, runs_steps):
    """Off by default; a binding that names one makes no task ask, and who only looks needs no key of it."""
    binding = TaskBinding(task=replace(TASK, tools=(), recovery_choice=allowed), tools=(), resources=resources,
                          ref="tests.none:NONE", chooser=_Nobody)  # fmt: skip
    work = work_of(binding, runs_steps=runs_steps)
    work.journal.close()

    assert isinstance(work.chooser, _Nobody) == (allowed and runs_steps)


def test_the_environment_is_read_each_time(resources, tmp_path, monkeypatch):
    """Another home or other credentials hold from the next run on, in the same process."""
    before = resources.ports()
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path / "moved"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "second")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    after = resources.ports()

    assert [p.warehouse.path for p in (before, after)] == [
        home / "warehouse.duckdb" for home in (tmp_path, tmp_path / "moved")
    ]
    assert after.roots.landing == tmp_path / "moved" / "landing"
    clients = [ports.objects._client for ports in (before, after)]
    assert [client._get_credentials().access_key for client in clients] == ["first", "second"]
    assert [client.meta.region_name for client in clients] == ["eu-west-1", "us-west-2"]


def test_credentials_of_the_worker_are_read_each_time(monkeypatch):
    """Also those that no resource names: what clients share is what botocore ships, and nothing of a session."""
    keys = []
    for key in ("first", "second"):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
        keys.append(S3ObjectStoreResource(region_name="eu-west-1").get_client()._get_credentials().access_key)

    assert keys == ["first", "second"]


def test_a_missing_variable_is_named(resources, monkeypatch):
    """The text names the resource and the variable."""
    monkeypatch.delenv("PLANEXEC_HOME")

    with pytest.raises(PlanexecError, match=r"(?s)'warehouse' cannot be set up.*PLANEXEC_HOME") as refused:
        resources.ports()

    assert refused.value.code == "BAD_CONTRACT"


class _TornDown(dg.ConfigurableResource):
    path: str = "."

    def teardown_after_execution(self, context):
        """Close something."""

    def port(self):
        return None


def test_a_resource_that_is_torn_down_is_refused(resources):
    """Its port would be used after that."""
    with pytest.raises(PlanexecError, match="'roots' is torn down") as refused:
        PortResources(
            objects=resources.objects, warehouse=resources.warehouse, credits=resources.credits, roots=_TornDown()
        ).ports()

    assert refused.value.code == "BAD_CONTRACT"


@pytest.mark.parametrize(("tools", "claimed", "refused"), [
    (("write_report",), {}, True), (("warehouse.load",), {}, False),
    (("write_report",), {"write_report": ("expectations_hold",)}, False),
])  # fmt: skip
def test_a_suite_that_nobody_would_ask_is_refused(resources, tools, claimed, refused):
    """A promise in a task that no check keeps."""
    made = Deliverable("made", tools, suite=COUNCIL / "expectations" / "recon_lines.json")
    task = replace(TASK, tools=tools, deliverables=(made,), required_claims=claimed)

    def bind():
        return TaskBinding(task=task, tools=BUILTIN_TOOLS, resources=resources, ref="tests.none:NONE")

    if not refused:
        assert bind().task is task
        return
    with pytest.raises(PlanexecError, match="has a suite, and none of its tools"):
        bind()
