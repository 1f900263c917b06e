"""The next command works as it is printed: with the home and the project that this one had. And what it then shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.planexec import PROJECT

TASK = "vendor_reconciliation"
COMMAND = re.compile(r"`planexec ([^`]*)`")


def typed(words: str | list[str], folder: Path = PROJECT) -> subprocess.CompletedProcess[str]:
    """The command in a shell of its own, with nothing in its environment that names a home."""
    environ = {n: v for n, v in os.environ.items() if not n.startswith(("PLANEXEC", "DAGSTER", "AWS"))}
    environ["PYTHONPATH"] = str(PROJECT)
    given = shlex.split(words) if isinstance(words, str) else words
    command = [sys.executable, "-m", "dagster_planexec.cli.main", *given]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=folder)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any, str]]:
    """A held month in a home whose name needs quotes: the home, its document, and what people were shown."""
    home = tmp_path_factory.mktemp("next") / "a home's own"
    run = typed(["demo", "--fault", "inflate-credits", "--home", str(home)])
    document = typed(["show", TASK, "--home", str(home), "--json"])
    assert (run.returncode, document.returncode) == (3, 0), run.stderr
    return home, json.loads(document.stdout), run.stdout


def test_the_hint_of_a_held_run_can_be_typed_as_it_stands(held: tuple[Path, Any, str]) -> None:
    """In words and in JSON: the very hold, in the very home; and it is found there."""
    home, document, shown = held
    hold = document["credits"]["hold_id"]
    (in_words,), (in_json,) = COMMAND.findall(shown), COMMAND.findall(document["hint"])

    assert in_words == in_json == f"show {hold} --home {shlex.quote(str(home))}"
    assert document["text"].endswith(f"`planexec {in_json}`")
    answer = typed(in_json)
    assert (answer.returncode, hold in answer.stdout) == (0, True)


def test_from_another_folder_the_project_is_named_too(held: tuple[Path, Any, str], tmp_path: Path) -> None:
    """A command that was given --project leads to commands that have it."""
    home, document, _ = held
    shown = typed(["--project", str(PROJECT), "show", TASK, "--home", str(home)], tmp_path).stdout
    (command,) = COMMAND.findall(shown)

    assert command.startswith(f"--project {PROJECT} show {document['credits']['hold_id']} --home ")
    assert typed(command, tmp_path).returncode == 0


def test_a_home_that_is_the_default_is_not_repeated(held: tuple[Path, Any, str], monkeypatch: Any) -> None:
    """Where the environment names it, the next command finds it by itself."""
    from click.testing import CliRunner

    from dagster_planexec.cli.main import main

    home, document, _ = held
    monkeypatch.setenv("PLANEXEC_HOME", str(home))
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))
    for more in ((), ("--home", str(home))):
        shown = CliRunner().invoke(main, ["--project", str(PROJECT), "show", TASK, *more]).stdout
        assert COMMAND.findall(shown) == [f"show {document['credits']['hold_id']}"]


def test_a_hold_is_shown_in_what_a_person_decides_by(held: tuple[Path, Any, str]) -> None:
    """Code, state, period, step, how many and how much, the plan, the report, what to do; JSON has the facts."""
    home, document, _ = held
    hold = document["credits"]["hold_id"]
    shown = typed(["show", hold, "--home", str(home)]).stdout
    facts = json.loads(typed(["show", hold, "--home", str(home), "--json"]).stdout)
    lines = [" ".join(line.split()) for line in shown.splitlines()]

    assert lines[0] == f"HELD CAP_EXCEEDED {hold}, {TASK} 2026-03"
    assert any(re.fullmatch(r"state open since [-\d]{10} [:\d]{8} UTC; nothing of it was done", line) for line in lines)
    assert "step issue_credit" in lines
    assert "waits 45 credit lines, 1,392.49 USD" in lines
    assert f"plan {document['plan']['digest'][:12]}" in lines
    assert "limits without a person at most 50 lines and 500.00 USD" in lines
    assert len([line for line in lines if line.startswith("line ")]) == 10
    assert any(line.startswith("rests on landed copy of vendor-drops/vendor/exports/2026-03-") for line in lines)
    assert any(line.startswith("rests on live rows of side ledger: ledger.charges, 61,400 rows") for line in lines)
    assert any(line.startswith("within_cap CAP_EXCEEDED: cap exceeded: ") for line in lines)
    assert "may decide ada, grace; one of them must approve, one who rejects is enough" in lines
    assert f"report {document['report']['md']}" in lines
    assert lines[-1].startswith("hint: read the report; ")
    assert f"`planexec run {TASK} --partition 2026-03 --home {shlex.quote(str(home))}`" in lines[-1]
    assert "{" not in shown
    assert (facts["id"], facts["amount"], facts["count"], facts["state"]) == (hold, "1392.49", 45, "open")


def test_the_trace_names_the_hold_wherever_it_speaks_of_it(held: tuple[Path, Any, str]) -> None:
    """The gate decided before the hold had a name; a person reads it afterwards."""
    home, document, _ = held
    shown = typed(["trace", TASK, "--home", str(home)]).stdout

    assert "show HOLD" not in shown
    assert set(COMMAND.findall(shown)) == {f"show {document['credits']['hold_id']} --home {shlex.quote(str(home))}"}
    assert not [line for line in shown.splitlines() if line.endswith(" ")]
