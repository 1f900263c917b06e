"""(task, plan) -> job: one op per step, in the order of the plan's graph. The same plan gives the same job anywhere."""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg
from dagster import DependencyDefinition, MultiDependencyDefinition, NodeInvocation

from dagster_planexec.compiler.binding import TaskBinding, load_binding
from dagster_planexec.compiler.markup import escaped
from dagster_planexec.compiler.ops import op_name, op_of
from dagster_planexec.compiler.plan_run import plan_run_resource
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import ToolContract
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.plan.model import Plan, Step

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
    contracts = _contracts(binding, plan)
    pool = binding.pool
    ops = {name: op_of(name, contract.description, pool) for name, contract in contracts.items()}
    return dg.GraphDefinition(
        name=job_name(binding.task),
        description=escaped(plan.intent),
        node_defs=[ops[name] for name in sorted(ops)],
        dependencies=dependencies(plan, digest),
    ).to_job(
        resource_defs={"planexec": plan_run_resource(binding, digest, journal_name)},
        executor_def=binding.executor or dg.in_process_executor,
    )


def dependencies(plan: Plan, digest: str) -> Dependencies:
    """Each step as an alias of its tool's op, behind all steps it awaits or refers to."""
    needs = edges(plan)
    topological_order(needs)  # refuses a circle in our own words
    return {
        NodeInvocation(op_name(step.tool), alias=step.id, tags=_tags(step, digest)): {
            "after": MultiDependencyDefinition([DependencyDefinition(name, "done") for name in needs[step.id]])
        }
        if needs[step.id]
        else {}
        for step in plan.steps
    }


def _tags(step: Step, digest: str) -> dict[str, str]:
    # Ids only, none of the plan's words: tags are copied, indexed and shown in many places.
    return {"planexec/tool": step.tool, "planexec/step": step.id, "planexec/plan": digest[:8]}


def _contracts(binding: TaskBinding, plan: Plan) -> dict[str, ToolContract]:
    registry = binding.registry
    contracts: dict[str, ToolContract] = {}
    names: dict[str, str] = {}
    for step in plan.steps:
        tool = registry.get(step.tool)
        if tool is None:
            raise PlanexecError(
                "PLAN_REJECTED", f"step {step.id[:80]!r} names tool {step.tool[:80]!r}, which the task does not allow",
                hint="check the plan: `planexec check`",
            )  # fmt: skip
        if names.setdefault(op_name(step.tool), step.tool) != step.tool:
            raise PlanexecError(
                "BAD_CONTRACT", f"tools {step.tool!r} and {names[op_name(step.tool)]!r} would be one op",
                hint="rename one of them",
            )  # fmt: skip
        contracts[step.tool] = tool.contract
    return contracts
