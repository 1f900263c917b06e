"""No amount passes through a float: nowhere in the package is there one, but for time and for what is listed here.

The scan reads the code as a tree: literals, the name `float`, conversions of arrays, and SQL types in texts. What is a
time says so by its name. Anything else is on the list, with its reason, or it fails.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from dagster_planexec.contract.file_contract import FileContract
from tests.support.loading import TARGET, Loading

PACKAGE = Path(__file__).parents[2] / "dagster_planexec"
TIME = re.compile(
    r"(_s|seconds|since|until|began|started|written|pause|durations|retry_after|after|deadline)$", re.IGNORECASE
)
SQL = re.compile(r"\b(double|float[48]?|real|float(16|32|64))\b")
ARRAYS = {"to_numpy", "to_pandas", "astype", "float16", "float32", "float64"}
ALLOWED = {
    "checks/static/arg_shape.py": "words for the types of arguments; a float argument is JSON's",
    "checks/static/policy/budget_exceeded.py": "seconds, added up",
    "checks/static/rule.py": "how alike two names are",
    "cli/place/asked.py": "how alike two names are",
    "cli/inferring/sample.py": "how well a delimiter fits a sample",
    "cli/trying/document.py": "seconds that a step took that did not run",
    "cli/verbs/running.py": "seconds to wait",
    "contract/file/reading.py": "a number of YAML; the words of a contract take integers and text, and refuse it",
    "contract/foreign/described_tool.py": "numbers of JSON Schema, in plans that others wrote",
    "contract/delivery/plausible.py": "a bound that is a float is refused",
    "definitions/triggers/arrival_sensor.py": "seconds, from the environment",
    "execute/effect/carry_out.py": "seconds to pause",
    "execute/effect/approval/terms.py": "an argument of a plan that is a float is written as text",
    "execute/step/facing.py": "a share of a pause",
    "execute/step/runner.py": "seconds that a step took that did not run",
    "journal/run_report.py": "seconds that a step took that did not run",
    "journal/told/line.py": "seconds, shown",
    "plan/diff.py": "how alike two steps are",
    "plan/foreign/plans.py": "numbers of JSON, in plans that others wrote; those that are not finite are refused",
    "plan/naming.py": "words that cannot name an op",
    "planner/openai/service.py": "seconds to wait",
    "recovery/decide.py": "seconds to pause",
    "recovery/decision.py": "a share of a pause",
    "recovery/viable.py": "seconds that a service asked for",
    "resources/expectations/dialect.py": "a bound of Great Expectations, made a Decimal of its shortest text",
    "resources/expectations/page.py": "what a page shows",
    "resources/duckdb_session.py": "seconds that are left",
    "resources/duckdb_warehouse.py": "seconds that are left; a setting of DuckDB may be a float to its types",
    "resources/http_credits.py": "seconds that a service asked for",
    "resources/s3_errors.py": "seconds that a service asked for",
    "settling/holding.py": "seconds of the longest call",
    "world/local/scratch.py": "seconds to pause",
    "world/delivery/workbook/rows.py": "numbers of a spreadsheet, doubles in its very format; text at once",
    "world/expectations/suite.py": "bounds for Great Expectations; one that its float does not give back is refused",
    "world/sides/relation.py": "the type of a sum that is refused because it is one",
}
"""File to what its floats are. None of them is an amount."""


def floats(path: Path) -> Iterator[str]:
    """Every float of a file that does not say that it is a time, as `line: what`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        what = None
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            what = repr(node.value)
        elif isinstance(node, ast.Name) and node.id == "float":
            what = "float"
        elif isinstance(node, ast.Attribute) and node.attr in ARRAYS:
            what = node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            found = SQL.search(node.value)
            what = None if found is None else f"{found[1]} in a text"
        if what is not None and not any(TIME.search(name) for name in _names(node, above)):
            yield f"{node.lineno}: {what}"


