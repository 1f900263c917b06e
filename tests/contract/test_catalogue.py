"""Tools that others described: what their schemas take, and what is said of lines that describe none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.checks.static.static_check import check_foreign
from dagster_planexec.contract.foreign.catalogue import read_catalogue
from dagster_planexec.contract.outcome import Failed
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.foreign.plans import import_plan


def _catalogue(tmp_path: Path, *lines: Any) -> ToolRegistry:
    path = tmp_path / "tools.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return read_catalogue(path)


def _found(tools: ToolRegistry, args: Any, tool: str = "t") -> list[tuple[str, str | None]]:
    steps = [{"id": "main", "tool": tool, "args": args, "deps": []}]
    plan = import_plan({"steps": steps})
    assert plan.plan is not None, plan.faults
    return [(found.code, found.arg) for found in check_foreign(plan, tools)]


VALUES: dict[str, Any] = {
    "string": "x",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "array": [1],
    "object": {"a": 1},
    "null": None,
}
TAKES = {"number": {"number", "integer"}}


@pytest.mark.parametrize("declared", VALUES)
@pytest.mark.parametrize("given", VALUES)
def test_a_declared_type_takes_its_own_values(tmp_path: Path, declared: str, given: str) -> None:
    """An integer is a number; a boolean is neither, a number in quotes is a string, and null is nothing but null."""
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": {"properties": {"x": {"type": declared}}}})
    expected = [] if given in TAKES.get(declared, {declared}) else [("bad-arg-type", "x")]

    assert _found(tools, {"x": VALUES[given]}) == expected


@pytest.mark.parametrize(
    ("declared", "value", "fits"),
    [
        ("string", "1.5", True),
        ("string", 10**30, False),
        ("integer", 10**30, True),
        ("integer", 2.0, False),
        ("number", 10**30, True),
        ("array", "[1]", False),
    ],
)
def test_a_number_stays_one_however_it_is_kept(tmp_path: Path, declared: str, value: Any, *, fits: bool) -> None:
    """A fraction and a very long integer are text in the plan, and no strings to the check."""
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": {"properties": {"x": {"type": declared}}}})
    assert (_found(tools, {"x": value}) == []) is fits


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        {"type": ["string", "null"]},
        {"type": "float"},
        {"enum": [1]},
        {"anyOf": [{"type": "string"}]},
        {"type": 3},
        {"$ref": "#/x"},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("value", VALUES.values(), ids=str)
def test_what_declares_no_single_type_takes_anything(tmp_path: Path, schema: Any, value: Any) -> None:
    """Unions, enumerations and unknown words are not looked at."""
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": {"properties": {"x": schema}}})
    assert _found(tools, {"x": value}) == []


def test_only_the_top_of_a_value_is_looked_at(tmp_path: Path) -> None:
    """What an array holds is not."""
    schema = {"type": "array", "items": {"type": "string"}}
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": {"properties": {"x": schema}}})
    assert _found(tools, {"x": [1, {"a": None}]}) == []


def test_a_reference_fits_every_type(tmp_path: Path) -> None:
    """And an argument that is not declared is unknown, whatever its value is."""
    properties = {name: {"type": name} for name in VALUES}
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": {"properties": properties, "required": ["string"]}})
    ref = {"$ref": "main", "path": "a.b[0]"}
    codes = {code for code, _ in _found(tools, dict.fromkeys(VALUES, ref))}

    assert codes == {"self-ref", "cycle", "undeclared-ref-dependency"}
    assert ("unknown-arg", "other") in _found(tools, {"string": ref, "other": ref})


NAMES = (
    "from",
    "$x",
    "a-b",
    "model_config",
    "_private",
    "__init__",
    "argument_0",
    "copy",
    "a.b",
    "",
    "größe",
    "args",
    "ref",
)


def test_arguments_may_have_any_name(tmp_path: Path) -> None:
    """Python's words, pydantic's, and none of either: each is checked under its own name."""
    parameters = {"properties": {name: {"type": "string"} for name in NAMES}, "required": list(NAMES)}
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": parameters})

    assert _found(tools, dict.fromkeys(NAMES, "x")) == []
    assert _found(tools, dict.fromkeys(NAMES, 1)) == [("bad-arg-type", name) for name in NAMES]
    assert _found(tools, {}) == [("missing-arg", name) for name in NAMES]
    assert _found(tools, dict.fromkeys(NAMES, "x") | {"argument_1": "x"}) == [("unknown-arg", "argument_1")]


def test_a_near_name_is_suggested(tmp_path: Path) -> None:
    """By the schema's own names."""
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": {"properties": {"from-city": {}}}})
    (found,) = check_foreign(import_plan({"steps": [{"id": "a", "tool": "t", "args": {"from_city": "x"}}]}), tools)
    assert (found.expected, found.hint) == ("only from-city", "write 'from-city'")


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"required": ["x"]}], ids=json.dumps)
def test_a_tool_that_declares_no_properties_takes_anything(tmp_path: Path, parameters: Any) -> None:
    """Nothing is unknown or missing where nothing is declared."""
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": parameters}, {"tool": "u"})
    assert _found(tools, {"any": 1, "model_config": 2, "": None}) == []
    assert _found(tools, {}, "u") == []


