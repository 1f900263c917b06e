"""The documents say what is: what they name exists, and nothing that must be named is left out."""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from functools import cache
from pathlib import Path

import click
import pytest
import yaml

from assets.demo.faults import FAULTS
from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.static.rule import code_of
from dagster_planexec.checks.static.static_check import RULES
from dagster_planexec.cli.document import EXIT
from dagster_planexec.cli.main import main
from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.plan.model import parse_plan
from dagster_planexec.tools import BUILTIN_TOOLS
from tests.support.reference_pages import COMMAND, GROUPS, PAGES

ROOT = Path(__file__).resolve().parents[1]
DOCS = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md"))),
)
TOPS = ("assets", "dagster_planexec", "docs", "sensors", "tests", "definitions.py", "workspace.yaml", "pyproject.toml")
SECTION = re.compile(r"(README\.md|ARCHITECTURE\.md), '([^']+)'")
DEMANDS = 47


@cache
def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def fenced(name: str, language: str) -> list[str]:
    """The blocks of one language in a document."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text_of(name), re.MULTILINE | re.DOTALL)


def headings(name: str) -> set[str]:
    return set(re.findall(r"^#+ (.+)$", text_of(name), re.MULTILINE))


def paths_in(name: str) -> set[str]:
    """Whatever in a document looks like a path of this repository: in backticks, as a link, in the map."""
    text = text_of(name)
    found = set(re.findall(r"`([\w./-]+)(?:::\w+)?`", text))
    found |= {line.split()[0] for block in fenced(name, "text") for line in block.splitlines() if "  " in line.strip()}
    return {path for path in found if path.split("/")[0] in TOPS and ("/" in path or path in TOPS)}


def commands_in(name: str) -> list[list[str]]:
    """Every `$ ...` line of a document's console blocks, and every `planexec ...` and `make ...` in backticks."""
    shown = [line[2:] for block in fenced(name, "console") for line in block.splitlines() if line.startswith("$ ")]
    shown += re.findall(r"`((?:planexec|make) [^`]+)`", text_of(name))
    return [shlex.split(line, comments=True) for line in shown]


@pytest.mark.parametrize("name", DOCS)
def test_paths_exist(name):
    """A path that is named is there."""
    missing = sorted(path for path in paths_in(name) if not (ROOT / path).exists())

    assert missing == []


@pytest.mark.parametrize("name", DOCS)
def test_links_lead_somewhere(name):
    """A relative link leads to a file."""
    links = re.findall(r"\]\(([^)#\s]+)", text_of(name))
    missing = [link for link in links if "://" not in link and not (ROOT / name).parent.joinpath(link).exists()]

    assert missing == []


@pytest.mark.parametrize("name", DOCS)
def test_commands_are_those_there_are(name):
    """A verb of make is in the Makefile; a verb and every option of planexec are in its command line."""
    verbs = set(re.findall(r"^([a-z]+):.*## ", text_of("Makefile"), re.MULTILINE))
    for words in commands_in(name):
        program, *rest = [word.rstrip(",") for word in words]
        if program == "make":
            assert not rest or rest[0] in verbs, words
        elif program.endswith("planexec") and rest:
            command = main.commands.get(rest[0])
            assert command is not None, words
            if isinstance(command, click.Group) and len(rest) > 1:
                command = command.commands.get(rest[1])
                assert command is not None, words
            options = {option for p in command.params if isinstance(p, click.Option) for option in p.opts}
            assert {word for word in rest[1:] if word.startswith("--")} <= options, words


def test_every_verb_is_in_the_readme():
    """Nobody has to find a verb by chance."""
    assert {f"`planexec {verb}" for verb in main.commands} <= set(re.findall(r"`planexec [a-z]+", text_of("README.md")))


def test_readme_tells_the_exit_codes():
    """One row per status."""
    rows = re.findall(r"^\| (\d) \| `([\w-]+)` \|", text_of("README.md"), re.MULTILINE)

    assert {status: int(code) for code, status in rows} == EXIT


def test_readme_tells_every_fault_and_its_end():
    """The same table as the code's, in the same order."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (\w+)(?: ([A-Z_]+))?(?: at `(\w+)`)?", text_of("README.md"), re.MULTILINE)
    ends = [(f.name, f.ends.status, f.ends.code or "", f.ends.step or "") for f in FAULTS.values()]

    assert rows == ends


def test_readme_opens_with_the_story_the_commands_and_the_refusal():
    """The first forty lines are enough to know what this is."""
    opening = "\n".join(text_of("README.md").splitlines()[:40])

    for word in ("09:02", "61,400", "$ make demo", "$ make test", "STOPPED OBJECT_GONE", "hint: "):
        assert word in opening


def test_readmes_python_is_valid_and_imports_what_there_is():
    """Each example parses, and every name it imports from this package is there."""
    for block in fenced("README.md", "python"):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("dagster_planexec", "assets")):
                module = __import__(str(node.module), fromlist=[alias.name for alias in node.names])
                assert all(hasattr(module, alias.name) for alias in node.names), ast.dump(node)


def test_readmes_plan_is_a_plan():
    """The example is read by the code that reads plans."""
    (block,) = fenced("README.md", "json")

    assert [step.tool for step in parse_plan(json.dumps(json.loads(block))).steps] == ["s3.get", "warehouse.load"]


def test_contract_page_is_the_contracts_vocabulary():
    """Every field of a contract and of a column is on the page, and its first example is a contract."""
    tables = re.findall(r"^\| word \|.*?\n\n", text_of("docs/contracts.md"), re.MULTILINE | re.DOTALL)
    example = fenced("docs/contracts.md", "yaml")[0]
    cells = [cell for table in tables for cell in re.findall(r"^\| (`[^|]+`) \|", table, re.MULTILINE)]
    words = {word for cell in cells for word in re.findall(r"`(\w+)`", cell)}

    assert words == {*FileContract.model_fields, *Column.model_fields}
    assert FileContract.model_validate(yaml.safe_load(example)).name == "vendor_invoice"


@pytest.mark.parametrize("name", PAGES)
def test_reference_pages_are_up_to_date(name):
    """They are made from the code, and by nobody's memory."""
    assert text_of(name) == PAGES[name](), f"{name} is out of date\n\nhint: .venv/bin/{COMMAND}"


