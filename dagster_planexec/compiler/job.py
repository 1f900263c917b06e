"""(task, plan) -> job: one op per step, in the order of the plan's graph. The same plan gives the same job anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import dagster as dg
from dagster import DependencyDefinition, MultiDependencyDefinition, NodeInvocation

from dagster_planexec.compiler.binding import TaskBinding, load_binding
from dagster_planexec.compiler.markup import escaped
from dagster_planexec.compiler.ops import op_of
from dagster_planexec.compiler.plan_run import plan_run_resource
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.plan.naming import names_apart, problem_of, suggestion
from dagster_planexec.plan.reference import references

Dependencies = Mapping[NodeInvocation, Mapping[str, MultiDependencyDefinition]]

RECONSTRUCTOR = ("dagster_planexec.compiler.job", "job")
"""Module and function for `build_reconstructable_job`."""


def job_name(task: Task) -> str:
    """The name of every plan's job of a task; which plan it is, the run's tags say."""
    return f"{task.name}__plan_run"


def job(task_ref: str, plan_digest: str, journal_name: str, folder: str | None = None) -> dg.JobDefinition:
    """Rebuild the job of a plan from ids alone, in whatever process runs it.

    Args:
        task_ref: `package.module:NAME` of the task's binding.
        plan_digest: Full digest of the plan.
        journal_name: Which journal has it; its URL comes from the environment.
        folder: Where the binding's package is, for processes that start elsewhere.

    Raises:
        PlanexecError: BAD_CONTRACT if there is no such binding; PLAN_REJECTED if the journal has no such plan, or its
            bytes were altered.
    """
    binding = load_binding(task_ref, folder)
    journal = Journal(journal_name)
    try:
        plan = journal.load_plan(plan_digest)
    finally:
        journal.close()
    return compile_plan(binding, plan, plan_digest, journal_name)


def compile_plan(binding: TaskBinding, plan: Plan, digest: str, journal_name: str) -> dg.JobDefinition:
    """The job of a plan that is at hand. Raises as `job`."""
    return plan_graph(plan, binding.registry, name=job_name(binding.task), digest=digest, pool=binding.pool).to_job(
        resource_defs={"planexec": plan_run_resource(binding, digest, journal_name)},
        executor_def=binding.executor or dg.in_process_executor,
    )


def describe_plan(plan: Plan, registry: ToolRegistry, *, name: str) -> dg.JobDefinition:
    """The job of a plan whose tools are only described. It can be looked at; a run of it is refused before any step.

    Args:
        plan: E.g. the plan of a `ForeignPlan`.
        registry: E.g. what `read_catalogue` read.
        name: The job's name; where Dagster would refuse it, the nearest that it takes.

    Raises:
        PlanexecError: PLAN_REJECTED if the steps cannot be a job.
    """
    named = name if problem_of(name) is None else suggestion(name, "job")
    return plan_graph(plan, registry, name=named, digest=full_digest(plan)).to_job(
        resource_defs={"planexec": dg.ResourceDefinition(_only_described, description="Refuses every run.")},
        executor_def=dg.in_process_executor,
    )


def plan_graph(
    plan: Plan, registry: ToolRegistry, *, name: str, digest: str, pool: str | None = None
) -> dg.GraphDefinition:
    """The graph of a plan: each step as an alias of its tool's op, behind all steps it awaits or refers to.

    Raises:
        PlanexecError: PLAN_REJECTED if the steps cannot be a job; the checker finds the same, and says more.
    """
    _refuse_what_is_no_job(plan, registry)
    used = {step.tool for step in plan.steps}
    # The names are made of all tools and not of those in use: an op is called the same in every plan.
    ops = {tool: op_of(op, registry[tool].contract.description, pool)
           for tool, op in names_apart(registry, "tool").items() if tool in used}  # fmt: skip
    return dg.GraphDefinition(
        name=name,
        description=escaped(plan.intent),
        node_defs=[ops[tool] for tool in sorted(ops)],
        dependencies=dependencies(plan, digest, {tool: op.name for tool, op in ops.items()}),
    )


def dependencies(plan: Plan, digest: str, ops: Mapping[str, str]) -> Dependencies:
    """Each step behind all steps it awaits or refers to, as an alias of its tool's op; `ops` has their names."""
    needs = edges(plan)
    topological_order(needs)  # refuses a circle in our own words
    return {
        NodeInvocation(ops[step.tool], alias=step.id, tags=_tags(step, digest)): {
            "after": MultiDependencyDefinition([DependencyDefinition(name, "done") for name in needs[step.id]])
        }
        if needs[step.id]
        else {}
        for step in plan.steps
    }


def _tags(step: Step, digest: str) -> dict[str, str]:
    # Ids only, none of the plan's words: tags are copied, indexed and shown in many places.
    return {"planexec/tool": one_line(step.tool, 100), "planexec/step": step.id, "planexec/plan": digest[:8]}


def _refuse_what_is_no_job(plan: Plan, registry: ToolRegistry) -> None:
    """A plan that came past the checker gains no tool, and meets no error in Dagster's words."""
    known = frozenset(step.id for step in plan.steps)
    met: set[str] = set()
    for step in plan.steps:
        if step.id in met:
            _refuse(f"two steps have the id {step.id[:80]!a}")
        met.add(step.id)
        if step.tool not in registry:
            _refuse(f"step {step.id[:80]!a} names tool {step.tool[:80]!a}, which the task does not allow")
        problem = problem_of(step.id)
        if problem is not None:
            _refuse(f"step {step.id[:80]!a} cannot name an op: it {problem}")
        for name in (*step.depends_on, *(found.step for found in references(step))):
            if name not in known:
                _refuse(f"step {step.id[:80]!a} needs step {name[:80]!a}, which does not exist")


def _refuse(text: str) -> NoReturn:
    raise PlanexecError("PLAN_REJECTED", text, hint="check the plan: `planexec check`")


def _only_described(_: dg.InitResourceContext) -> NoReturn:
    raise PlanexecError(
        "BAD_CONTRACT", "the tools of this plan are only described; nothing carries them out",
        hint="register tools that can be called, and run the plan as that of a task",
    )  # fmt: skip
