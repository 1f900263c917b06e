"""The strict schema keeps the published limits, and plans go to its form and back unchanged."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import Enum
from typing import Annotated, Any, Literal

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, create_model

from assets.council_spend.task import TASK as COUNCIL
from assets.vendor_reconciliation.task import TASK as FLAGSHIP
from dagster_planexec.contract.reconcile.spec import ReconcileSpec
from dagster_planexec.contract.tool import Model, TableName, ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.model import Plan, parse_plan
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.strict.answer import read_answer
from dagster_planexec.planner.strict.arguments import form_of
from dagster_planexec.planner.strict.forms import ANY, NotOfThisFormError
from dagster_planexec.planner.strict.plan_form import PlanForm, plan_form
from dagster_planexec.planner.strict.values import plain_arguments, strict_arguments
from dagster_planexec.tools import BUILTIN_TOOLS
from dagster_planexec.world.period import Period
from tests.support.random_plans import CATALOGUES, PLANS, broken_flagships
from tests.support.strict_limits import faults
from tests.support.toolbox import REGISTRY, TASK, TableResult, flagship, flagship_json, idle_tool

MARCH = Period.parse("2026-03", "month")
REQUEST = PlanRequest(TASK, MARCH, REGISTRY)
FORM = plan_form(REQUEST)
BUILTIN = ToolRegistry(BUILTIN_TOOLS)


def request_for(*tools: Any) -> PlanRequest:
    """A task that allows exactly these tools."""
    registry = ToolRegistry(tools)
    return PlanRequest(replace(TASK, tools=tuple(registry)), MARCH, registry)


def request_of(args: type[Model]) -> PlanRequest:
    """A task with one tool that takes these arguments."""
    return request_for(idle_tool("tool", args, TableResult))


@pytest.mark.parametrize(
    "request_",
    [
        PlanRequest(FLAGSHIP, FLAGSHIP.period("2026-03"), BUILTIN),
        PlanRequest(COUNCIL, COUNCIL.period(COUNCIL.first_period), BUILTIN),
        REQUEST,
        *(
            PlanRequest(replace(FLAGSHIP, tools=(name,), reconciliation=ReconcileSpec()), MARCH, BUILTIN)
            for name in BUILTIN
        ),
    ],
    ids=["flagship", "council", "toolbox", *BUILTIN],
)
def test_the_schema_keeps_the_published_limits(request_: PlanRequest) -> None:
    """Of both examples and of every tool that ships."""
    schema = plan_form(request_).schema()

    assert faults(schema) == []
    jsonschema.Draft202012Validator.check_schema(schema)


def test_the_tool_comes_first_and_tells_the_steps_apart() -> None:
    """One option per tool, each with one word as its first field."""
    options = FORM.schema()["properties"]["steps"]["items"]["anyOf"]

    assert [next(iter(option["properties"].items())) for option in options] == [
        ("tool", {"type": "string", "enum": [name]}) for name in TASK.tools if name in REGISTRY
    ]


def test_tools_that_the_task_does_not_allow_are_not_in_the_schema() -> None:
    """A registered one is not enough."""
    assert "warehouse.drop_schema" in REGISTRY
    assert "warehouse.drop_schema" not in json.dumps(FORM.schema())


def test_checkpoints_are_in_the_schema_of_tasks_that_allow_them() -> None:
    """And nowhere else."""
    with_checkpoints = replace(FORM, checkpoints=True)
    plan = flagship_json()
    plan["steps"] = [{**plan["steps"][0], "checkpoint": True}]

    assert "checkpoint" not in json.dumps(FORM.schema())
    assert faults(with_checkpoints.schema()) == []
    assert parse_plan(json.dumps(with_checkpoints.plain(with_checkpoints.strict(Plan(**plan))))) == Plan(**plan)
    with pytest.raises(NotOfThisFormError, match="checkpoint"):
        FORM.strict(Plan(**plan))


def test_the_flagship_goes_there_and_back() -> None:
    """Mappings become pairs, what is left out becomes null, and the plan is the same again."""
    strict = FORM.strict(flagship())
    jsonschema.validate(strict, FORM.schema())
    steps = {step["id"]: step for step in strict["steps"]}

    assert steps["reconcile"]["args"]["inputs"] == [
        {"name": "ledger", "value": {"ref": "scope_ledger.table"}},
        {"name": "vendor", "value": {"ref": "load_staging.table"}},
    ]
    assert steps["issue_credit"]["args"] == {"source": {"ref": "reconcile.table"}, "cap": None, "threshold": None}
    assert read_answer(json.dumps(strict), FORM) == flagship()


def without_nulls(plan: Any) -> Any:
    """The plan's data without arguments that are null: leaving them out says the same."""
    steps = [{**s, "args": {k: v for k, v in s["args"].items() if v is not None}} for s in plan["steps"]]
    return {**plan, "steps": steps}


