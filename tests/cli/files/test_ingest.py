"""`planexec ingest` and `reconcile`: what a person types wrong, and what is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from dagster_planexec.cli.main import main
from tests.support.planexec import planexec

CONTRACT = """name: lines
version: "1"
columns:
  - {name: id, type: text}
  - {name: day, type: date, formats: ["%Y-%m-%d"]}
  - {name: amount, type: decimal}
key: [id]
amount: amount
date: day
currency: USD
"""
LINES = "id,day,amount\na,2026-03-01,1.50\nb,2026-03-02,2.25\n"


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a contract and a file."""
    (tmp_path / "c.yaml").write_text(CONTRACT)
    (tmp_path / "march.csv").write_text(LINES)
    return tmp_path


def test_a_delivery_of_several_files_is_one(here: Path) -> None:
    """Two files of one name in two folders, too."""
    (here / "more").mkdir()
    (here / "more" / "march.csv").write_text("id,day,amount\nc,2026-03-03,4.00\n")

    document = planexec(
        "ingest", here / "march.csv", here / "more" / "march.csv", "--contract", here / "c.yaml"
    ).document

    assert (document["outcome"], document["rows"], document["sum_amount"]) == ("accept", 3, "7.75")
    assert [file["key"] for file in document["files"]] == ["1/march.csv", "2/march.csv"]


def test_the_same_file_twice_is_refused(here: Path) -> None:
    """It would bill everything twice."""
    document = planexec("ingest", here / "march.csv", here / "march.csv", "--contract", here / "c.yaml").document

    assert (document["outcome"], document["rows"]) == ("refuse", 0)


def test_a_period_is_judged_only_if_it_is_named(here: Path) -> None:
    """The lines are of March."""
    given = ("ingest", here / "march.csv", "--contract", here / "c.yaml")

    free, march, april = (
        planexec(*given),
        planexec(*given, "--period", "2026-03"),
        planexec(*given, "--period", "2026-04"),
    )

    assert [one.document["code"] for one in (free, march, april)] == [None, None, "STALE_PERIOD"]
    assert (march.document["in_period"], april.document["in_period"], free.document["in_period"]) == (2, 0, None)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("none.csv", "--contract", "c.yaml"), "FILE_GONE"),
        ((".", "--contract", "c.yaml"), "FILE_GONE"),
        (("march.csv", "--contract", "none.yaml"), "BAD_CONTRACT"),
        (("march.csv", "--contract", "march.csv"), "BAD_CONTRACT"),
        (("march.csv", "--contract", "c.yaml", "--period", "March"), "UNKNOWN_PARTITION"),
        (("march.bz2", "--contract", "c.yaml"), "BAD_CONTRACT"),
    ],
)
def test_what_cannot_be_tried_is_an_error(here: Path, monkeypatch: pytest.MonkeyPatch, arguments, code: str) -> None:
    """Exit code 1 or 4, one document, no stack trace."""
    (here / "march.bz2").write_bytes(b"x")
    monkeypatch.chdir(here)

    answer = planexec("ingest", *arguments)

    assert answer.document["code"] == code
    assert answer.exit_code in {1, 4}


def test_nothing_is_left_behind(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the folder, nor in a home, nor in the temporary folder."""
    scratch = here / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("PLANEXEC_HOME", str(here / "home"))

    planexec("ingest", here / "march.csv", "--contract", here / "c.yaml")

    assert sorted(path.name for path in here.iterdir()) == ["c.yaml", "march.csv", "scratch"]
    assert list(scratch.iterdir()) == []


def test_people_read_figures_rejects_and_the_code_once(here: Path) -> None:
    """The line, the cell, and what to do."""
    (here / "bad.csv").write_text("id,day,amount\na,2026-03-01,1.50\nb,2026-03-02,=2+2\n")

    said = CliRunner().invoke(main, ["ingest", str(here / "bad.csv"), "--contract", str(here / "c.yaml")])

    assert said.exit_code == 4
    assert "bad.csv:3" in said.stdout
    assert "'=2+2'" in said.stdout
    assert "REFUSE BAD_AMOUNT warehouse.load" in said.stdout
    assert said.stdout.count("hint:") == 1


def test_two_files_are_compared_without_a_project(here: Path) -> None:
    """Lines that differ are no refusal: they are what was asked for."""
    (here / "ledger.csv").write_text("id,day,amount\na,2026-03-01,1.50\nb,2026-03-02,3.25\nc,2026-03-03,4.00\n")
    (here / "s.yaml").write_text("vendor: c.yaml\nledger: c.yaml\n")

    answer = planexec(
        "reconcile", "--vendor", here / "march.csv", "--ledger", here / "ledger.csv", "--spec", here / "s.yaml",
        "--period", "2026-03",
    )  # fmt: skip

    document = answer.document
    assert (answer.exit_code, document["outcome"]) == (0, "accept")
    assert {word: one["lines"] for word, one in document["statuses"].items() if one["lines"]} == {
        "identical": 1, "amount_differs": 1, "ledger_only": 1,
    }  # fmt: skip
    assert document["differences"]["amount_differs"] == [
        {"key": ["b"], "vendor_amount": "2.25", "ledger_amount": "3.25"}
    ]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("", "vendor"),
        ("vendor: c.yaml\nledger: c.yaml\nsniff: true\n", "sniff"),
        ("vendor: c.yaml\nledger: none.yaml\n", "none.yaml"),
        ("vendor: c.yaml\nledger: c.yaml\nmin_matched_share: 0.9\n", "min_matched_share"),
        ("vendor: c.yaml\nledger: c.yaml\nreconcile: {tolerance: {absolute: 0.01}}\n", "absolute"),
        ("{{", "yaml"),
    ],
)
def test_a_specification_that_cannot_be_followed(here: Path, spec: str, says: str) -> None:
    """BAD_CONTRACT names the field; a number that YAML makes a float of is refused."""
    (here / "s.yaml").write_text(spec)

    answer = planexec(
        "reconcile", "--vendor", here / "march.csv", "--ledger", here / "march.csv", "--spec", here / "s.yaml"
    )

    assert (answer.exit_code, answer.document["code"]) == (1, "BAD_CONTRACT")
    assert says in answer.document["text"]


@pytest.mark.parametrize("name", ["Rechnung März 2026.csv", "a\nb.csv", "x" * 240 + ".csv", "'; drop table x --.csv"])
def test_a_file_may_have_any_name(here: Path, name: str) -> None:
    """No plan or pattern is made of it but for its suffix."""
    (here / name).write_text(LINES)

    assert planexec("ingest", here / name, "--contract", here / "c.yaml").document["outcome"] == "accept"


def test_the_folder_goes_with_the_process(here: Path) -> None:
    """Ended by SIGTERM while it works."""
    scratch = here / "scratch"
    scratch.mkdir()
    (here / "long.csv").write_text("id,day,amount\n" + "".join(f"k{n},2026-03-01,1.00\n" for n in range(400_000)))
    command = [sys.executable, "-m", "dagster_planexec.cli.main", "ingest", str(here / "long.csv"), "--contract",
               str(here / "c.yaml")]  # fmt: skip
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL)
    while process.poll() is None and not list(scratch.glob("planexec-trying-*/landing/*/*")):
        time.sleep(0.02)
    process.terminate()

    assert process.wait(30) in {143, 0}
    assert list(scratch.glob("planexec-trying-*")) == []
