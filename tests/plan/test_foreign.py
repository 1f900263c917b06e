"""Plans that others wrote become plans, or faults of form that say where; no line makes the reader raise."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.foreign.json_lines import Number, read_lines
from dagster_planexec.plan.foreign.plans import MAX_FAULTS, ForeignPlan, import_plan, read_plans
from dagster_planexec.plan.graph import edges


def _steps(*steps: dict[str, Any]) -> dict[str, Any]:
    return {"plan_id": "p", "task": "Do it", "steps": list(steps)}


def _step(args: Any, step_id: Any = "a") -> dict[str, Any]:
    return {"id": step_id, "tool": "t", "args": args, "deps": []}


def _read(tmp_path: Path, *lines: str | bytes) -> list[ForeignPlan]:
    path = tmp_path / "plans.jsonl"
    path.write_bytes(b"\n".join(line.encode() if isinstance(line, str) else line for line in lines))
    return list(read_plans(path))


def test_a_plan_is_read_as_it_is_written(tmp_path: Path) -> None:
    """Ids, tools, arguments and dependencies are kept, references take our form, the request becomes the intent."""
    first = {"id": "a", "tool": "Find It", "args": {"query": "x", "n": 3, "deep": {"on": [True, None]}}, "deps": []}
    second = {
        "id": "b",
        "tool": "use",
        "args": {"it": {"$ref": "a", "path": "hits[0].id"}, "all": [{"$ref": "a"}]},
        "deps": ["a"],
    }
    (found,) = _read(tmp_path, json.dumps(_steps(first, second)))

    assert (found.line, found.plan_id, found.faults, found.written) == (1, "p", (), {})
    assert found.plan is not None
    assert found.plan.intent == "Do it"
    assert found.plan.step("a").args == first["args"]
    assert found.plan.step("b").args == {"it": {"ref": "a.hits[0].id"}, "all": [{"ref": "a"}]}
    assert [(step.tool, step.depends_on) for step in found.plan.steps] == [("Find It", ()), ("use", ("a",))]


def test_ids_that_cannot_name_an_op_are_renamed_and_led_back(tmp_path: Path) -> None:
    """Two are never made one, a repeated one stays repeated, and one that nobody has stays so."""
    deps = ["step 1", "nobody here", "a.b", "class", ""]
    last = {"id": "step_1", "tool": "t", "args": {"x": {"$ref": "step 1", "path": "f"}}, "deps": deps}
    ids = ("step 1", "a.b", "a.b", "class", "", "é")
    (found,) = _read(tmp_path, json.dumps(_steps(*(_step({}, name) for name in ids), last)))

    assert found.plan is not None
    named = [step.id for step in found.plan.steps]
    assert named == ["step_1_2", "a_b", "a_b", "class_step", "step", "step_2", "step_1"]
    assert found.plan.steps[-1].args == {"x": {"ref": "step_1_2.f"}}
    assert found.plan.steps[-1].depends_on == ("step_1_2", "nobody_here", "a_b", "class_step", "step")
    assert found.written == {
        "step_1_2": "step 1",
        "a_b": "a.b",
        "class_step": "class",
        "step": "",
        "step_2": "é",
        "nobody_here": "nobody here",
    }
    assert edges(found.plan)["step_1"] == ("step_1_2", "a_b", "class_step", "step")


@pytest.mark.parametrize(
    ("text", "kept", "whole"),
    [("1.5", "1.5", False), ("0.10", "0.10", False), ("1e400", "1e400", False), ("-2.0", "-2.0", False),
     ("9223372036854775808", "9223372036854775808", True), ("-" + "9" * 6000, "-" + "9" * 6000, True)],
)  # fmt: skip
def test_numbers_a_plan_cannot_hold_are_kept_digit_by_digit(tmp_path: Path, text: str, kept: str, whole: bool) -> None:
    """As text that remembers that it was a number, and whether a whole one."""
    (found,) = _read(tmp_path, f'{{"steps": [{{"id": "a", "tool": "t", "args": {{"x": {text}, "y": 1}}}}]}}')

    assert found.plan is not None
    value = found.plan.steps[0].args["x"]
    assert isinstance(value, Number)
    assert (value, value.is_integer) == (kept, whole)
    assert found.plan.steps[0].args["y"] == 1
    assert len(full_digest(found.plan)) == 64


def test_numbers_of_python_are_read_too() -> None:
    """A record need not come from a file."""
    plan = import_plan(_steps(_step({"x": 1.5, "y": 2**70, "z": [0.1]}))).plan
    assert plan is not None
    assert plan.steps[0].args == {"x": "1.5", "y": str(2**70), "z": ["0.1"]}


def _with(part: str) -> str:
    return f'{{"steps": [{{"id": "a", "tool": "t", {part}}}]}}'


def _arg(value: str) -> str:
    return _with(f'"args": {{"x": {value}}}')


FAULTY = [
    pytest.param("{", None, "no JSON", id="no JSON"),
    pytest.param(b"\xff\xfe", None, "utf-8", id="no UTF-8"),
    pytest.param("[]", None, "a list of 0", id="a list"),
    pytest.param('"plan"', None, "'plan'", id="a string"),
    pytest.param("null", None, "nothing", id="null"),
    pytest.param("NaN", None, "NaN", id="not a number"),
    pytest.param("{}", "steps", "nothing", id="no steps"),
    pytest.param('{"steps": {}}', "steps", "an object of 0", id="steps are an object"),
    pytest.param('{"steps": [], "steps": []}', "steps", "'steps' twice", id="steps twice"),
    pytest.param('{"steps": [], "plan_id": 3}', "plan_id", "3", id="a plan id that is a number"),
    pytest.param('{"steps": ["a"]}', "steps[0]", "'a'", id="a step that is a string"),
    pytest.param('{"steps": [{"tool": "t"}]}', "steps[0].id", "nothing", id="no id"),
    *(pytest.param(json.dumps(_steps(_step({}, odd))), "steps[0].id", seen, id=f"id {odd!r}")
      for odd, seen in [(None, "nothing"), (3, "3"), (True, "True"), ([], "a list of 0"), ({"a": 1}, "an object")]),
    pytest.param('{"steps": [{"id": "a", "id": "b", "tool": "t"}]}', "steps[0].id", "'id' twice", id="id twice"),
    pytest.param('{"steps": [{"id": "a"}]}', "tool", "nothing", id="no tool"),
    pytest.param('{"steps": [{"id": "a", "tool": ["t"]}]}', "tool", "a list of 1", id="a tool that is a list"),
    pytest.param(json.dumps({"steps": [{"id": "a", "tool": "t" * 201}]}), "tool", "(201 characters)", id="a long tool"),
    pytest.param('{"steps": [{"id": "a", "tool": "\\ud800"}]}', "tool", "ud800", id="half a character in a tool"),
    pytest.param(_with('"args": []'), "args", "a list of 0", id="args are a list"),
    pytest.param(_with('"args": {"$ref": "b"}'), "args", "a reference", id="args are a reference"),
    pytest.param(_with('"deps": "b"'), "deps", "'b'", id="deps are a string"),
    pytest.param(_with('"deps": ["b", 3]'), "deps[1]", "3", id="a dep that is a number"),
    pytest.param(_arg("NaN"), "args.x", "NaN", id="NaN"),
    pytest.param(_arg('{"y": [-Infinity]}'), "args.x.y[0]", "-Infinity", id="infinity"),
    pytest.param(_arg('{"y": 1, "y": 2}'), "args.x.y", "'y' twice", id="a key twice"),
    pytest.param(_arg('"\\ud800"'), "args.x", "surrogate", id="half a character"),
    pytest.param(_arg("[" * 40 + "]" * 40), "args.x[0]", "more", id="depth 40"),
    pytest.param(_arg("[" * 10_000 + "]" * 10_000), None, "", id="depth 10,000"),
    pytest.param(_arg('{"$ref": 3}'), "args.x", "3", id="a reference to a number"),
    pytest.param(_arg('{"$ref": {}}'), "args.x", "an object of 0", id="a reference to an object"),
    pytest.param(_arg('{"$ref": "a", "path": 3}'), "args.x", "an object of 2", id="a path of a number"),
    pytest.param(_arg('{"$ref": "a", "as": "b"}'), "args.x", "an object of 2", id="more than a reference"),
    pytest.param(_arg('{"ref": "main"}'), "args.x", "{\"ref\": 'main'}", id="reads as our reference"),
    pytest.param(_arg('[{"y": {"ref": "a.b"}}]'), "args.x[0].y", "'a.b'", id="the same, deep"),
    pytest.param(_arg(f'"{"x" * 1_000_000}"'), None, "more than 1,000,000 bytes", id="a string of 1 MB"),
    pytest.param('{"steps": [' + "1," * 99_999 + "1]}", "steps", "100,000 steps", id="100,000 steps"),
    pytest.param(_with(f'"deps": {json.dumps(["b"] * 5001)}'), "deps", "of 5001", id="5,001 deps"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "field", "seen"), FAULTY)
def test_a_fault_of_form_says_where_and_the_others_are_read(
    tmp_path: Path, line: str | bytes, field: str | None, seen: str
) -> None:
    """The line comes back without a plan and with the place; the lines around it are plans."""
    before, found, after = _read(tmp_path, json.dumps(_steps(_step({}))), line, json.dumps(_steps(_step({}))))

    assert before.plan is not None
    assert after.plan is not None
    assert (found.line, found.plan) == (2, None)
    (fault, *_) = found.faults
    assert (fault.field or "").startswith(field or "")
    assert (fault.field is None) is (field is None) or "10000" in line  # how deep json reads, its version decides
    assert seen in fault.seen
    assert all(fault.expected and fault.hint and len(fault.seen) < 400 for fault in found.faults)


def test_all_faults_of_form_come_in_one_pass() -> None:
    """Each step's own, by its id where it has one, and never more than can be read."""
    found = import_plan({"plan_id": {}, "steps": [_step({"x": float("nan")}), "b", _step([], "c"), _step({}, 4)]})
    assert [(f.step, f.field) for f in found.faults] == [
        (None, "plan_id"),
        (None, "steps[1]"),
        (None, "steps[3].id"),
        ("a", "args.x"),
        ("c", "args"),
    ]
    assert len(import_plan({"steps": [None] * 4000}).faults) == MAX_FAULTS