def _names(node: ast.AST, above: dict[ast.AST, ast.AST]) -> Iterator[str]:
    """What the value is called by the nearest thing that names it."""
    inner: ast.AST = node
    while inner in above:
        outer = above[inner]
        match outer:
            case ast.arguments():
                both = [*outer.posonlyargs, *outer.args]
                pairs = dict(zip(outer.defaults[::-1], both[::-1], strict=False)) | dict(
                    zip(outer.kw_defaults, outer.kwonlyargs, strict=True)
                )
                if inner in pairs:
                    yield pairs[inner].arg  # type: ignore[index]
                return
            case ast.arg() | ast.keyword():
                yield outer.arg or ""
                if outer.arg != "default":
                    return
            case ast.AnnAssign() | ast.Assign() | ast.AugAssign():
                targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
                yield from (getattr(one, "id", getattr(one, "attr", "")) for one in targets)
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield outer.name
                return
        inner = outer


FOUND = {path.relative_to(PACKAGE).as_posix(): list(floats(path)) for path in sorted(PACKAGE.rglob("*.py"))}


def test_every_float_is_a_time_or_has_its_reason():
    unnamed = {name: found for name, found in FOUND.items() if found and name not in ALLOWED}

    assert unnamed == {}, "an amount is a Decimal; what is none is listed in ALLOWED, with its reason"


def test_the_list_holds_nothing_that_is_not_there():
    assert [name for name in ALLOWED if not FOUND.get(name)] == []


@pytest.mark.parametrize(
    ("code", "seen"),
    [
        ("amount = 0.1", ["1: 0.1"]),
        ("def f(amount):\n    return float(amount)", ["2: float"]),
        ("query = f'select cast({a} as double)'", ["1: double in a text"]),
        ("amounts = frame.to_numpy()", ["1: to_numpy"]),
        ("total: float | None = None", ["1: float"]),
        ("deadline_s = 0.5", []),
        ("def f(wait_s: float = 0.5) -> None:\n    'A float.'", []),
        ("class A:\n    wait_s: float = Field(default=1.0)\n    'Not a double.'", []),
    ],
)
def test_the_scan_sees_what_it_must(tmp_path, code, seen):
    path = tmp_path / "code.py"
    path.write_text(code)

    assert list(floats(path)) == seen


@pytest.mark.parametrize(
    ("scale", "texts", "total"),
    [
        (2, ["9007199254740993", "1"], "9007199254740994.00"),
        (2, ["123456789.01"], "123456789.01"),
        (2, ["123456792.99"], "123456792.99"),
        (2, ["0.1", "0.2"], "0.30"),
        (3, ["12.345"], "12.345"),
        (7, ["1E-7"] * 3, "0.0000003"),
        (18, ["0.000000000000000001", "12345678901234567890"], "12345678901234567890.000000000000000001"),
        (2, ["12.345"], "SCALE_OVERFLOW"),
        (2, ["1E-7"], "SCALE_OVERFLOW"),
    ],
)
def test_amounts_that_floats_lose_are_loaded_and_counted_exactly(tmp_path, scale, texts, total):
    """Keys of 2^53 + 1 too: a float takes it for 2^53."""
    contract = FileContract.model_validate(
        {
            "name": "charges", "version": "1", "key": ["id"], "amount": "amount", "date": None, "currency": "USD",
            "columns": [
                {"name": "id", "type": "integer"},
                {"name": "amount", "type": "decimal", "precision": 38, "scale": scale, "exponent": True},
            ],
        }
    )  # fmt: skip
    loading = Loading(tmp_path, contract)
    loading.land("id,amount\n" + "".join(f"{2**53 + n},{text}\n" for n, text in enumerate(texts)))

    code, said = loading.ended()

    assert code == (total if total.isupper() else None), said
    if code is None:
        found = loading.sql(f"select sum(amount), count(distinct id), max(id) from {TARGET}")
        assert found == [(Decimal(total), len(texts), 2**53 + len(texts) - 1)]
        assert f"add up to {found[0][0]} in the files and in the table" in said
