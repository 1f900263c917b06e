"""Whatever plan the compiler is given, it makes the job that the plan says, or refuses it in our own words."""

from __future__ import annotations

import json
from typing import Any

import dagster as dg
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.checks.static.static_check import check_foreign, check_structure, is_rejected
from dagster_planexec.compiler.job import describe_plan
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.foreign.plans import import_plan
from dagster_planexec.plan.graph import edges
from dagster_planexec.plan.model import Plan, parse_plan
from tests.support.random_plans import CATALOGUES, PLANS, broken_flagships, foreign_plans
from tests.support.toolbox import REGISTRY

BOUNDED = settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def compiled(plan: Plan, tools: ToolRegistry) -> dg.JobDefinition | None:
    """The job, if it is one; a refusal must be a rejection of the plan."""
    try:
        job = describe_plan(plan, tools, name="any")
    except PlanexecError as error:
        if error.code != "PLAN_REJECTED":
            raise
        return None
    waits = {
        node.name: {
            source.node.name
            for sources in job.graph.dependency_structure.input_to_upstream_outputs_for_node(node.name).values()
            for source in sources
        }
        for node in job.graph.nodes
    }
    assert waits == {name: set(needed) for name, needed in edges(plan).items()}
    return job


@given(PLANS | broken_flagships())
@BOUNDED
def test_a_plan_is_its_job_or_refused(data: dict[str, Any]) -> None:
    """A node for each step and an edge for each need, always where the checker has nothing to say."""
    try:
        plan = parse_plan(json.dumps(data))
    except PlanexecError:
        return
    job = compiled(plan, REGISTRY)
    assert job is not None or is_rejected(check_structure(plan, REGISTRY))


@given(st.data())
@BOUNDED
def test_a_foreign_plan_is_its_job_or_refused(data: st.DataObject) -> None:
    """Whatever its ids and its tools are called."""
    tools = data.draw(CATALOGUES)
    foreign = import_plan(data.draw(foreign_plans(tools)))
    if foreign.plan is None:
        return
    job = compiled(foreign.plan, tools)
    assert job is not None or is_rejected(check_foreign(foreign, tools))
