"""`planexec check --catalogue`: one document for a file of plans, from any folder, without project, home or network."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dagster_planexec.cli.main import main
from dagster_planexec.cli.verbs.files.foreign import MOST_FINDINGS, MOST_PLANS
from tests.support.foreign import SETS, as_facts, records, unpacked

TOOLS = (
    {"tool": "find", "parameters": {"properties": {"query": {"type": "string"}}, "required": ["query"]}},
    {"tool": "use", "parameters": {"properties": {"it": {}, "times": {"type": "integer"}}}},
)
FIND = {"id": "step 1", "tool": "find", "args": {"query": "x"}, "deps": []}
GOOD = {
    "plan_id": "good",
    "steps": [FIND, {"id": "b", "tool": "use", "args": {"it": {"$ref": "step 1"}}, "deps": ["step 1"]}],
}
BAD = {
    "plan_id": "bad",
    "steps": [
        {"id": "a.b", "tool": "fnd", "args": {}, "deps": []},
        {
            "id": "c",
            "tool": "use",
            "args": {"it": {"$ref": "b", "path": "x"}, "times": "3", "often": 1},
            "deps": ["a.b", "c"],
        },
    ],
}


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in: no workspace.yaml above it, no home in the environment."""
    for name in ("PLANEXEC_HOME", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path: Path, *lines: Any) -> Path:
    """JSON Lines; a string is a line as it is."""
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def check(*arguments: str | Path) -> Result:
    """The verb, as it is called from anywhere."""
    return CliRunner().invoke(main, ["check", *map(str, arguments)])


def document(result: Result) -> Any:
    """Standard output is one document."""
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return json.loads(result.stdout)


def test_every_plan_has_its_findings_in_its_own_words(elsewhere: Path) -> None:
    """Plans in the order of the lines; exit 5 as one has an error; nothing is left behind."""
    plans = written(elsewhere / "plans.jsonl", GOOD, BAD, "not JSON")
    tools = written(elsewhere / "tools.jsonl", *TOOLS)
    answer = check(plans, "--catalogue", tools, "--json")
    found = document(answer)

    assert (answer.exit_code, found["version"], list(found)) == (5, 1, ["version", "plans"])
    assert [(plan["line"], plan["plan_id"], len(plan["findings"])) for plan in found["plans"]] == [
        (1, "good", 0),
        (2, "bad", 6),
        (3, None, 1),
    ]
    assert [
        (f["code"], f["step"], f["field"], f["arg"], f["ref"]) for plan in found["plans"] for f in plan["findings"]
    ] == [
        ("unknown-tool", "a.b", "tool", None, None),
        ("unknown-arg", "c", "args.often", "often", None),
        ("bad-arg-type", "c", "args.times", "times", None),
        ("dangling-ref", "c", "args.it", "it", "b"),
        ("self-ref", "c", "deps[1]", None, "c"),
        ("cycle", "c", "deps", None, None),
        ("bad-plan", None, None, None, None),
    ]
    keys = {"code", "step", "field", "expected", "seen", "hint", "severity", "arg", "ref"}
    assert all(set(f) == keys and f["severity"] == "error" and f["hint"] for p in found["plans"] for f in p["findings"])
    assert sorted(path.name for path in elsewhere.iterdir()) == ["plans.jsonl", "tools.jsonl"]


def test_good_plans_end_with_0(elsewhere: Path) -> None:
    """And are in the document, without findings."""
    answer = check(written(elsewhere / "p", GOOD), "--catalogue", written(elsewhere / "t", *TOOLS), "--json")
    assert (answer.exit_code, document(answer)) == (
        0,
        {"version": 1, "plans": [{"line": 1, "plan_id": "good", "findings": []}]},
    )


def test_people_get_every_finding_of_a_plan_and_a_line_for_each_code(elsewhere: Path) -> None:
    """Which plan and where it stands; per finding step, field, both sides and the remedy; per code how many."""
    plans = written(elsewhere / "p", GOOD, BAD, BAD | {"plan_id": None}, "\x1b[31m")
    tools = written(elsewhere / "t", *TOOLS)
    answer = check(plans, "--catalogue", tools)
    lines = [" ".join(line.split()) for line in answer.stdout.splitlines()]
    found = document(check(plans, "--catalogue", tools, "--json"))

    assert answer.exit_code == 5
    assert lines[0] == "bad line 2, 6 findings"
    assert "line 3 6 findings" in lines
    assert "line 4 1 finding" in lines
    for plan in found["plans"]:
        for f in plan["findings"]:
            where = " ".join(part for part in (f["code"], f["step"], f["field"]) if part)
            assert f"{where}: expected {f['expected']}; saw {f['seen']}" in lines
            assert f["hint"] in lines
    assert "cycle 2 2 The steps can be put in an order in which each follows what it needs; none needs itself." in lines
    assert lines[-1] == "REJECTED 3 of 4 plans; 1 without a finding"
    assert "\x1b" not in answer.stdout
    assert not [line for line in answer.stdout.splitlines() if line.endswith(" ")]


@pytest.mark.parametrize(("count", "says"), [(1, "1 plan"), (2, "2 plans")])
def test_one_plan_is_one_plan(elsewhere: Path, count: int, says: str) -> None:
    """And two are plans."""
    good = check(written(elsewhere / "g", *[GOOD] * count), "--catalogue", written(elsewhere / "t", *TOOLS))

    assert (good.exit_code, good.stdout.strip()) == (0, f"SUCCEEDED of {says}; {count} without a finding")


