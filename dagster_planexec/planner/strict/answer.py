"""Reads a model's answer back into a plan: the strict form that was asked for, or a plan as it stands."""

from __future__ import annotations

import json
import re

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.model import Plan, parse_plan, read_json
from dagster_planexec.planner.strict.forms import NotOfThisFormError
from dagster_planexec.planner.strict.plan_form import PlanForm

INVALID = "ANSWER_INVALID"
_FENCED = re.compile(r"\A\s*```[a-zA-Z]*[ \t]*\r?\n(.*?)\r?\n?```\s*\Z", re.DOTALL)
_FENCE = "```"
_WRAPPED = ("plan", "answer")
"""What `planexec show` prints and a recording holds wrap the plan."""


def read_answer(text: str, form: PlanForm) -> Plan:
    """The plan that a model's answer holds. Whether it may run is another question.

    A fence of backquotes is taken off, with the words around it, if there is one and no other: models that are not held
    to a schema add both.

    Raises:
        PlanexecError: ANSWER_INVALID with what it is not, bounded and quoted.
    """
    try:
        data = read_json(_inside_the_fence(text))
    except PlanexecError as error:
        raise _invalid(f"it is not JSON: {error.message.removeprefix('not a plan: ')}") from error
    if isinstance(data, dict) and "steps" not in data:
        data = next((data[name] for name in _WRAPPED if name in data), data)
    try:
        plain = form.plain(data)
    except NotOfThisFormError as error:
        not_strict = str(error)[:300]
    else:
        return _parsed(plain, "")
    # A server that cannot be held to a schema, or a person, may have written the plan as it is stored.
    return _parsed(data, f"; nor is it of the form that was asked for: {not_strict}")


def _inside_the_fence(text: str) -> str:
    """What stands inside the one fence of the text, or the text where there is none, or several."""
    whole = _FENCED.match(text)
    if whole:
        return whole[1]
    lines = text.splitlines()
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith(_FENCE)]
    if len(fences) != 2:  # noqa: PLR2004 - one that opens, one that closes
        return text
    return "\n".join(lines[fences[0] + 1 : fences[1]])


def _parsed(data: object, more: str) -> Plan:
    try:
        return parse_plan(json.dumps(data))
    except PlanexecError as error:
        raise _invalid(f"it is {error.message}{more}") from error


def _invalid(why: str) -> PlanexecError:
    return PlanexecError(INVALID, f"the answer cannot be read: {why}"[:1_500])
