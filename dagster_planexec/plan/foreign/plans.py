"""Plans that others wrote, as plans: `{plan_id, task, steps: [{id, tool, args, deps}]}`, one a line.

A value `{"$ref": "<step id>", "path": "<field>"}` is a reference. An id that cannot name an op gets a name that can;
`written` leads back. Whatever a line holds, it comes back as a plan or as the faults of its form, never as an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.foreign.json_lines import NotJson, Number, read_lines, what_to_do
from dagster_planexec.plan.model import MAX_DEPTH, MAX_STEPS, Plan
from dagster_planexec.plan.naming import names_apart
from dagster_planexec.plan.reference import as_reference

MAX_FAULTS = 100
"""Faults that are kept of one plan."""
_LONGEST_ID = 200
_LONGEST_INTENT = 4000
_SHOWN = 60
_REFERENCE = '{"$ref": "<step id>"}, or {"$ref": "<step id>", "path": "<field>"}'


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a line is no plan: something in its form."""

    step: str | None
    """The step's id as written; None if it is about the line, or the step has none."""
    field: str | None
    """The place: in the step if that is known by its id, else in the line, e.g. `steps[3].id`."""
    expected: str
    seen: str
    hint: str = "one plan a line: {plan_id, task, steps: [{id, tool, args, deps}]}"


@dataclass(frozen=True, slots=True)
class ForeignPlan:
    """One line of a file of plans."""

    line: int
    plan_id: str | None
    """What its author calls it; not necessarily unique."""
    plan: Plan | None
    """None if there are faults of form."""
    faults: tuple[Fault, ...] = ()
    written: Mapping[str, str] = field(default_factory=dict)
    """Ids in `plan` to the ids as they were written, where they differ."""


def read_plans(path: Path, *, task: str = "foreign", period: str = "") -> Iterator[ForeignPlan]:
    """Every plan of a JSON Lines file, one line at a time.

    Args:
        path: The file. Blank lines are passed over.
        task: The task the plans are then said to be for.
        period: The period they are then said to be for.

    Raises:
        PlanexecError: VALIDATION_ERROR if the file cannot be read, PLAN_REJECTED if it holds no line at all.
    """
    found = False
    try:
        for line in read_lines(path):
            found = True
            if line.fault is not None:
                fault = Fault(None, None, "one JSON object a line, of at most 1,000,000 bytes", line.fault)
                yield ForeignPlan(line.number, None, None, (fault,))
            else:
                yield import_plan(line.value, line=line.number, task=task, period=period)
    except OSError as error:
        raise PlanexecError(
            "VALIDATION_ERROR", f"the plans in {str(path)[:300]} cannot be read: {error.strerror or error}",
            hint=what_to_do(error, "a file of JSON Lines, one plan a line"),
        ) from error  # fmt: skip
    if not found:
        raise PlanexecError(
            "PLAN_REJECTED",
            f"{str(path)[:300]} holds no plan",
            hint="one plan a line: {plan_id, task, steps: [{id, tool, args, deps}]}",
        )


def import_plan(record: object, *, line: int = 1, task: str = "foreign", period: str = "") -> ForeignPlan:
    """One plan from its record, as `json.loads` gives it.

    Args:
        record: `{plan_id, task, steps}`; whatever else is in it is not looked at.
        line: Where it stood.
        task: The task the plan is then said to be for.
        period: The period it is then said to be for.

    Returns:
        The plan, or every fault of its form.
    """
    reader = _Reader()
    if not isinstance(record, Mapping):
        reader.fault(None, None, "a JSON object", _shown(record))
        return ForeignPlan(line, None, None, tuple(reader.faults))
    plan_id = record.get("plan_id")
    if plan_id is not None and not (isinstance(plan_id, str) and len(plan_id) <= _LONGEST_ID):
        reader.fault(None, "plan_id", f"a string of at most {_LONGEST_ID} characters", _shown(plan_id))
        plan_id = None
    steps = reader.steps(record.get("steps"))
    if reader.faults:
        return ForeignPlan(line, plan_id, None, tuple(reader.faults))
    names = names_apart(reader.mentioned)
    said = record.get("task")
    data = {
        "task": task,
        "period": period,
        # The request in words does nothing: it is cut rather than refused.
        "intent": said[:_LONGEST_INTENT].encode(errors="replace").decode() if isinstance(said, str) else "",
        "steps": [
            {
                "id": names[step["id"]],
                "tool": step["tool"],
                "args": {name: _converted(value, names) for name, value in step["args"].items()},
                "depends_on": [names[name] for name in step["deps"]],
            }
            for step in steps
        ],
    }
    written = {name: word for word, name in names.items() if name != word}
    try:
        return ForeignPlan(line, plan_id, Plan.model_validate(data), (), written)
    except ValidationError as error:
        for item in error.errors(include_url=False, include_context=False):
            reader.refused(item["loc"], item["msg"], item["input"], steps)
        return ForeignPlan(line, plan_id, None, tuple(reader.faults))