def test_a_tool_that_declares_an_empty_list_of_properties_takes_nothing(tmp_path: Path) -> None:
    """Nothing is what it declares."""
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": {"properties": {}}})
    assert _found(tools, {"x": 1}) == [("unknown-arg", "x")]


def test_what_is_required_and_not_declared_is_missing_or_unknown(tmp_path: Path) -> None:
    """It cannot be given rightly."""
    tools = _catalogue(tmp_path, {"tool": "t", "parameters": {"properties": {}, "required": ["x"]}})
    assert _found(tools, {}) == [("missing-arg", "x")]
    assert _found(tools, {"x": 1}) == [("unknown-arg", "x")]
    assert ("unknown-arg", "x") in _found(tools, {"x": {"$ref": "main"}})


def test_a_described_tool_says_that_it_cannot_be_called(tmp_path: Path) -> None:
    """As a value, so that whoever runs it ends like any step that failed."""
    tool = _catalogue(tmp_path, {"tool": "t", "description": "d" * 5000, "effect": "generic"})["t"]
    outcome = tool.call(tool.contract.args.model_validate({"x": 1}), None)  # type: ignore[arg-type]

    assert isinstance(outcome, Failed)
    assert (outcome.code, outcome.message) == ("BAD_CONTRACT", "tool 't' is only described; nothing carries it out")
    assert (len(tool.contract.description), tool.contract.effect, tool.contract.idempotent) == (1000, "write", False)
    with pytest.raises(PlanexecError, match="only described"):
        tool.seal(None, None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "no JSON"),
        ("[1]", "no JSON object"),
        ("NaN", "no JSON object"),
        ('{"name": "t"}', "'tool' is not a name"),
        ('{"tool": ""}', "'tool' is not a name"),
        ('{"tool": ["t"]}', "'tool' is not a name"),
        ('{"tool": "%s"}' % ("t" * 201), "'tool' is not a name"),
        ('{"tool": "t", "tool": "u"}', "'tool' twice"),
        ('{"tool": "first"}', "line 1 already"),
        ('{"tool": "t", "description": 3}', "'description' of 't'"),
        ('{"tool": "t", "parameters": []}', "'parameters' of 't'"),
        ('{"tool": "t", "parameters": {"properties": []}}', "'properties' in"),
        ('{"tool": "t", "parameters": {"properties": {"x": 3}}}', "property 'x'"),
        ('{"tool": "t", "parameters": {"properties": {}, "properties": {}}}', "'properties' in"),
        ('{"tool": "t", "parameters": {"properties": {"x": {}, "x": {}}}}', "property 'x'"),
        ('{"tool": "t", "parameters": {"required": "x"}}', "'required' in"),
        ('{"tool": "t", "parameters": {"required": [3]}}', "'required' in"),
        ('{"tool": "t", "x": %s}' % ("[" * 100_000 + "]" * 100_000), "nested too deeply"),
        ('{"tool": "%s"}' % ("t" * 1_000_001), "more than 1,000,000 bytes"),
    ],
    ids=lambda value: value[:60],
)
def test_a_line_that_is_no_tool_is_refused_with_its_place(tmp_path: Path, line: str, says: str) -> None:
    """A catalogue with a hole would find faults in plans that have none: file and line are named."""
    with pytest.raises(PlanexecError, match=r"tools\.jsonl, line 3: ") as refused:
        _catalogue(tmp_path, {"tool": "first"}, "", line)

    assert (refused.value.code, bool(refused.value.hint)) == ("BAD_CONTRACT", True)
    assert says in refused.value.message
    assert len(refused.value.message) < 700


def test_a_catalogue_without_tools_is_refused(tmp_path: Path) -> None:
    """Whether it is not there or empty."""
    for text in (None, "\n"):
        if text is not None:
            (tmp_path / "none.jsonl").write_text(text, encoding="utf-8")
        with pytest.raises(PlanexecError, match=r"none\.jsonl") as refused:
            read_catalogue(tmp_path / "none.jsonl")
        assert refused.value.code == "BAD_CONTRACT"
