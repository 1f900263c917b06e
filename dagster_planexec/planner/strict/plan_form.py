"""The strict schema of a task's plans, and plans to its form and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from dagster_planexec.checks.expectation_words import measures
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.model import Expectation, Plan, as_json
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.strict.arguments import form_of
from dagster_planexec.planner.strict.forms import (
    DEFINITIONS,
    OPEN,
    Form,
    NotOfThisFormError,
    closed,
    listed,
)
from dagster_planexec.planner.strict.limits import size_of
from dagster_planexec.planner.strict.values import plain_arguments, strict_arguments

VERSION = "1"
"""Of the way plans are said strictly; another version is another recipe of a planner."""
_TEXT = {"type": "string"}
_OPERATORS = list(get_args(Expectation.model_fields["op"].annotation))


def claimable(request: PlanRequest, tool: str) -> tuple[str, ...]:
    """The checks that a step of this tool may claim, in the order of contract and task."""
    contract = request.tools[tool].contract
    required = request.task.required_claims.get(tool, ())
    return tuple(dict.fromkeys((*contract.preconditions, *contract.postconditions, *required)))


def allowed(request: PlanRequest) -> tuple[str, ...]:
    """The tools that the task allows and that are there, in the order of the task."""
    return tuple(name for name in request.task.tools if name in request.tools)


@dataclass(frozen=True, slots=True)
class PlanForm:
    """How a plan for one request is said strictly."""

    task: str
    period: str
    tools: Mapping[str, Form]
    """Tool to the form of its arguments."""
    claims: Mapping[str, tuple[str, ...]]
    """Tool to the checks a step of it may claim; none: the name is not bounded."""
    expected: Mapping[str, tuple[str, ...]]
    """What something may be expected of, and what of it."""
    checkpoints: bool

    def schema(self) -> dict[str, Any]:
        """The JSON schema, for `response_format`."""
        steps = [self._step(tool, form) for tool, form in self.tools.items()]
        plan = {
            "task": {"type": "string", "enum": [self.task]},
            "period": {"type": "string", "enum": [self.period]},
            "intent": _TEXT,
            "expects": listed(self._expectation()),
            "steps": listed({"anyOf": steps}),
        }
        return {**closed(plan), "$defs": DEFINITIONS}

    def _step(self, tool: str, form: Form) -> dict[str, Any]:
        names = self.claims.get(tool, ())
        claim = {"type": "string", "enum": [*names]} if names else _TEXT
        named_json = {"$ref": "#/$defs/pair"}
        args = form.as_object() if form.kind == "object" else listed(named_json)
        fields = {
            "tool": {"type": "string", "enum": [tool]},  # first: by it the service tells the steps apart
            "id": _TEXT,
            "args": args,
            "depends_on": listed(_TEXT),
            "claims": listed(closed({"claim": claim, "args": listed(named_json)})),
            "rationale": _TEXT,
        }
        return closed({**fields, "checkpoint": {"type": "boolean"}} if self.checkpoints else fields)

    def _expectation(self) -> dict[str, Any]:
        abouts = {"type": "string", "enum": [*self.expected]} if self.expected else _TEXT
        known = sorted({measure for names in self.expected.values() for measure in names})
        return closed(
            {
                "about": abouts,
                "measure": {"type": "string", "enum": known} if known else _TEXT,
                "op": {"type": "string", "enum": _OPERATORS},
                "value": {"anyOf": [{"type": "integer"}, _TEXT]},
            }
        )

    def strict(self, plan: Plan) -> dict[str, Any]:
        """The plan as a strict answer says it. An optional argument that is null there is one that is left out.

        Raises:
            NotOfThisFormError: A strict answer cannot say it, e.g. because of an unknown tool.
        """
        data = as_json(plan)
        _expect("task", self.task, data["task"])
        _expect("period", self.period, data["period"])
        for at, expectation in enumerate(data["expects"]):
            for name, known in self._bounded_words():
                if known and expectation[name] not in known:
                    raise NotOfThisFormError(f"one of {', '.join(known)[:200]}", ("expects", str(at), name))
        return {**data, "steps": [self._strict_step(at, step) for at, step in enumerate(data["steps"])]}

    def _bounded_words(self) -> tuple[tuple[str, list[str]], ...]:
        known = sorted({measure for names in self.expected.values() for measure in names})
        return ("about", [*self.expected]), ("measure", known)

    def _strict_step(self, at: int, step: dict[str, Any]) -> dict[str, Any]:
        where = ("steps", str(at))
        form = self.tools.get(step["tool"])
        if form is None:
            raise NotOfThisFormError(f"one of {', '.join(self.tools)[:200]}", (*where, "tool"))
        if step.get("checkpoint") and not self.checkpoints:
            raise NotOfThisFormError("no checkpoint: the task allows none", (*where, "checkpoint"))
        names = self.claims.get(step["tool"], ())
        for number, claim in enumerate(step["claims"]):
            if names and claim["claim"] not in names:
                raise NotOfThisFormError(f"one of {', '.join(names)[:200]}", (*where, "claims", str(number)))
        try:
            args = strict_arguments(form, step["args"])
        except NotOfThisFormError as error:
            raise NotOfThisFormError(error.expected, (*where, "args", *error.where)) from error
        out = {
            "tool": step["tool"], "id": step["id"], "args": args, "depends_on": step["depends_on"],
            "claims": [{"claim": c["claim"], "args": strict_arguments(OPEN, c["args"])} for c in step["claims"]],
            "rationale": step["rationale"],
        }  # fmt: skip
        return {**out, "checkpoint": bool(step.get("checkpoint"))} if self.checkpoints else out

    def plain(self, answer: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        """A strict answer as the plain data of a plan, which `parse_plan` has still to judge.

        Raises:
            NotOfThisFormError: It is not of the strict form.
        """
        data = _fields(answer, {"task", "period", "intent", "expects", "steps"}, ())
        if not isinstance(data["steps"], list):
            raise NotOfThisFormError("a list", ("steps",))
        return {**data, "steps": [self._plain_step(at, step) for at, step in enumerate(data["steps"])]}

    def _plain_step(self, at: int, step: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
        where = ("steps", str(at))
        names = {"tool", "id", "args", "depends_on", "claims", "rationale"}
        data = _fields(step, names | {"checkpoint"} if self.checkpoints else names, where)
        form = self.tools.get(data["tool"]) if isinstance(data["tool"], str) else None
        if form is None:
            raise NotOfThisFormError(f"one of {', '.join(self.tools)[:200]}", (*where, "tool"))
        try:
            args = plain_arguments(form, data["args"])
        except NotOfThisFormError as error:
            raise NotOfThisFormError(error.expected, (*where, "args", *error.where)) from error
        if not isinstance(data["claims"], list):
            raise NotOfThisFormError("a list", (*where, "claims"))
        claims = []
        for number, claim in enumerate(data["claims"]):
            said = _fields(claim, {"claim", "args"}, (*where, "claims", str(number)))
            try:
                claims.append({**said, "args": plain_arguments(OPEN, said["args"])})
            except NotOfThisFormError as error:
                raise NotOfThisFormError(error.expected, (*where, "claims", str(number), "args")) from error
        return {**data, "args": args, "claims": claims}


def plan_form(request: PlanRequest) -> PlanForm:
    """The strict form of plans for a request.

    Arguments are said by their own types; where that is more than the service takes, all of them are named JSON values.

    Raises:
        PlanexecError: BAD_CONTRACT if the task allows no tool that is there, or too many for any strict schema.
    """
    tools = allowed(request)
    if not tools:
        raise PlanexecError(
            "BAD_CONTRACT", f"task {request.task.name!r} allows no tool that is registered: no plan can be written",
            hint="name the tools in the task, and give them to its binding",
        )  # fmt: skip
    # With a tool that can measure, a step of any id may be what is expected of, so the names are not bounded.
    measuring = any(request.tools[name].contract.measures for name in tools)
    exact = PlanForm(
        request.task.name, request.period.text, {name: form_of(request.tools[name].contract.args) for name in tools},
        {name: claimable(request, name) for name in tools}, {} if measuring else measures(request.task),
        bool(getattr(request.task, "checkpoints", False)),
    )  # fmt: skip
    if size_of(exact.schema()).beyond is None:
        return exact
    coarse = PlanForm(exact.task, exact.period, dict.fromkeys(tools, OPEN), {}, {}, exact.checkpoints)
    beyond = size_of(coarse.schema()).beyond
    if beyond is not None:
        raise PlanexecError(
            "BAD_CONTRACT", f"the {len(tools)} tools of task {request.task.name!r} make a strict schema of {beyond}",
            hint="allow fewer tools in the task",
        )  # fmt: skip
    return coarse


def _expect(field: str, wanted: str, seen: str) -> None:
    if seen != wanted:
        raise NotOfThisFormError(repr(wanted), (field,))


def _fields(value: Any, names: set[str], where: tuple[str, ...]) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    if not isinstance(value, dict) or set(value) != names:
        raise NotOfThisFormError(f"an object with exactly {', '.join(sorted(names))}", where)
    return dict(value)
