"""A plan as a model writes it: typed steps, each a tool with arguments, dependencies and claims. Immutable."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from dagster_planexec.errors import PlanexecError

Json: TypeAlias = "str | int | bool | list[Json] | dict[str, Json] | None"
"""Plain data without floats: a plan that needs a fraction writes it as a decimal string."""

MAX_PLAN_BYTES = 1_000_000
"""A plan is a few kB; more than this is not read at all."""
MAX_STEPS = 5_000
"""Steps of any plan at most; a task allows far fewer."""
MAX_DEPTH = 32
"""Levels of nesting of an argument. Real ones have three; digests and references recurse, hence a bound."""
_MAX_INTEGER = 2**63


def _plain(args: dict[str, Any]) -> dict[str, Any]:
    """Refuse what is not plain JSON: then every digest, reference and report can be made of what is left."""
    pending: list[tuple[Any, int]] = [(args, 1)]
    while pending:
        value, depth = pending.pop()
        if depth > MAX_DEPTH:
            msg = f"nested deeper than {MAX_DEPTH} levels"
            raise ValueError(msg)
        if isinstance(value, dict):
            if not all(isinstance(key, str) for key in value):
                msg = "an object has a key that is not a string"
                raise ValueError(msg)
            pending.extend((key, depth) for key in value)
            pending.extend((child, depth + 1) for child in value.values())
        elif isinstance(value, list | tuple):
            pending.extend((child, depth + 1) for child in value)
        elif isinstance(value, str):
            if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
                msg = "a string holds half a character (an unpaired surrogate)"
                raise ValueError(msg)
        elif value is not None and not (isinstance(value, int) and -_MAX_INTEGER <= value < _MAX_INTEGER):
            msg = f"a value is a {type(value).__name__} that JSON integers, strings and booleans cannot hold"
            raise ValueError(msg)
    return args


Args = Annotated[dict[str, Any], AfterValidator(_plain)]


def _is_not(value: object) -> bool:
    """A plan that says `false` and one that says nothing are one plan, with one digest."""
    return not value


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Claim(_Closed):
    """A success criterion of a step: the name of a check that must pass, and what it may be given."""

    claim: str = Field(max_length=100)
    args: Args = Field(default_factory=dict)
    """Parameters of the check. They can only make it stricter."""


class Expectation(_Closed):
    """A typed statement about the world that the plan relies on; a prose assumption is not one."""

    about: str = Field(max_length=200)
    """`drop`, `input:<name>`, the name of a watched thing, `step:<id>`: what is declared, never a free path."""
    measure: str = Field(max_length=100)
    """`objects`, `bytes`, `rows`, `columns`: closed vocabulary, see `checks.expectation_words`."""
    op: Literal["==", "!=", "<", "<=", ">", ">="]
    value: int | str


class Step(_Closed):
    """One call of one tool."""

    id: str = Field(max_length=200)
    tool: str = Field(max_length=200)
    args: Args = Field(default_factory=dict)
    """Literals, references `{"ref": "<step>.<field>"}`, or in pinned plans parameters `{"param": "<name>"}`."""
    depends_on: tuple[str, ...] = Field(default=(), strict=False, max_length=MAX_STEPS)
    claims: tuple[Claim, ...] = Field(default=(), strict=False, max_length=100)
    rationale: str = Field(default="", max_length=2000)
    checkpoint: bool = Field(default=False, exclude_if=_is_not)
    """The plan ends here for now: after this step the planner is shown what was seen, and writes the next steps."""


class Plan(_Closed):
    """What was proposed for one task and one period."""

    task: str = Field(max_length=200)
    period: str = Field(max_length=40)
    intent: str = Field(default="", max_length=4000)
    expects: tuple[Expectation, ...] = Field(default=(), strict=False, max_length=200)
    steps: tuple[Step, ...] = Field(strict=False, max_length=MAX_STEPS)

    def step(self, step_id: str) -> Step:
        """The first step of that id.

        Raises:
            KeyError: There is none.
        """
        for step in self.steps:
            if step.id == step_id:
                return step
        raise KeyError(step_id)


def parse_plan(raw: bytes | str) -> Plan:
    """Read a plan from its JSON text.

    Raises:
        PlanexecError: PLAN_REJECTED with every place where the text is not a plan, bounded and quoted.
    """
    try:
        return Plan.model_validate(read_json(raw))
    except ValidationError as error:
        where = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])[:80] or 'plan'}: {item['msg'][:120]}"
            for item in error.errors(include_url=False, include_input=False)[:10]
        )
        raise PlanexecError("PLAN_REJECTED", f"not a plan: {where}", hint=_HINT) from error


def read_json(raw: bytes | str) -> Any:  # noqa: ANN401 - any JSON
    """JSON as plans and recordings are read: bounded, without floats, no key twice in one object.

    Raises:
        PlanexecError: PLAN_REJECTED if it is not such JSON.
    """
    if len(raw) > MAX_PLAN_BYTES:
        raise PlanexecError("PLAN_REJECTED", f"the plan has {len(raw)} bytes; at most {MAX_PLAN_BYTES} are read")
    try:
        return json.loads(raw, parse_float=_no_float, parse_constant=_no_float, object_pairs_hook=_no_duplicate_keys)
    except (ValueError, RecursionError) as error:
        raise PlanexecError("PLAN_REJECTED", f"not a plan: {str(error)[:200]}", hint=_HINT) from error


_HINT = "a plan is one JSON object with task, period, intent, expects and steps; see README.md, 'The plan'"


def _no_float(text: str) -> Any:  # noqa: ANN401 - never returns
    msg = f"the number {text[:20]} is not an integer; write amounts as decimal strings"
    raise ValueError(msg)


def _no_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            msg = f"the key {key[:40]!r} occurs twice in one object"
            raise ValueError(msg)
        out[key] = value
    return out


def as_json(plan: Plan) -> dict[str, Any]:
    """The plan as plain data, in the order of its fields."""
    data = plan.model_dump(mode="json")
    return dict(data)


def walk(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - plan arguments are any JSON
    """Every node of an argument value with its path (`sources[0].ref`), parents before children."""
    yield path, value
    if isinstance(value, Mapping):
        for key, child in value.items():
            yield from walk(child, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, child in enumerate(value):
            yield from walk(child, f"{path}[{index}]")