def test_what_people_see_of_many_plans_is_bounded(elsewhere: Path) -> None:
    """Fifty plans, twenty findings of each; the rest is counted, and --json has it."""
    steps = [{"id": f"s{n}", "tool": "nope" * 40, "args": {}, "deps": []} for n in range(25)]
    plans = written(elsewhere / "p", *[{"plan_id": f"p{n}", "steps": steps} for n in range(53)])
    answer = check(plans, "--catalogue", written(elsewhere / "t", *TOOLS))
    lines = answer.stdout.splitlines()

    assert lines.count("  ... 5 more findings, use --json") == MOST_PLANS == 50
    assert "... 3 more plans with findings, use --json" in lines
    assert sum(line.startswith("  unknown-tool ") for line in lines) == MOST_PLANS * MOST_FINDINGS
    assert max(map(len, lines)) < 1_200


def test_a_plan_without_steps_is_no_fault(elsewhere: Path) -> None:
    """It breaks no rule of form or structure; what a task asks of a plan is asked with --task."""
    answer = check(written(elsewhere / "p", {"plan_id": "none", "steps": []}), "--catalogue",
                   written(elsewhere / "t", *TOOLS), "--json")  # fmt: skip

    assert (answer.exit_code, document(answer)["plans"][0]["findings"]) == (0, [])


@pytest.mark.parametrize("packed", ["plans.jsonl", "tools.jsonl"])
def test_a_packed_file_is_one_refusal(elsewhere: Path, packed: str) -> None:
    """Of plans or tools: gzip is named, and what to do."""
    written(elsewhere / "plans.jsonl", GOOD, BAD)
    written(elsewhere / "tools.jsonl", *TOOLS)
    path = elsewhere / packed
    path.write_bytes(gzip.compress(path.read_bytes()))
    answer = check("plans.jsonl", "--catalogue", "tools.jsonl", "--json")

    assert (answer.exit_code, document(answer)["status"]) == (1, "error")
    assert f"{packed} cannot be read: it is packed with gzip" in document(answer)["text"]
    assert "unpack it first" in document(answer)["hint"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [((), "neither was named"), (("--task", "x", "--catalogue", "t"), "both were named")],
    ids=["neither", "both"],
)
def test_a_plan_is_checked_for_a_task_or_against_a_catalogue(
    elsewhere: Path, arguments: tuple[str, ...], says: str
) -> None:
    """One of them; the refusal is a document that names both ways."""
    answer = check(written(elsewhere / "p", GOOD), *arguments, "--json")
    refusal = document(answer)

    assert (answer.exit_code, refusal["code"]) == (1, "VALIDATION_ERROR")
    assert says in refusal["text"]
    assert "--task" in refusal["hint"]
    assert "--catalogue" in refusal["hint"]


@pytest.mark.parametrize(
    ("plans", "tools", "code", "exit_code", "says"),
    [
        (None, TOOLS, "VALIDATION_ERROR", 1, "plans.jsonl cannot be read: No such file"),
        ((), TOOLS, "PLAN_REJECTED", 5, "plans.jsonl holds no plan"),
        ((GOOD,), None, "BAD_CONTRACT", 1, "tools.jsonl cannot be read: No such file"),
        ((GOOD,), (), "BAD_CONTRACT", 1, "tools.jsonl holds no tool"),
        ((GOOD,), (TOOLS[0], {"name": "x"}), "BAD_CONTRACT", 1, "tools.jsonl, line 2: 'tool' is not a name"),
        ((GOOD,), (TOOLS[0], TOOLS[0]), "BAD_CONTRACT", 1, "line 2: tool 'find' is described in line 1 already"),
    ],
    ids=["no plans", "empty plans", "no tools", "empty tools", "not a tool", "a tool twice"],
)
def test_what_cannot_be_read_is_refused_with_its_name(
    elsewhere: Path, plans: Any, tools: Any, code: str, exit_code: int, says: str
) -> None:
    """One document with code, file, line and hint; for people the same in words."""
    for name, lines in (("plans.jsonl", plans), ("tools.jsonl", tools)):
        if lines is not None:
            written(elsewhere / name, *lines)
    answer = check("plans.jsonl", "--catalogue", "tools.jsonl", "--json")
    refusal = document(answer)

    assert (answer.exit_code, refusal["code"]) == (exit_code, code)
    assert says in refusal["text"]
    assert refusal["hint"]
    shown = check("plans.jsonl", "--catalogue", "tools.jsonl")
    assert (shown.exit_code, code in shown.stdout, "Traceback" in shown.output) == (exit_code, True, False)


def test_a_folder_is_no_file(elsewhere: Path) -> None:
    """Of plans or of tools."""
    tools = written(elsewhere / "t", *TOOLS)
    assert document(check(elsewhere, "--catalogue", tools, "--json"))["code"] == "VALIDATION_ERROR"
    assert document(check(tools, "--catalogue", elsewhere, "--json"))["code"] == "BAD_CONTRACT"


@pytest.mark.parametrize("name", SETS)
def test_the_document_agrees_with_the_facts_of_every_plan(elsewhere: Path, name: str) -> None:
    """From a process of its own: a plan has findings exactly where its record states a fault."""
    plans, tools = unpacked(name, elsewhere)
    command = [
        sys.executable,
        "-m",
        "dagster_planexec.cli.main",
        "check",
        str(plans),
        "--catalogue",
        str(tools),
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ, cwd=elsewhere)
    answer = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (5, "")
    assert {plan["plan_id"]: bool(plan["findings"]) for plan in answer["plans"]} == {
        record["plan_id"]: any(as_facts(record).values()) for record in records(plans)
    }
