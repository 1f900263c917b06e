"""Edits that code makes to a refused plan before a model is asked to repair it: only what cannot change its meaning.

There is one: a step waits for a step listed before it whose result it refers to. The reference says so already and the
compiler orders the two by it anyway, so the dependency only writes down what holds.

Everything else that looks mechanical is somebody's guess, and guesses belong to the planner and its repair turn: a tool
or an argument with one near name may mean another one; a dependency on a step that does not exist, or on itself, may
be a misspelt one on a step that does; a reference to a later step may be meant for another, or the order be wrong; a
repeated id leaves open which of the two a reference means. Tools, arguments, claims, expectations and money are never
touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from dagster_planexec.checks.static.rule import StaticFinding
from dagster_planexec.plan.diff import Edit, Keep, diff
from dagster_planexec.plan.model import Plan, Step


def mechanical_edits(findings: Iterable[StaticFinding], plan: Plan) -> tuple[Plan, tuple[Edit, ...]]:
    """The plan with every finding corrected that code can correct, and what that changed; the same plan if none.

    Args:
        findings: What the static check found in this plan.
        plan: The plan.

    Returns:
        The plan, and its differences to what was given, as `plan.diff` has them.
    """
    times = Counter(step.id for step in plan.steps)
    listed = {step.id: at for at, step in enumerate(plan.steps)}
    added: dict[str, list[str]] = {}
    for finding in findings:
        fix = finding.fix
        # An id that occurs twice names nothing: which of the two waits, or is waited for, is not for code to say.
        if fix is not None and times[fix.step] == times[fix.on] == 1 and listed[fix.on] < listed[fix.step]:
            added.setdefault(fix.step, []).append(fix.on)
    if not added:
        return plan, ()
    edited = plan.model_copy(update={"steps": tuple(_waiting_for(step, added.get(step.id, ())) for step in plan.steps)})
    return edited, tuple(edit for edit in diff(plan, edited) if not isinstance(edit, Keep))


def _waiting_for(step: Step, more: Iterable[str]) -> Step:
    new = [name for name in dict.fromkeys(more) if name not in step.depends_on]
    return step.model_copy(update={"depends_on": (*step.depends_on, *new)}) if new else step