def test_reference_pages_leave_nothing_out():
    """Every code, static rule, check and tool has its line."""
    codes, rules = text_of("docs/codes.md"), text_of("docs/rules.md")

    assert {meaning.group for meaning in CODES.values()} <= set(GROUPS)
    assert [code for code in CODES if f"| `{code}` |" not in codes] == []
    assert [code_of(rule) for rule in RULES if f"| `{code_of(rule)}` |" not in rules] == []
    assert [name for name in BINDERS if f"| `{name}` |" not in rules] == []
    assert [t.contract.name for t in BUILTIN_TOOLS if f"### `{t.contract.name}`" not in rules] == []


def test_sections_that_messages_point_to_are_there():
    """An error that says "see README.md, 'X'" leads to a heading X."""
    pointed = {
        found for path in (ROOT / "dagster_planexec").rglob("*.py") for found in SECTION.findall(path.read_text())
    }

    assert {name for name, _ in pointed} == {"README.md", "ARCHITECTURE.md"}
    assert [(name, title) for name, title in pointed if title not in headings(name)] == []


def test_every_demand_is_answered():
    """Each of the numbered demands has one row, in order, with what shows it or what it waits for."""
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", text_of("docs/requirements.md"), re.MULTILINE)

    assert [int(number) for number, _ in rows] == list(range(1, DEMANDS + 1))
    assert [
        number for number, shown in rows if "`" not in shown and "](" not in shown and "not yet: " not in shown
    ] == []


def test_tests_that_are_named_exist():
    """`path::test` names a function of that file."""
    named = {found for name in DOCS for found in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text_of(name))}

    assert named
    for path, function in named:
        defined = {n.name for n in ast.walk(ast.parse(text_of(path))) if isinstance(n, ast.FunctionDef)}
        assert function in defined, f"{path}::{function}"


def test_quoted_sections_of_other_pages_exist():
    """`[README](../README.md), "X"` leads to a heading X."""
    pointed = re.findall(r"\]\(\.\./(\w+\.md)\), \"([^\"]+)\"", text_of("docs/requirements.md"))

    assert pointed
    assert [(name, title) for name, title in pointed if title not in headings(name)] == []


def test_the_map_leads_to_what_there_is():
    """The first word of each line is a path."""
    (drawn,) = fenced("ARCHITECTURE.md", "text")
    paths = [line.split()[0] for line in drawn.splitlines()]

    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_floor_is_on_the_map():
    """A room of the import contract has its line in ARCHITECTURE.md, and the map names no other."""
    layers = tomllib.loads(text_of("pyproject.toml"))["tool"]["importlinter"]["contracts"]
    floors = next(c["layers"] for c in layers if c["type"] == "layers")
    rooms = {room.strip() for floor in floors for room in floor.split("|")}
    mapped = set(re.findall(r"^dagster_planexec/(\w+)", "\n".join(fenced("ARCHITECTURE.md", "text")), re.MULTILINE))

    assert {
        room
        for room in rooms
        if (ROOT / "dagster_planexec" / room).exists() or (ROOT / "dagster_planexec" / f"{room}.py").exists()
    } == mapped


def test_core_dependencies_each_have_a_reason():
    """`docs/decisions.md` says why each is there."""
    declared = tomllib.loads(text_of("pyproject.toml"))["project"]["dependencies"]
    names = {re.split(r"[<>=]", line)[0] for line in declared}
    given = set(re.findall(r"^\| ([\w-]+) \| ", text_of("docs/decisions.md"), re.MULTILINE)) - {"package"}

    assert given == names


def test_decisions_are_short_and_whole():
    """Context, decision and consequence, in ten lines; the table of dependencies is counted as one."""
    entries = re.split(r"^## ", text_of("docs/decisions.md"), flags=re.MULTILINE)[1:]

    for entry in entries:
        title, *lines = [line for line in entry.splitlines() if line and not line.startswith("|")]
        assert re.match(r"\d{4}-\d\d-\d\d .+", title)
        assert len(lines) <= 10, title
        assert [line.split(":")[0] for line in lines[:3]] == ["Context", "Decision", "Consequence"], title