def goes_there_and_back(form: PlanForm, plan: Plan) -> bool:
    """Whether a strict answer can say the plan; then it is of the schema, and reads back as the same plan."""
    try:
        strict = form.strict(plan)
    except NotOfThisFormError as refused:
        said = str(refused)
    else:
        said = ""
    if said:
        assert len(said) < 1_000
        return False
    jsonschema.validate(strict, form.schema())
    read = read_answer(json.dumps(strict), form)
    assert without_nulls(read.model_dump()) == without_nulls(plan.model_dump())
    return True


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(PLANS | broken_flagships())
def test_any_plan_that_can_be_said_strictly_reads_back_as_itself(data: dict[str, Any]) -> None:
    """Nobody's plan makes the encoding raise anything but that it cannot be said."""
    try:
        plan = parse_plan(json.dumps(data))
    except PlanexecError:
        return
    goes_there_and_back(FORM, plan)
    # With nothing declared of any tool, every plan of this task and period can be said but for its names.
    tools = dict.fromkeys(["other", *(step.tool for step in plan.steps)], form_of(Open))
    assert goes_there_and_back(PlanForm(plan.task, plan.period, tools, {}, {}, checkpoints=False), plan)


class Open(Model, extra="allow"):
    """Anything."""


class Part(Model):
    table: TableName
    days: int = 7


class ByKey(Model):
    kind: Literal["key"] = "key"
    key: str


class ByDay(Model):
    kind: Literal["day"] = "day"
    day: int


class Left(Model):
    side: str
    left: int


class Right(Model):
    side: str
    right: int


class Referring(Model):
    ref: str


class Tree(Model):
    name: str
    children: tuple[Tree, ...] = ()


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Many(Model):
    parts: list[Part]
    by: Annotated[ByKey | ByDay, Field(discriminator="kind")]
    plain: ByKey | ByDay
    same_first: Left | Right
    referring: Referring
    tree: Tree | None = None
    colour: Colour = Colour.RED
    level: Literal[1, 2, 3]
    mixed: Literal[1, "a"]
    share: float | None = None
    named: dict[str, dict[str, int]] = Field(default={})
    either: dict[str, str] | list[str]
    deep: list[list[list[list[list[list[str]]]]]]
    anything: Any
    pair: tuple[int, str]
    keyed: dict[Annotated[str, Field(pattern="^a")], int]
    word: Literal[tuple(f"w{n}" for n in range(300))]  # type: ignore[valid-type]
    wanted: str | None
    nothing: None = None


REF = {"ref": "a.b"}
MANY = {
    "parts": [{"table": "a.b"}, {"table": REF, "days": 3}, REF],
    "by": {"kind": "day", "day": 1},
    "plain": {"kind": "key", "key": "k"},
    "same_first": {"side": "x", "right": 1},
    "referring": {"ref": 5},
    "tree": {"name": "a", "children": [{"name": "b"}]},
    "colour": "blue",
    "level": 2,
    "mixed": "a",
    "share": "0.5",
    "named": {"": {"a": 1}, "x": REF, "ref": {"ref": 2}},
    "either": {"a": "b"},
    "deep": [[[[[["x"]]]]], REF],
    "anything": {"pairs": [1, {"ref": "a", "b": None}], "z": REF, "": {}},
    "pair": [1, "x"],
    "keyed": {"ab": 1},
    "word": "w299",
    "wanted": None,
}


