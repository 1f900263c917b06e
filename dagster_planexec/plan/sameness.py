"""Whether two plans do the same, whatever their steps are called, in whichever order they are listed."""

from __future__ import annotations

from typing import Any

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.digest import digest_of, semantic_digest
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.plan.reference import Reference, resolve

_ABOUT_STEP = "step:"


def deeds_digest(plan: Plan) -> str:
    """What a plan does, as one word: equal for plans that differ in ids, in listed order or in words only.

    Every step is named by what it does to what: its tool, arguments and claims, with each reference and dependency
    replaced by the name, so made, of the step that it leads to. A plan whose steps have no order is named by its text.
    """
    try:
        needs = edges(plan)
        order = topological_order(needs)
    except PlanexecError:
        return semantic_digest(plan)
    by_id = {step.id: step for step in plan.steps}
    names: dict[str, str] = {}
    for step_id in order:
        names[step_id] = _deed(by_id[step_id], needs[step_id], names)
    expects = [expectation.model_dump(mode="json") for expectation in plan.expects]
    for expectation in expects:
        about = expectation["about"]
        if about.startswith(_ABOUT_STEP):
            expectation["about"] = _ABOUT_STEP + names.get(about.removeprefix(_ABOUT_STEP), about)
    return digest_of(
        {
            "task": plan.task, "period": plan.period, "expects": sorted(digest_of(e) for e in expects),
            # Sorted and not a set: to do a thing twice is not to do it once.
            "steps": sorted(names[step.id] for step in plan.steps),
        }
    )  # fmt: skip


def _deed(step: Step, needs: Any, names: dict[str, str]) -> str:  # noqa: ANN401 - ids
    def named(found: Reference) -> dict[str, str]:
        return {"ref": f"{names.get(found.step, found.step)}.{found.field}"}

    return digest_of(
        {
            "tool": step.tool, "args": resolve(step.args, named), "checkpoint": step.checkpoint,
            "after": sorted({names.get(name, name) for name in needs}),
            "claims": sorted(digest_of(claim.model_dump(mode="json")) for claim in step.claims),
        }
    )  # fmt: skip