@pytest.mark.parametrize(
    "value", [b"x", {1, 2}, object(), 10**6000, {1: 2}, {"x": {3: 4}}, {(): 1}], ids=lambda v: type(v).__name__
)
def test_what_is_no_json_at_all_is_a_fault(value: Any) -> None:
    """Also where no file was read."""
    found = import_plan(_steps(_step({"x": value})))
    assert found.plan is None
    assert found.faults


def test_an_argument_named_ref_is_an_argument() -> None:
    """At the top it is a name, and its value no reference."""
    found = import_plan(_steps(_step({"ref": "main"})))
    assert found.plan is not None
    assert edges(found.plan) == {"a": ()}


def test_args_and_deps_may_be_left_out() -> None:
    """Then there are none; whatever else is in the record is not looked at."""
    found = import_plan({"steps": [{"id": "a", "tool": "t"}], "facts": float("nan"), "task": ["words"]})
    assert found.plan is not None
    assert (found.plan.steps[0].args, found.plan.steps[0].depends_on, found.plan.intent) == ({}, (), "")


def test_blank_lines_and_a_byte_order_mark_are_passed_over(tmp_path: Path) -> None:
    """Line numbers count them."""
    found = _read(tmp_path, b"\xef\xbb\xbf" + json.dumps(_steps()).encode(), "", "  ", json.dumps(_steps()), "")
    assert [(plan.line, plan.faults) for plan in found] == [(1, ()), (4, ())]


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, "VALIDATION_ERROR"), (b"", "PLAN_REJECTED"), (b"\n \n", "PLAN_REJECTED")],
    ids=["not there", "empty", "blank"],
)
def test_a_file_without_plans_is_refused(tmp_path: Path, content: bytes | None, code: str) -> None:
    """Nothing checked is not nothing found."""
    path = tmp_path / "plans.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PlanexecError, match=r"plans\.jsonl") as refused:
        list(read_plans(path))
    assert refused.value.code == code


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_a_packed_file_is_refused_once(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Not a finding for each of its lines, of which none is one."""
    path = tmp_path / "plans.jsonl"
    path.write_bytes(pack(json.dumps(_steps()).encode() * 100))
    with pytest.raises(PlanexecError, match=r"plans\.jsonl cannot be read: it is packed with") as refused:
        list(read_plans(path))
    assert refused.value.code == "VALIDATION_ERROR"
    assert "unpack it" in refused.value.hint


def test_a_line_of_exactly_the_limit_is_read_and_a_longer_one_is_not_held(tmp_path: Path) -> None:
    """With and without a line break at its end."""
    path = tmp_path / "lines"
    path.write_bytes(b'"1234"\n"12345"\n"' + b"x" * 200_000 + b'"\n"1234"')
    assert [(line.number, line.value) for line in read_lines(path, limit=6)] == [
        (1, "1234"),
        (2, None),
        (3, None),
        (4, "1234"),
    ]


_KEYS = ["$ref", "path", "ref", "id", "tool", "args", "deps", "steps", "plan_id", "x"]
_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(_ODD | st.fixed_dictionaries({"steps": st.lists(_ODD, max_size=4) | _ODD}))
@settings(deadline=None)
def test_no_record_makes_the_reader_raise(record: Any) -> None:
    """It is a plan, or it has faults, and never both."""
    found = import_plan(record)
    assert (found.plan is None) is bool(found.faults)


_PACKED = (b"\x1f\x8b\x08", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""What a packed file begins with; the test generator reads the constants of the code, so it does find them."""


@given(st.lists(st.binary(max_size=60) | _ODD.map(lambda value: json.dumps(value).encode()), max_size=5))
@settings(deadline=None)
def test_no_file_makes_the_reader_raise(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes]) -> None:
    """Bytes of any kind are lines with or without a plan, or a file that is refused as a whole, with its code."""
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    content = b"\n".join(lines)
    path.write_bytes(content)
    if content.startswith(_PACKED):
        refused_as = "VALIDATION_ERROR"
    elif not content.removeprefix(b"\xef\xbb\xbf").strip():
        refused_as = "PLAN_REJECTED"
    else:
        assert all((plan.plan is None) is bool(plan.faults) for plan in read_plans(path))
        return
    with pytest.raises(PlanexecError) as refused:
        list(read_plans(path))
    assert refused.value.code == refused_as
