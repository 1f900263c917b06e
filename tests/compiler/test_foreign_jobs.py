"""Plans that others wrote become Dagster jobs: one op a step, and the same edges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.compiler.binding import TaskBinding
from dagster_planexec.compiler.job import compile_plan, describe_plan, plan_graph
from dagster_planexec.contract.foreign.catalogue import read_catalogue
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.foreign.plans import ForeignPlan, import_plan, read_plans
from dagster_planexec.plan.model import Plan
from tests.support.foreign import SETS, as_facts, records, refs_in, unpacked
from tests.support.toolbox import TASK

CLEAN = {"nestful": 218, "tau2": 266, "taskbench-huggingface-pred": 195}


def shape(job: dg.JobDefinition) -> tuple[set[str], set[tuple[str, str]]]:
    """The names of a job's nodes, and (node, node it waits for)."""
    graph = job.graph
    nodes = {node.name for node in graph.nodes}
    return nodes, {
        (name, source.node.name)
        for name in nodes
        for sources in graph.dependency_structure.input_to_upstream_outputs_for_node(name).values()
        for source in sources
    }


def written(record: dict[str, Any]) -> tuple[set[str], set[tuple[str, str]]]:
    """The same of a record, by its own words."""
    steps = record["steps"]
    return {step["id"] for step in steps}, {
        (step["id"], needed) for step in steps for needed in (*step["deps"], *refs_in(step["args"]))
    }


def tools_of(tmp_path: Path, *names: str) -> ToolRegistry:
    """A catalogue of tools with these names."""
    path = tmp_path / "tools.jsonl"
    path.write_text("\n".join(json.dumps({"tool": name, "description": f"<b>{name}</b>"}) for name in names))
    return read_catalogue(path)


def plan_of(*steps: tuple[str, str, list[str]]) -> ForeignPlan:
    """A plan of (id, tool, deps)."""
    return import_plan({"steps": [{"id": name, "tool": tool, "deps": deps} for name, tool, deps in steps]})


@pytest.mark.parametrize("name", SETS)
def test_every_plan_without_a_fault_is_a_job(tmp_path: Path, name: str) -> None:
    """A node for each step, an edge for each dependency and reference, as many as are stated; all in one repository."""
    plans, tools = unpacked(name, tmp_path)
    registry = read_catalogue(tools)
    jobs = []
    for record, foreign in zip(records(plans), read_plans(plans), strict=True):
        if any(as_facts(record).values()):
            continue
        assert foreign.plan is not None
        job = describe_plan(foreign.plan, registry, name=record["plan_id"])
        assert shape(job) == written(record), record["plan_id"]
        nodes, found = shape(job)
        assert (len(nodes), len(found)) == (record["facts"]["n_steps"], record["facts"]["edges"])
        jobs.append(job)

    assert len(jobs) == CLEAN[name]
    loaded = dg.Definitions(jobs=jobs).get_repository_def()
    assert len(loaded.get_all_jobs()) == len(jobs)


@pytest.mark.parametrize("name", SETS)
def test_every_plan_with_a_fault_is_a_job_or_refused_in_our_words(tmp_path: Path, name: str) -> None:
    """What the compiler can tell it refuses; arguments it does not look at."""
    plans, tools = unpacked(name, tmp_path)
    registry = read_catalogue(tools)
    told = {"duplicate_ids", "unknown_tools", "dangling_refs", "self_refs", "cycle"}
    differ = []
    for record, foreign in zip(records(plans), read_plans(plans), strict=True):
        assert foreign.plan is not None
        try:
            describe_plan(foreign.plan, registry, name=record["plan_id"])
            refused = False
        except PlanexecError as error:
            refused = error.code == "PLAN_REJECTED"
        facts = as_facts(record)
        if refused is not any(facts[fault] for fault in told):
            differ.append(record["plan_id"])

    assert differ == []


def test_a_foreign_plan_compiles_as_the_plan_of_a_task(tmp_path: Path, world: object) -> None:
    """A task may allow the tools of a catalogue; the job then is that task's plan run."""
    plans, tools = unpacked("nestful", tmp_path)
    registry = read_catalogue(tools)
    task = VENDOR_RECONCILIATION.binding.task
    given = {name: getattr(task, name) for name in task.__dataclass_fields__}
    binding = TaskBinding(
        task=type(task)(**given | {"name": "nestful", "tools": tuple(registry)}),
        tools=[registry[name] for name in registry],
        resources=VENDOR_RECONCILIATION.binding.resources,
        ref="elsewhere.binding:NESTFUL",
    )
    record, foreign = records(plans)[0], next(read_plans(plans))
    assert foreign.plan is not None
    job = compile_plan(binding, foreign.plan, full_digest(foreign.plan), "default")

    assert (job.name, shape(job)) == ("nestful__plan_run", written(record))


