"""`planexec ingest` and `reconcile`: what a person types wrong, and what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from dagster_planexec.cli.main import main
from dagster_planexec.world.local.scratch import scratch as scratch_of
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


def test_what_was_left_out_or_changed_is_told(here: Path) -> None:
    """A trailer, a repeated header, and cells that a text rule has changed."""
    contract = CONTRACT.replace("name: id, type: text", "name: id, type: text, normalise: [upper]")
    (here / "c.yaml").write_text(contract + "trailers: [{equals: TOTAL}]\nrepeated_headers: drop\n")
    (here / "march.csv").write_text(LINES.replace("b,", "id,day,amount\nB,") + "TOTAL,,3.75\n")
    given = ("ingest", here / "march.csv", "--contract", here / "c.yaml")

    document, said = planexec(*given).document, CliRunner().invoke(main, [str(one) for one in given]).stdout

    assert (document["dropped"], document["normalised"]) == ({"trailers": 1, "repeated headers": 1}, {"id": 1})
    counted = next(check["text"] for check in document["checks"] if check["check"] == "row_counts_agree")
    assert counted == "2 records beside 1 repeated header, 1 trailer in the files, 2 rows in the table"
    assert "1 cells of id" in said


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
    (here / "ledger.csv").write_text("id,day,amount\na,2026-03-01,1.50\nb,2026-02-28,3.25\n")
    given = ["--vendor", here / "march.csv", "--ledger", here / "ledger.csv", "--spec", here / "s.yaml"]
    said = CliRunner().invoke(main, ["reconcile", *map(str, given), "--period", "2026-03"])
    assert "2 rows, 4.75 USD; 1 rows, 1.50 in 2026-03" in said.stdout
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


@pytest.mark.parametrize("suffix", ["parquet", "xlsx"])
def test_all_rejects_and_all_differences_are_saved_where_a_person_says(here: Path, suffix: str) -> None:
    """More than an answer shows; a cell that a spreadsheet would compute stays text, and no digest names a file."""
    (here / "bad.csv").write_text("id,day,amount\n" + "".join(f"=k{n},2026-03-01,={n}\n" for n in range(30)))
    (here / "ledger.csv").write_text("id,day,amount\n" + "".join(f"=k{n},2026-03-01,{n}.25\n" for n in range(30)))
    (here / "vendor.csv").write_text("id,day,amount\n=k29,2026-03-01,29.25\n")
    (here / "s.yaml").write_text("vendor: c.yaml\nledger: c.yaml\n")
    places = here / f"rejects.{suffix}", here / f"differences.{suffix}"

    ingested = planexec("ingest", here / "bad.csv", "--contract", here / "c.yaml", "--rejects", places[0])
    compared = planexec(
        "reconcile", "--vendor", here / "vendor.csv", "--ledger", here / "ledger.csv", "--spec", here / "s.yaml",
        "--differences", places[1],
    )  # fmt: skip

    assert ingested.document["saved"] == {"file": str(places[0]), "rows": 30}
    assert compared.document["saved"] == {"file": str(places[1]), "rows": 29}
    rejects, differences = (
        pd.read_parquet(p) if suffix == "parquet" else pd.read_excel(p, dtype=str, engine="openpyxl") for p in places
    )
    assert list(rejects["value"]) == [f"={n}" for n in range(30)]
    assert set(rejects["source"]) == {"bad.csv"}
    assert sorted(differences["id"]) == sorted(f"=k{n}" for n in range(29))
    assert sum(Decimal(str(amount)) for amount in differences["ledger_amount"]) == Decimal("413.25")


@pytest.mark.parametrize(
    "place", ["march.csv", "no/r.xlsx", "c.yaml", "link.xlsx", "folder.xlsx", "book.xlsx", "a b.xlsx"]
)
def test_nothing_is_saved_over_what_is_read(here: Path, place: str) -> None:
    """Nor through a link, nor as what nobody can write; said before anything is loaded."""
    (here / "folder.xlsx").mkdir()
    (here / "link.xlsx").symlink_to(here / "march.csv")
    (here / "book.xlsx").write_text("read as the delivery")

    answer = planexec(
        "ingest", here / "march.csv", here / "book.xlsx", "--contract", here / "c.yaml", "--rejects", here / place
    )

    assert (answer.exit_code, answer.document["code"]) == (1, "VALIDATION_ERROR")
    assert (here / "march.csv").read_text() == LINES
    assert (here / "book.xlsx").read_text() == "read as the delivery"


def test_where_no_row_was_looked_at_no_file_is_written(here: Path) -> None:
    """An empty file would say that nothing was refused."""
    (here / "empty.csv").write_text("")

    answer = planexec("ingest", here / "empty.csv", "--contract", here / "c.yaml", "--rejects", here / "r.xlsx")

    assert (answer.document["code"], answer.document["saved"]) == ("EMPTY_EXTRACT", None)
    assert not (here / "r.xlsx").exists()


@pytest.mark.parametrize("name", ["Rechnung März 2026.csv", "a\nb.csv", "x" * 240 + ".csv", "'; drop table x --.csv"])
def test_a_file_may_have_any_name(here: Path, name: str) -> None:
    """No plan or pattern is made of it but for its suffix."""
    (here / name).write_text(LINES)

    assert planexec("ingest", here / name, "--contract", here / "c.yaml").document["outcome"] == "accept"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_folders_go_with_the_process(here: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Ended while it works, at once; of one that was killed, with the next call. Those of a live process stay."""
    scratch = here / "scratch"
    scratch.mkdir()
    (here / "long.csv").write_text("id,day,amount\n" + "".join(f"k{n},2026-03-01,1.00\n" for n in range(400_000)))
    command = [sys.executable, "-m", "dagster_planexec.cli.main", "ingest", str(here / "long.csv"), "--contract",
               str(here / "c.yaml")]  # fmt: skip
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(scratch)}, stdout=subprocess.DEVNULL)
    while process.poll() is None and not list(scratch.glob("planexec-trying-*/landing/*/*")):
        time.sleep(0.02)
    process.send_signal(number)
    ended = process.wait(10)
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    if number == signal.SIGKILL:
        assert list(scratch.glob("planexec-trying-*"))
        with scratch_of("planexec-trying-") as other:
            planexec("ingest", here / "march.csv", "--contract", here / "c.yaml")
            assert list(scratch.glob("planexec-*")) == [other]

    assert ended in {128 + number, -number}
    assert list(scratch.glob("planexec-*")) == []
