"""What people type that is no text, no period or no hold: refused with a code, and nothing is made by it."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dagster_planexec.cli.main import main
from dagster_planexec.cli.place.home import _AT_HOME, as_typed_here, next_at
from dagster_planexec.journal.journal import Journal
from tests.support.planexec import PROJECT, planexec

TASK = "vendor_reconciliation"
BYTES = "hold_\udcff"
"""How the byte 0xff of a command line arrives."""
BY = ("--by", "ada", "--reason", "seen")
NOBODY = 65_534


@pytest.mark.parametrize(
    "words",
    [
        ("show", BYTES),
        ("show", BYTES, "--lines"),
        ("approve", BYTES, *BY),
        ("reject", BYTES, *BY),
        ("approve", "hold_000000000000", "--by", "ada", "--reason", BYTES),
        ("approve", "hold_000000000000", "--by", BYTES, "--reason", "seen", "--sign-only"),
        ("continue", BYTES),
        ("holds", BYTES),
        ("trace", BYTES),
        ("failures", BYTES),
        ("prune", BYTES, "--older-than", "1d"),
        ("status", BYTES),
        ("run", BYTES, "--partition", "2026-03"),
        ("run", TASK, "--partition", BYTES),
        ("observe", TASK, "--partition", BYTES),
        ("keys", "new", BYTES),
        ("effects", "list", BYTES),
        ("effects", "list", "--partition", BYTES),
        ("effects", "settle", BYTES, "2026-03", "C-1", "--as", "issued", *BY),
        ("demo", "--fault", BYTES),
    ],
    ids=lambda words: " ".join(words).encode("ascii", "replace").decode(),
)
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, words: tuple[str, ...]) -> None:
    """By every verb that looks something up, in JSON and in words; the home stays as it is."""
    answer = planexec(*words, "--home", tmp_path / "home")
    shown = CliRunner().invoke(main, ["--project", str(PROJECT), *words, "--home", str(tmp_path / "home")])

    assert (answer.exit_code, answer.document["code"]) == (1, "VALIDATION_ERROR")
    assert "no UTF-8" in answer.document["text"]
    assert "VALIDATION_ERROR" in shown.stdout
    assert not list(tmp_path.iterdir())


def test_a_home_of_such_bytes_is_shown_and_breaks_nothing(tmp_path: Path) -> None:
    """A folder may have any name; a terminal gets characters."""
    shown = CliRunner().invoke(main, ["--project", str(PROJECT), "show", "nothing", "--home", f"{tmp_path}/h\udcff"])

    assert "UNKNOWN_REFERENCE" in shown.stdout
    assert "h\N{REPLACEMENT CHARACTER}" in shown.stdout


@pytest.mark.parametrize("verb", ["continue", "approve", "reject", "show"])
def test_a_hold_that_is_not_there_makes_nothing(tmp_path: Path, verb: str) -> None:
    """Neither a home nor a folder in it, with its name in the hint."""
    more = BY if verb in {"approve", "reject"} else ()
    (tmp_path / "home").mkdir()
    answer = planexec(verb, "hold_000000000000", *more, "--home", tmp_path / "home")

    assert answer.document["code"] == "UNKNOWN_REFERENCE"
    assert not list((tmp_path / "home").iterdir())
    if verb != "show":
        assert f" holds --home {tmp_path / 'home'}` lists them" in answer.document["hint"]


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's right to write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shut_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home with a journal, all of which can be read and nothing written."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        monkeypatch.setenv("PLANEXEC_HOME", folder)
        Journal().close()
        (home / "journal.sqlite").chmod(0o444)
        home.chmod(0o555)
        with as_nobody():
            yield home
        home.chmod(0o755)


@pytest.mark.parametrize(
    "words",
    [("holds",), ("show", TASK), ("effects", "list"), ("approve", "hold_000000000000", *BY, "--sign-only")],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_home_that_cannot_be_written_says_why_it_cannot_be_read(shut_home: Path, words: tuple[str, ...]) -> None:
    """SQLite's WAL needs a folder that can be written; what to do is said."""
    with (
        pytest.raises(sqlite3.OperationalError),
        sqlite3.connect(f"file:{shut_home}/journal.sqlite?mode=rw", uri=True) as db,
    ):
        db.execute("select 1 from sqlite_master").fetchone()
    answer = planexec(*words, "--home", shut_home)

    assert answer.document["code"] == "HOME_UNWRITABLE"
    assert "its folder cannot be written" in answer.document["text"]
    assert "WAL" in answer.document["hint"]
    assert "copy" in answer.document["hint"]


@pytest.mark.parametrize(
    "named", ["effects list", "effects settle", "holds", "approve HOLD", "reject HOLD", "continue HOLD", "keys new ada"]
)
def test_every_verb_about_money_is_named_with_its_home(tmp_path: Path, named: str) -> None:
    """A command in a text works as it stands."""
    with click.Context(main) as context:
        context.params["project"] = None
        next_at(tmp_path, tmp_path / "other")

        assert as_typed_here(f"look: `planexec {named}`") == f"look: `planexec {named} --home {tmp_path}`"


def test_every_verb_with_a_home_is_named_with_it() -> None:
    """Whoever adds a verb that looks into a home adds it there too; `demo` makes homes of its own."""

    def has_home(verb: click.Command) -> bool:
        below = verb.commands.values() if isinstance(verb, click.Group) else ()
        return any(one.name == "home" for one in verb.params) or any(map(has_home, below))

    assert {name for name, verb in main.commands.items() if has_home(verb)} - {"demo"} == set(_AT_HOME)
