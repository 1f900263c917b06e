"""Whoever decides types what they were shown: every command works as it stands, and the month is finished."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from assets.vendor_reconciliation import task as flagship
from dagster_planexec.cli.main import main
from dagster_planexec.journal.money.approvals.signing import parse_signed
from dagster_planexec.journal.money.effects import Ended, Intent, Owner, write_ends, write_intents
from dagster_planexec.world.ports import Credit
from tests.support.months import World
from tests.support.planexec import PROJECT

TASK = "vendor_reconciliation"
COMMAND = re.compile(r"`planexec ([^`]*)`")


@dataclass(frozen=True)
class Typed:
    """What a command ended with."""

    returncode: int
    stdout: str
    stderr: str


def typed(words: str, **more: str) -> Typed:
    """The command as it stands, with nothing in its environment that names a home, a bucket or a key."""
    before = dict(os.environ)
    for name in [n for n in before if n.startswith(("PLANEXEC", "DAGSTER", "AWS"))]:
        del os.environ[name]
    os.environ.update(more)
    try:
        with contextlib.chdir(PROJECT):
            result = CliRunner().invoke(main, shlex.split(words))
    finally:
        os.environ.clear()
        os.environ.update(before)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Typed(result.exit_code, result.stdout, result.stderr)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A held month of the demo, whose S3 server is gone by now; the home, and the command that its run printed."""
    home = tmp_path_factory.mktemp("deciding") / "a home's own"
    run = typed(shlex.join(["demo", "--fault", "inflate-credits", "--home", str(home)]))
    assert run.returncode == 3, run.stderr
    (show,) = COMMAND.findall(run.stdout)
    return home, show


def issued(home: Path) -> int:
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as warehouse:
        tables = warehouse.execute("select count(*) from duckdb_tables() where schema_name = 'credits'").fetchone()
        found = warehouse.execute("select count(*) from credits.issued").fetchone() if tables and tables[0] else (0,)
    assert found is not None
    return int(found[0])


def test_from_the_demo_to_the_money_by_what_is_printed(held: tuple[Path, str]) -> None:
    """Show, a key, approve, continue; each command is the one that the last one named."""
    home, show = held
    at = f"--home {shlex.quote(str(home))}"
    shown = typed(show)
    commands = COMMAND.findall(shown.stdout.splitlines()[-1])
    approve = next(c for c in commands if c.startswith("approve "))
    without = typed(approve)
    (keys,) = COMMAND.findall(without.stdout)
    made = typed(keys)
    file = home / "approval.keys"

    assert shown.returncode == 0
    assert {c.split()[0] for c in commands} == {"approve", "reject", "run"}
    assert (without.returncode, "DECISION_REFUSED" in without.stdout) == (1, True)
    assert (keys, made.returncode) == (f"keys new ada {at}", 0)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text().split()[1] not in made.stdout + made.stderr
    assert issued(home) == 0
    approved = typed(approve)
    (go_on,) = COMMAND.findall(approved.stdout)
    assert (approved.returncode, go_on.split()[0]) == (0, "continue"), approved.stderr
    assert issued(home) == 0
    done = typed(go_on)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "credits issued 45 (1392.49 USD)" in done.stdout
    assert issued(home) == 45
    again = typed(go_on)
    assert (again.returncode, "DECISION_REFUSED" in again.stdout, issued(home)) == (4, True, 45)
    used: Any = json.loads(typed(f"{show} --json").stdout)
    assert (used["state"], [d["by"] for d in used["decisions"]]) == ("used", ["ada"])


@pytest.fixture
def waits(world: Any) -> Any:
    """A held month in this process's own world, and its hold."""
    limits = replace(flagship.TASK.limits, credit_cap=Decimal("1.00"))
    home = World(world.home, world.endpoint, "2026-02", replace(flagship.TASK, limits=limits))
    report = home.settle()
    assert report.status == "held"
    return world, next(s.hold_id for s in report.steps if s.hold_id)


