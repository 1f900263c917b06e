"""What a suite may state: refused while a task is built, before anything is read, with what is wrong named."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.contract.task import Deliverable
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.expectations.suite import parse_suite, read_suite
from dagster_planexec.world.expectations.words import KWARGS, WHY_NOT
from tests.support.reconciling import task

BETWEEN = "expect_column_values_to_be_between"


def raw(*expectations: dict[str, Any], **more: Any) -> bytes:
    """A suite as the library saves it."""
    return json.dumps({"name": "s", "expectations": list(expectations), "meta": {}} | more).encode()


def of(kind: str, /, **kwargs: Any) -> dict[str, Any]:
    """One expectation, with what the library writes beside it."""
    return {"type": kind, "kwargs": kwargs, "meta": {}, "id": None, "severity": "critical", "rendered_content": None}


GOOD = of("expect_column_values_to_not_be_null", column="id")

REFUSED: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"{", "is not JSON"),
    "no object": (b"[]", "is no suite"),
    "no number": (b'{"name": "s", "expectations": [NaN]}', "NaN is no number"),
    "nothing stated": (raw(), "states no expectation"),
    "another list": (raw(GOOD, batches=[]), "'batches' of the suite"),
    "too many": (raw(*[GOOD] * 101), "101 expectations"),
    "parameters": (raw(GOOD, suite_parameters={"a": 1}), "suite_parameters"),
    "unknown": (raw(of("expect_column_values_to_be_nice", column="id")), "not one of those"),
    "a near name": (raw(of("expect_column_values_to_be_betwen", column="id")), f"did you mean {BETWEEN}"),
    "pandas only": (raw(of("expect_column_values_to_be_increasing", column="id")), "rows that were fetched"),
    "fetches rows": (raw(of("expect_column_distinct_values_to_be_in_set", column="id", value_set=[1])), "be fetched"),
    "floats": (raw(of("expect_column_sum_to_be_between", column="amount", max_value=1)), "binary number"),
    "its own SQL": (raw(of("unexpected_rows_expectation", unexpected_rows_query="select 1")), "SQL of its own"),
    "a condition": (raw(of(BETWEEN, column="a", row_condition="1=1", condition_parser="pandas")), "'condition_parser'"),
    "no column": (raw(of("expect_column_values_to_be_unique")), "without column"),
    "a parameter": (raw(of(BETWEEN, column="a", max_value={"$PARAMETER": "x"})), "no plain value"),
    "a warning": (raw({**GOOD, "severity": "warning"}), "a gate is open or shut"),
    "mostly none": (raw({**GOOD, "kwargs": {"column": "id", "mostly": 0}}), "mostly 0"),
    "mostly more": (raw({**GOOD, "kwargs": {"column": "id", "mostly": 1.5}}), "mostly 1.5"),
    "a large key": (raw(of(BETWEEN, column="id", max_value=2**53 + 1)), "9007199254740993"),
    "many digits": (raw(of(BETWEEN, column="a", min_value="0.12345678901234567890")), "write fewer digits"),
    "an endless bound": (raw(of(BETWEEN, column="a", max_value="Infinity")), "Infinity"),
    "a key in a set": (raw(of("expect_column_values_to_be_in_set", column="id", value_set=[2**53 + 1])), "in_set"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    """BAD_CONTRACT, with the file and what is wrong in it."""
    body, said = REFUSED[name]
    with pytest.raises(PlanexecError, match=r"BAD_CONTRACT: the suite 's\.json'") as raised:
        parse_suite(body, "s.json")
    assert said in raised.value.message


def test_taken() -> None:
    """Bounds keep the digits that were written; dates are bounds too, keys as text have any number."""
    suite = parse_suite(
        raw(
            of(BETWEEN, column="amount", min_value=0.1, max_value=123456789.01, mostly=0.99),
            of(BETWEEN, column="day", min_value="2026-03-01"),
            of("expect_column_values_to_be_in_set", column="id", value_set=["9007199254740993", "NaN"]),
            GOOD,
        ),
        "s.json",
    )
    assert [str(one) for one in suite.expectations] == [
        f"{BETWEEN}(column=amount, max_value=123456789.01, min_value=0.1, mostly=0.99)",
        f"{BETWEEN}(column=day, min_value=2026-03-01)",
        'expect_column_values_to_be_in_set(column=id, value_set=["9007199254740993", "NaN"])',
        "expect_column_values_to_not_be_null(column=id)",
    ]
    assert [one.mostly for one in suite.expectations] == [0.99, 1, 1, 1]


def test_a_task_with_a_bad_suite_cannot_be_built(tmp_path: Path) -> None:
    """Also with one that is not there, or reached through a link. A good one costs no import of the library."""
    good, bad, link = tmp_path / "good.json", tmp_path / "bad.json", tmp_path / "link.json"
    good.write_bytes(raw(GOOD))
    bad.write_bytes(raw())
    link.symlink_to(good)
    built = task()
    for path in (bad, link, tmp_path / "absent.json"):
        with pytest.raises(PlanexecError, match="BAD_CONTRACT"):
            replace(built, deliverables=(Deliverable("lines", ("run_sql",), suite=path),))
    replace(built, deliverables=(Deliverable("lines", ("run_sql",), suite=good),))
    lazy = (
        "import sys; from assets.council_spend.task import TASK; "
        "print(TASK.deliverables[0].suite.name, 'great_expectations' in sys.modules)"
    )
    seen = subprocess.run([sys.executable, "-c", lazy], check=True, capture_output=True, text=True, timeout=60)
    assert seen.stdout.split() == ["vendor_invoice.json", "False"]
    with pytest.raises(PlanexecError, match="changed since it was admitted"):
        read_suite(good, sha256="0" * 64)


def test_the_words_are_the_librarys() -> None:
    """Every type that is taken or refused exists, with these kwargs; the library says so, in its own process."""
    said = {kind: sorted(needed | more) for kind, (needed, more) in KWARGS.items()}
    program = (
        "import json, sys, great_expectations.expectations as gxe\n"
        "from great_expectations.expectations.registry import get_expectation_impl as impl\n"
        "said, known = json.loads(sys.argv[1]), json.loads(sys.argv[2])\n"
        "print(json.dumps([[k, a] for k, names in said.items() for a in names if a not in impl(k).__fields__]))\n"
        "[impl(k) for k in known]\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, json.dumps(said), json.dumps(sorted(WHY_NOT))],
        check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_the_page_lists_what_may_be_stated() -> None:
    """All of it, with its words, and nothing else."""
    page = (Path(__file__).parents[2] / "docs" / "expectations.md").read_text(encoding="utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| `expect_")]
    assert listed == [
        f"| `{kind}` | {', '.join(sorted(needed))} | {', '.join(sorted(more))} |"
        for kind, (needed, more) in KWARGS.items()
    ]
