"""JSON, YAML and text that are legal and odd: half characters, depth, huge numbers, tags that would run code.

Each is a finding or a code in one document; none is INTERNAL, runs anything, or is taken for something else.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dagster_planexec.cli.main import main
from dagster_planexec.contract.file_contract import load_contract
from dagster_planexec.contract.foreign.catalogue import read_catalogue
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.plan.foreign.plans import read_plans
from tests.support.planexec import PROJECT, planexec

DEEP = "[" * 20_000 + "]" * 20_000
TOOL: dict[str, Any] = {"tool": "t", "description": "d", "parameters": {"type": "object", "properties": {"a": {}}}}
STEP: dict[str, Any] = {"id": "a", "tool": "t", "args": {"a": 1}, "deps": []}
PLAN: dict[str, Any] = {"plan_id": "p", "task": "x", "steps": [STEP]}

CATALOGUES = {
    "half character in the name": json.dumps({**TOOL, "tool": "a\ud800"}),
    "half character in the description": json.dumps({**TOOL, "description": "a\udfff"}),
    "half character in a property": json.dumps({**TOOL, "parameters": {"properties": {"\ud800": {"type": "string"}}}}),
    "half character in required": json.dumps({**TOOL, "parameters": {"properties": {}, "required": ["\udc00x"]}}),
    "half character deep inside": json.dumps({**TOOL, "parameters": {"properties": {"a": {"enum": [["\ud800"]]}}}}),
    "half character in what is not looked at": json.dumps({**TOOL, "x\ud800": 1}),
    "deep": '{"tool": "t", "parameters": ' + DEEP + "}",
    "NaN": '{"tool": NaN}',
    "twice": '{"tool": "a", "tool": "b"}',
    "not UTF-8": b'{"tool": "\xff"}',
    "a list": "[]",
}
TAKEN = {
    "NUL in the name": json.dumps({**TOOL, "tool": "a\x00b"}),
    "huge integer": json.dumps({**TOOL, "parameters": {"properties": {"a": {"maximum": 7}}}}).replace("7", "9" * 5_000),
    "names of Python": json.dumps({**TOOL, "parameters": {"properties": {key: {"type": "string"} for key in ("__class__", "model_config", "self", "class", "__init__", "copy")}}}),  # noqa: E501
    "a million in the description": json.dumps({**TOOL, "description": "x" * 900_000}),
}  # fmt: skip


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "x.jsonl"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_catalogue_that_is_none(tmp_path: Path, name: str) -> None:
    """BAD_CONTRACT with file and line, in words that every terminal can show."""
    path = written(tmp_path, CATALOGUES[name])
    with pytest.raises(PlanexecError) as caught:
        read_catalogue(path)
    assert caught.value.code == "BAD_CONTRACT"
    assert "line 1" in caught.value.message
    caught.value.message.encode()
    plans = tmp_path / "plans.jsonl"
    plans.write_text(json.dumps(PLAN))
    answer = planexec("check", plans, "--catalogue", path)
    assert (answer.exit_code, answer.document["code"]) == (1, "BAD_CONTRACT")


@pytest.mark.parametrize("name", TAKEN)
def test_an_odd_catalogue_is_one_all_the_same(tmp_path: Path, name: str) -> None:
    """Its names are data: they name no field and no method of ours."""
    tools = read_catalogue(written(tmp_path, TAKEN[name]))
    assert len(list(tools)) == 1


PLANS = {
    "half character in an id": json.dumps({**PLAN, "steps": [{**STEP, "id": "\ud800"}]}),
    "half character in a tool": json.dumps({**PLAN, "steps": [{**STEP, "tool": "\ud800"}]}),
    "half character in an argument": json.dumps({**PLAN, "steps": [{**STEP, "args": {"a": "\udfff"}}]}),
    "half character in the name of an argument": json.dumps({**PLAN, "steps": [{**STEP, "args": {"\udfff": 1}}]}),
    "half character in the plan's name": json.dumps({**PLAN, "plan_id": "\ud800"}),
    "NUL": json.dumps({**PLAN, "plan_id": "\x00", "steps": [{**STEP, "id": "\x00", "args": {"a": "\x00"}}]}),
    "deep": json.dumps(PLAN).replace("1", DEEP, 1),
    "huge integer": json.dumps(PLAN).replace("1", "9" * 100_000, 1),
    "huge exponent": json.dumps(PLAN).replace("1", "1e999999999", 1),
    "NaN": json.dumps(PLAN).replace("1", "NaN", 1),
    "Infinity": json.dumps(PLAN).replace("1", "-Infinity", 1),
    "twice": json.dumps(PLAN).replace('"tool": "t"', '"tool": "t", "tool": "u"', 1),
    "escapes": json.dumps({**PLAN, "plan_id": "\x1b[2J\x1b]0;x\x07", "steps": [{**STEP, "tool": "\x1b[31m"}]}),
    "cycle by itself": json.dumps({**PLAN, "steps": [{**STEP, "deps": ["a"]}]}),
}


@pytest.mark.parametrize("name", PLANS)
def test_an_odd_plan_is_a_plan_or_has_findings(tmp_path: Path, name: str) -> None:
    """One document that a strict reader takes, without escapes and without INTERNAL."""
    path, tools = written(tmp_path, PLANS[name]), tmp_path / "tools.jsonl"
    tools.write_text(json.dumps(TOOL))
    assert len(list(read_plans(path))) == 1
    answer = planexec("check", path, "--catalogue", tools)
    assert answer.exit_code in {0, 5}
    said = json.dumps(answer.document, ensure_ascii=False)
    assert "INTERNAL" not in said
    assert "\x1b" not in said
    assert len(said) < 50_000


# ------------------------------------------------------------------------------------------- YAML

GOOD = """
name: x
version: "1"
columns: [{name: a, type: text}, {name: b, type: decimal}]
key: [a]
amount: b
date: null
currency: USD
"""
LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    "text",
    [
        "!!python/object/apply:os.system ['touch {f}/made']",
        "name: !!python/object/apply:os.system ['touch {f}/made']" + GOOD.replace("name: x", ""),
        "!!python/object/new:subprocess.Popen [['touch', '{f}/made']]",
        "name: !!python/name:os.system ''" + GOOD.replace("name: x", ""),
        "!!binary |\n  gASVIgAAAAAAAAA=",
        LAUGHS + GOOD,
        "name: &x {{<<: *x}}" + GOOD.replace("name: x", ""),
        GOOD + "? [a, b]\n: 1\n",
        "\x00",
        "name: \ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
        "{" * 2_000,
    ],
)
def test_a_contract_runs_nothing_and_unfolds_nothing(tmp_path: Path, text: str) -> None:
    """BAD_CONTRACT, in a bounded message; no command was run."""
    path = tmp_path / "x.yaml"
    path.write_text(text.replace("{f}", str(tmp_path)), encoding="utf-8")
    with pytest.raises(PlanexecError) as caught:
        load_contract(path)
    assert caught.value.code == "BAD_CONTRACT"
    assert len(caught.value.message) < 5_000
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.yaml"]


def test_a_good_contract_is_one(tmp_path: Path) -> None:
    """The contract that the attacks above are made of."""
    (tmp_path / "x.yaml").write_text(GOOD)
    assert load_contract(tmp_path / "x.yaml").name == "x"


# ------------------------------------------------------------------------------------------- code that reads code


def test_nothing_is_unpickled_evaluated_or_loaded_unsafely() -> None:
    """In all that the wheel ships: no pickle, no eval, no exec, no unsafe YAML, no shell."""
    refused = {
        "pickle.loads", "pickle.load", "marshal.loads", "eval", "exec", "yaml.load", "yaml.unsafe_load", "os.system",
        "os.popen", "shelve.open", "pandas.read_pickle", "joblib.load", "dill.loads", "compile",
    }  # fmt: skip
    found = []
    for path in (PROJECT / "dagster_planexec").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in refused:
                found.append(f"{path.name}:{node.lineno} {ast.unparse(node.func)}")
            if isinstance(node, ast.keyword) and node.arg == "shell":
                found.append(f"{path.name}:{node.value.lineno} shell=")
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [alias.name for alias in node.names] + [getattr(node, "module", None) or ""]
                found += [f"{path.name}: {name}" for name in names if name in {"pickle", "marshal", "shelve", "dill"}]
    assert found == []


# ------------------------------------------------------------------------------------------- the environment


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PLANEXEC_HOME", "/dev/null/x\nforged line"),
        ("PLANEXEC_JOURNAL_DEFAULT", "sqlite:////nowhere/x\nforged line"),
        ("PLANEXEC_JOURNAL_DEFAULT", "postgresql://u:hunter22secret@h\nforged line/x"),
        ("PLANEXEC_JOURNAL_DEFAULT", "file:///etc/passwd\nforged line"),
    ],
)
def test_a_variable_with_a_line_break_forges_no_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str
) -> None:
    """One error with a code; the command line prints it on lines of its own."""
    monkeypatch.setenv(name, value)
    with pytest.raises(PlanexecError) as caught:
        Journal()
    assert caught.value.code in {"HOME_UNWRITABLE", "UNAVAILABLE", "AUTH_FAILED"}
    assert "hunter22secret" not in caught.value.message
    done = CliRunner().invoke(main, ["--project", str(PROJECT), "status", "vendor_reconciliation"])
    said = done.output
    assert not any(line.startswith("forged line") for line in said.splitlines())
    assert "hunter22secret" not in said