def test_holds_are_listed_by_task_and_by_state(waits: Any) -> None:
    """What waits, by default; what is closed only if it is asked for."""
    world, hold_id = waits
    at = f"--home {shlex.quote(str(world.home))}"
    listed = json.loads(typed(f"holds {at} --json").stdout)
    of_another = json.loads(typed(f"holds council_spend {at} --json").stdout)
    in_words = typed(f"holds {TASK} {at}").stdout

    assert [(h["id"], h["state"], h["period"]) for h in listed["holds"]] == [(hold_id, "open", "2026-02")]
    assert of_another["holds"] == []
    assert hold_id in in_words
    key = {"PLANEXEC_APPROVAL_KEY_GRACE": "g" * 40}
    assert typed(f'reject {hold_id} --by grace --reason "a draft" {at}', **key).returncode == 0
    assert json.loads(typed(f"holds {at} --json").stdout)["holds"] == []
    (closed,) = json.loads(typed(f"holds --all {at} --json").stdout)["holds"]
    assert (closed["state"], closed["decisions"][0]["by"]) == ("rejected", "grace")
    shown = typed(f"show {hold_id} {at}").stdout
    assert "REJECTED CAP_EXCEEDED" in shown
    assert "reject by grace" in shown
    assert "a draft" in shown


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_who_rejects_is_told_what_was_issued_already(waits: Any, *, as_json: bool) -> None:
    """A rejection takes nothing back: what the ledger has under the hold is said."""
    world, hold_id = waits
    lines = [Credit("toys", "2026-02", key, 1, Decimal(1), "USD") for key in "abc"]
    journal = World(world.home, world.endpoint, "2026-02", flagship.TASK).work().journal
    try:
        owner = Owner(TASK, "issue_credit", "toy", "an attempt", "a run", None, hold_id)
        ids = write_intents(journal, owner, [Intent(line) for line in lines])
        write_ends(journal, "a run", [Ended(ids[lines[0]], "issued", "seen")])
    finally:
        journal.close()
    words = f'reject {hold_id} --by grace --reason "stop" --home {shlex.quote(str(world.home))}'
    done = typed(words + " --json" * as_json, PLANEXEC_APPROVAL_KEY_GRACE="g" * 40)

    assert done.returncode == 0, done.stderr
    if as_json:
        told = json.loads(done.stdout)
        assert (told["state"], told["lines_issued"], told["lines_begun"]) == ("rejected", 1, 3)
    else:
        assert "1 of 3 lines were issued under it already; nothing more of it is begun" in done.stdout


def test_a_signed_line_records_nothing_and_holds_no_key(waits: Any) -> None:
    """It is printed alone, so that it can be piped; the hold stays open."""
    world, hold_id = waits
    at = f"--home {shlex.quote(str(world.home))}"
    key = {"PLANEXEC_APPROVAL_KEY_ADA": "a-very-secret-key-" * 3}
    done = typed(f'approve {hold_id} --by ada --reason "seen" --sign-only {at}', **key)
    line = parse_signed(done.stdout)

    assert done.stdout.count("\n") == 1
    assert (line.hold, line.decision, line.by, line.reason) == (hold_id, "approve", "ada", "seen")
    assert key["PLANEXEC_APPROVAL_KEY_ADA"] not in done.stdout + done.stderr
    assert json.loads(typed(f"show {hold_id} {at} --json").stdout)["state"] == "open"


def test_every_line_can_be_read_and_is_compared_with_the_hold(waits: Any) -> None:
    """A line that changed since shows before anybody signs."""
    world, hold_id = waits
    at = f"--home {shlex.quote(str(world.home))}"
    before = json.loads(typed(f"show {hold_id} --lines {at} --json").stdout)
    with world.connection() as warehouse:
        warehouse.execute(
            "update recon.lines_202602 set ledger_amount = ledger_amount + 1 where status = 'ledger_only'"
        )
    after = typed(f"show {hold_id} --lines {at}").stdout

    assert before["same"] is True
    assert sorted(line["key"] for line in before["lines"]) == [line["key"] for line in before["lines"]]
    assert "not those that it was opened on" in after


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("approve hold_000000000000 --by ada --reason x", "UNKNOWN_REFERENCE"),
        ("approve HOLD --by mallory --reason x", "DECISION_REFUSED"),
        ("approve HOLD --by ada --reason ' '", "VALIDATION_ERROR"),
        ("continue HOLD", "DECISION_REFUSED"),
        ("keys new 'Ada Lovelace'", "VALIDATION_ERROR"),
    ],
)
def test_what_does_not_count_is_refused_in_words(waits: Any, words: str, code: str) -> None:
    """A document with a code and what to do, never a stack trace."""
    world, hold_id = waits
    key = {"PLANEXEC_APPROVAL_KEY_ADA": "a" * 40, "PLANEXEC_APPROVAL_KEY_MALLORY": "m" * 40}
    done = typed(f"{words.replace('HOLD', hold_id)} --home {shlex.quote(str(world.home))} --json", **key)
    document = json.loads(done.stdout)

    assert document["code"] == code
    assert document["hint"]
    assert "Traceback" not in done.stderr