def test_every_shape_of_argument_goes_there_and_back() -> None:
    """Models, unions with and without a discriminator, recursion, enums, mappings, depth, open JSON, references."""
    form = plan_form(request_of(Many))
    step = {"id": "s", "tool": "tool", "args": MANY}
    plan = Plan(task=TASK.name, period="2026-03", steps=[step])

    assert faults(form.schema()) == []
    assert goes_there_and_back(form, plan)


@pytest.mark.parametrize("name", sorted(MANY))
def test_every_argument_may_be_a_reference(name: str) -> None:
    """Its type is judged later, with the result that it refers to."""
    form = form_of(Many)
    args = MANY | {name: REF}

    assert strict_arguments(form, args)[name] == REF
    assert plain_arguments(form, strict_arguments(form, args)) == args


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parts", {"table": "a.b"}), ("parts", [{"tabel": "a.b"}]), ("level", 4), ("level", "1"), ("level", True),
        ("colour", "green"), ("share", True), ("share", []), ("named", [1]), ("plain", {"kind": "other", "key": "k"}),
        ("word", 3), ("tree", "leaf"), ("keyed", {"a": "text"}),
    ],
    ids=str,
)  # fmt: skip
def test_what_the_tool_does_not_take_cannot_be_said(name: str, value: Any) -> None:
    """And the place is named."""
    with pytest.raises(NotOfThisFormError, match=f"^{name}"):
        strict_arguments(form_of(Many), MANY | {name: value})


def test_unions_that_no_reader_could_tell_apart_are_open() -> None:
    """Objects that share their first key, a list beside a mapping, a model that looks like a reference."""
    form = form_of(Many)
    forms = dict(zip(form.names, form.inner, strict=True))

    assert {name for name, one in forms.items() if one == ANY} == {
        "same_first", "either", "mixed", "anything", "pair", "referring",
    }  # fmt: skip
    assert forms["by"].kind == forms["plain"].kind == "union"


@pytest.mark.parametrize(
    "edit",
    [
        lambda a: a.pop("intent"),
        lambda a: a.update(more=1),
        lambda a: a.update(steps={}),
        lambda a: a["steps"][0].pop("rationale"),
        lambda a: a["steps"][0].update(tool="warehouse.drop_schema"),
        lambda a: a["steps"][0].update(tool=["s3.get"]),
        lambda a: a["steps"][0].update(args=None),
        lambda a: a["steps"][4]["args"]["inputs"].append({"name": "ledger", "value": "x"}),
        lambda a: a["steps"][4]["args"]["inputs"].append({"name": "x"}),
        lambda a: a["steps"][6]["args"].pop("cap"),
        lambda a: a["steps"][2]["claims"][0].update(args=[7]),
        lambda a: a["steps"][2].update(claims=None),
    ],
)
def test_what_is_not_of_the_form_is_refused_with_its_place(edit: Any) -> None:
    """As ANSWER_INVALID, which names both what was asked for and what a plan is."""
    answer = FORM.strict(flagship())
    edit(answer)

    with pytest.raises(NotOfThisFormError):
        FORM.plain(answer)
    with pytest.raises(PlanexecError, match="the answer cannot be read") as refused:
        read_answer(json.dumps(answer), FORM)
    assert refused.value.code == "ANSWER_INVALID"
    assert "nor is it of the form that was asked for" in refused.value.message


@pytest.mark.parametrize("wrap", [
    "{}", " \n{}\n", "```json\n{}\n```", "```\n{}```", "Here it is:\n```json\n{}\n```\nGood luck",
    '{{"plan": {}, "digest": "x"}}', '{{"answer": {}}}',
])  # fmt: skip
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_both_forms_are_read_however_they_are_wrapped(wrap: str, strict: bool) -> None:
    """A plan as it is stored, too; a person may have written it."""
    answer = json.dumps(FORM.strict(flagship()) if strict else flagship_json())

    assert read_answer(wrap.format(answer), FORM) == flagship()