class _Reader:
    """Reads the steps of one record, and notes what is wrong with them and which steps they name."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        self.mentioned: dict[str, None] = {}

    def fault(self, step: str | None, field: str | None, expected: str, seen: str, **more: str) -> None:
        if len(self.faults) < MAX_FAULTS:
            self.faults.append(Fault(step, field, expected, seen, **more))

    def steps(self, steps: object) -> list[dict[str, Any]]:
        """The steps with all four parts, as far as they have their form."""
        if not isinstance(steps, list | tuple):
            self.fault(None, "steps", "a list of steps", _shown(steps))
            return []
        if len(steps) > MAX_STEPS:
            self.fault(None, "steps", f"at most {MAX_STEPS:,} steps", f"{len(steps):,} steps")
            return []
        for at, step in enumerate(steps):
            if isinstance(step, Mapping):
                self._id(step.get("id"), at)
            else:
                self.fault(None, f"steps[{at}]", "an object with id, tool, args and deps", _shown(step))
        return [self._step(step, at) for at, step in enumerate(steps) if isinstance(step, Mapping)]

    def _id(self, step_id: object, at: int) -> None:
        if isinstance(step_id, str):
            self.mentioned[step_id] = None
        else:
            self.fault(None, f"steps[{at}].id", "a string", _shown(step_id))

    def _step(self, step: Mapping[str, Any], at: int) -> dict[str, Any]:
        step_id = step["id"] if isinstance(step.get("id"), str) else None
        within = "" if step_id is not None else f"steps[{at}]."
        tool, args, deps = step.get("tool"), step.get("args", {}), step.get("deps", ())
        if not isinstance(tool, str):
            self.fault(step_id, f"{within}tool", "the name of a tool", _shown(tool))
        if not isinstance(args, Mapping):
            self.fault(step_id, f"{within}args", "an object of arguments", _shown(args))
        elif "$ref" in args:
            self.fault(step_id, f"{within}args", "named arguments; a reference is the value of one", "a reference")
        else:
            for name, value in args.items():
                self._value(step_id, f"{within}args.{name if isinstance(name, str) else _shown(name)}", value, 2)
        if not isinstance(deps, list | tuple):
            self.fault(step_id, f"{within}deps", "a list of step ids", _shown(deps))
        else:
            for number, name in enumerate(deps):
                self._mention(step_id, f"{within}deps[{number}]", "a step id", name)
        return {"id": step_id, "tool": tool, "args": args, "deps": deps}

    def _mention(self, step_id: str | None, field: str, expected: str, name: object) -> None:
        if isinstance(name, str):
            self.mentioned[name] = None
        else:
            self.fault(step_id, field, expected, _shown(name))

    def _value(self, step_id: str | None, field: str, value: object, depth: int) -> None:
        """Note what is wrong with an argument, and the steps it refers to."""
        if depth > MAX_DEPTH:
            self.fault(step_id, field[:_LONGEST_ID], f"at most {MAX_DEPTH} levels of nesting", "more")
        elif isinstance(value, NotJson):
            self.fault(step_id, field, value.expected, value.seen)
        elif isinstance(value, float) and not math.isfinite(value):
            self.fault(step_id, field, "a number", _shown(value))
        elif isinstance(value, str):
            if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
                self.fault(step_id, field, "whole characters", f"{_shown(value)}, an unpaired surrogate")
        elif isinstance(value, list | tuple):
            for at, child in enumerate(value):
                self._value(step_id, f"{field}[{at}]", child, depth + 1)
        elif isinstance(value, Mapping):
            if "$ref" in value:
                path = value.get("path")
                if not set(value) <= {"$ref", "path"} or not (path is None or isinstance(path, str)):
                    self.fault(step_id, field, _REFERENCE, _shown(value))
                self._mention(step_id, field, _REFERENCE, value["$ref"])
            elif as_reference(value) is not None:
                self.fault(
                    step_id, field, "a value that does not read as a reference", f'{{"ref": {_shown(value["ref"])}}}',
                    hint='a lone "ref" refers to a step\'s result here: write {"$ref": "<step id>"} if it is meant so, '
                    "else give the value as text",
                )  # fmt: skip
            else:
                for key, child in value.items():
                    self._value(step_id, f"{field}.{key}", child, depth + 1)

    def refused(self, loc: tuple[int | str, ...], message: str, seen: object, steps: list[dict[str, Any]]) -> None:
        """Note what the limits of a plan refuse."""
        step_id = steps[loc[1]]["id"] if len(loc) > 1 and isinstance(loc[1], int) else None
        place = loc[2:] if step_id is not None else loc
        parts = ["deps" if part == "depends_on" else part for part in place]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).removeprefix(".")
        self.fault(step_id, where or None, message, _shown(seen))


def _converted(value: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON
    """The value as plans write it: references in our form, fractions as exact decimal text."""
    if isinstance(value, Mapping):
        if "$ref" in value:
            step, path = names[value["$ref"]], value.get("path")
            return {"ref": f"{step}.{path}" if path else step}
        return {key: _converted(child, names) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_converted(child, names) for child in value]
    if isinstance(value, float):
        return Number(repr(value))
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return Number(f"{value:d}") if value.bit_length() < _PRINTABLE_BITS else value  # the plan refuses it
    return value


_PRINTABLE_BITS = 14_000
"""Longer integers Python does not turn into text."""


def _shown(value: object) -> str:
    """Foreign data in a few words."""
    match value:
        case NotJson():
            return value.seen
        case None:
            return "nothing"
        case str() if len(value) > _SHOWN:
            return f"{value[:_SHOWN]!a}... ({len(value):,} characters)"
        case str() | bool() | float():
            return ascii(value)
        case int():
            return f"{value}" if value.bit_length() < _PRINTABLE_BITS else "a very long integer"
        case Mapping():
            return f"an object of {len(value)}"
        case list() | tuple():
            return f"a list of {len(value)}"
        case _:
            return f"a {type(value).__name__}"