def test_ids_and_tools_of_any_kind_have_ops_of_their_own(tmp_path: Path) -> None:
    """Dagster's words, other scripts, and names that become one when they are made plain."""
    names = (
        "Text-to-Speech",
        "Text to Speech",
        "Text_to_Speech",
        "9 lives",
        "日本",
        "中国",
        "class",
        "input",
        "a.b",
        "\x00",
        "x" * 200,
    )
    foreign = plan_of(*((f"step {at}", tool, [f"step {at - 1}"] if at else []) for at, tool in enumerate(names)))
    assert foreign.plan is not None
    registry = tools_of(tmp_path, *names)
    job = describe_plan(foreign.plan, registry, name="any job")

    assert job.name == "any_job"
    assert len({node.definition.name for node in job.nodes}) == len(names)
    assert {node.name: node.definition.name for node in job.nodes}["step_2"] == "Text_to_Speech"
    dg.Definitions(jobs=[job]).get_repository_def()
    alone = plan_of(("a", "Text to Speech", []))
    assert alone.plan is not None
    (node,) = describe_plan(alone.plan, registry, name="alone").nodes
    assert node.definition.name in {
        n.definition.name for n in job.nodes
    }  # a tool's op is called the same in every plan
    assert node.definition.description == "\\<b\\>Text to Speech\\</b\\>"


def test_a_run_of_a_described_plan_is_refused_before_its_first_step(tmp_path: Path) -> None:
    """It can be looked at; whoever runs it is told why it cannot."""
    foreign = plan_of(("a", "t", []), ("b", "t", ["a"]))
    assert foreign.plan is not None
    job = describe_plan(foreign.plan, tools_of(tmp_path, "t"), name="looked_at")
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(raise_on_error=False, instance=instance)

        assert not result.success
        assert [event for event in result.all_events if event.is_step_start] == []
        said = "".join(str(event.event_specific_data) for event in result.all_events)
    assert "only described; nothing carries them out" in said


def _of(*steps: dict[str, Any]) -> Plan:
    return Plan.model_validate({"task": "t", "period": "p", "steps": [{"tool": "s3.count", **step} for step in steps]})


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (_of({"id": "a"}, {"id": "a"}), "two steps have the id 'a'"),
        (_of({"id": "class"}), "'class' cannot name an op: it is reserved"),
        (_of({"id": "a b"}), "'a b' cannot name an op"),
        (_of({"id": ""}), "'' cannot name an op: it is empty"),
        (_of({"id": "a", "tool": "shell.run"}), "'shell.run', which the task does not allow"),
        (_of({"id": "a", "depends_on": ["b"]}), "needs step 'b', which does not exist"),
        (_of({"id": "a", "args": {"x": [{"ref": "b.c"}]}}), "needs step 'b', which does not exist"),
        (_of({"id": "a", "depends_on": ["a"]}), "a -> a"),
        (_of({"id": "a", "depends_on": ["b"]}, {"id": "b", "args": {"x": {"ref": "a"}}}), "a -> b -> a"),
    ],
    ids=[
        "an id twice",
        "reserved",
        "two words",
        "empty",
        "unknown tool",
        "dangling",
        "dangling ref",
        "itself",
        "circle",
    ],
)
def test_what_is_no_job_is_refused_in_our_own_words(plan: Plan, says: str) -> None:
    """A plan that came past the checker never meets an error of Dagster's."""
    with pytest.raises(PlanexecError, match="PLAN_REJECTED") as refused:
        plan_graph(plan, ToolRegistry(_toolbox()), name="x", digest="0")
    assert says in refused.value.message


def _toolbox() -> Any:
    from tests.support.toolbox import REGISTRY

    return [REGISTRY[name] for name in TASK.tools if name in REGISTRY]


def test_a_plan_without_steps_is_an_empty_job(tmp_path: Path) -> None:
    """It does nothing, and that is no error of form."""
    foreign = plan_of()
    assert foreign.plan is not None
    assert list(describe_plan(foreign.plan, tools_of(tmp_path, "t"), name="nothing").nodes) == []