@pytest.mark.parametrize(
    "text",
    ["", "no", "{", "[]", "null", "7", '"text"', '{"steps": []}', "[" * 100_000, '{"task": 1, "task": 2}', "```json\n",
     '{"a": 1e400}', "x" * 2_000_000, "\x00", '{"plan": 7}', '{"plan": {"steps": 1.5}}'],
    ids=lambda text: text[:20],
)  # fmt: skip
def test_what_is_no_answer_is_refused_in_a_bounded_sentence(text: str) -> None:
    """A code, and nothing of the text's size."""
    with pytest.raises(PlanexecError) as refused:
        read_answer(text, FORM)

    assert refused.value.code == "ANSWER_INVALID"
    assert len(refused.value.message) <= 1_600


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CATALOGUES)
def test_the_schema_of_any_catalogue_keeps_the_limits(registry: ToolRegistry) -> None:
    """Arguments of any name and odd types; no tool at all is a contract's fault."""
    request = PlanRequest(replace(TASK, tools=tuple(registry)), MARCH, registry)
    if not list(registry):
        with pytest.raises(PlanexecError, match="allows no tool"):
            plan_form(request)
        return
    schema = plan_form(request).schema()

    assert faults(schema) == []
    jsonschema.Draft202012Validator.check_schema(schema)


def _union(options: list[Any]) -> Any:
    from typing import Union

    return Union[tuple(options)]  # noqa: UP007 - made of a list


def _model(fields: dict[str, Any]) -> type[Model]:
    return create_model("Made", __base__=Model, **{name: (kind, ...) for name, kind in fields.items()})


_NAMES = st.from_regex(r"[a-z]{1,8}", fullmatch=True).filter(lambda name: not hasattr(BaseModel, name))
_LEAVES = st.sampled_from([
    str, int, bool, float, None, Any, TableName, Colour, Tree, Part, Left, Right, Referring, Literal["a"],
    Literal[1, 2],
    Literal[tuple(range(101))], ByKey | ByDay, bytes, object,
])  # fmt: skip
_TYPES = st.recursive(
    _LEAVES,
    lambda inner: (
        inner.map(lambda one: list[one])
        | inner.map(lambda one: tuple[one, ...])
        | inner.map(lambda one: dict[str, one])
        | inner.map(lambda one: one | None if one is not None else one)
        | st.lists(inner, min_size=2, max_size=3).map(_union)
        | st.dictionaries(_NAMES, inner, min_size=1, max_size=4).map(_model)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(_NAMES, _TYPES, max_size=5).map(_model), min_size=1, max_size=4))
def test_the_schema_of_any_tools_keeps_the_limits(models: list[type[Model]]) -> None:
    """Whatever their arguments are made of, and however deep it lies."""
    request = request_for(*(idle_tool(f"tool_{at}", model, TableResult) for at, model in enumerate(models)))

    assert faults(plan_form(request).schema()) == []


def _wide(names: int, length: int = 8) -> type[Model]:
    return create_model("Wide", __base__=Model, **{f"a{n:0{length}}": (str, ...) for n in range(names)})


@pytest.mark.parametrize(
    ("tools", "names", "length"), [(12, 500, 8), (2, 1_000, 80), (150, 1, 8)],
    ids=["many properties", "many letters", "many claims"],
)  # fmt: skip
def test_what_passes_a_limit_is_said_coarsely(tools: int, names: int, length: int) -> None:
    """The arguments of every tool are then named JSON values, and plans still read back."""
    checks = tuple(f"check_{n}" for n in range(10))
    request = request_for(
        *(idle_tool(f"tool_{n}", _wide(names, length), TableResult, post=checks) for n in range(tools))
    )
    form = plan_form(request)
    step = {"id": "s", "tool": "tool_1", "args": {"a": 1, "b": {"c": REF}}, "claims": [{"claim": "x", "args": {}}]}

    assert faults(form.schema()) == []
    assert goes_there_and_back(form, Plan(task=TASK.name, period="2026-03", steps=[step]))


def test_more_tools_than_any_schema_holds_are_a_contracts_fault() -> None:
    """Said before anything is sent."""
    request = request_for(*(idle_tool(f"tool_{n}", Part, TableResult) for n in range(1_100)))

    with pytest.raises(PlanexecError, match="at most") as refused:
        plan_form(request)
    assert refused.value.code == "BAD_CONTRACT"
