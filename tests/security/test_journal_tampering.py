"""Somebody who can write to the journal's database: rows are edited under a month, and the month is run again.

The journal is no observer. What it says is compared with the world before money moves, so a forged row makes the month
stop, or be done again from the world; it issues nothing that the world does not justify, and nothing twice.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.demo.world import DemoWorld
from tests.support.months import World

PERIOD = "2026-02"
Edit = Callable[[sqlite3.Connection, World], Any]


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory, seeded: Path, endpoint: str) -> tuple[Path, Any]:
    """A home whose month ended well, and the credits that were rightly issued."""
    home = tmp_path_factory.mktemp("settled") / "home"
    shutil.copytree(seeded, home)
    DemoWorld(home, endpoint, period=PERIOD).seed_drop()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANEXEC_HOME", str(home))
        world = World(home, endpoint, period=PERIOD)
        assert world.settle().status == "succeeded"
        due = world.credits()
    assert due
    return home, due


@pytest.fixture
def again(
    tmp_path: Path, settled: tuple[Path, Any], endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[World, Any]]:
    """A copy of it whose credits are undone: what is issued from here on, a run of this test has issued."""
    home, due = settled
    shutil.copytree(home, tmp_path / "home")
    DemoWorld(tmp_path / "home", endpoint, period=PERIOD).seed_drop()
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path / "home"))
    return World(tmp_path / "home", endpoint, period=PERIOD), due


def edit(world: World, change: Edit) -> None:
    with sqlite3.connect(world.home / "journal.sqlite") as db:
        db.row_factory = sqlite3.Row
        for (name,) in db.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            db.execute(f'drop trigger "{name}"')  # who can write can do that first
        change(db, world)
    db.close()


def bodies(
    db: sqlite3.Connection, tool: str, change: Callable[[dict[str, Any]], None], *, sealed: bool = False
) -> None:
    """Change the stored result of a tool; with `sealed`, its digest is made good again."""
    from dagster_planexec.plan.digest import digest_of

    for row in db.execute("select seq, body from planexec_results where tool = ?", (tool,)).fetchall():
        body = json.loads(row["body"])
        change(body)
        if sealed:
            body["digest"] = digest_of({name: value for name, value in body.items() if name != "digest"})
        db.execute("update planexec_results set body = ? where seq = ?", (json.dumps(body, sort_keys=True), row["seq"]))


def plan_bytes(db: sqlite3.Connection, _: World) -> None:
    """Another cap and another source in the stored plan."""
    for row in db.execute("select digest, body from planexec_plans").fetchall():
        db.execute("update planexec_plans set body = ? where digest = ?",
                   (bytes(row["body"]).replace(b"issue_credit", b"write_report"), row["digest"]))  # fmt: skip


def plan_digest(db: sqlite3.Connection, _: World) -> None:
    """The attempt has the digest of no plan."""
    db.execute("update planexec_attempts set plan_digest = ?", ("f" * 64,))


def admission(db: sqlite3.Connection, _: World) -> None:
    """Other objects, other digests, another fingerprint were admitted."""
    for row in db.execute("select id, admission from planexec_attempts").fetchall():
        text = row["admission"]
        for digest in set(__import__("re").findall(r"[0-9a-f]{64}", text)):
            text = text.replace(digest, "0" * 64)
        db.execute("update planexec_attempts set admission = ? where id = ?", (text, row["id"]))


def admission_broken(db: sqlite3.Connection, _: World) -> None:
    """No JSON any more."""
    db.execute("update planexec_attempts set admission = '{'")


def results_edited(db: sqlite3.Connection, _: World) -> None:
    """A result names another table; its digest is left as it was."""
    bodies(db, "run_sql", lambda body: body["result"].update(table="staging.forged"))


def results_forged(db: sqlite3.Connection, world: World) -> None:
    """A result names another table, with a digest that fits: a table in which everything is credited, ten times."""
    _forge_lines(world)
    bodies(db, "run_sql", lambda body: body["result"].update(table="recon.forged"), sealed=True)


def seals_forged(db: sqlite3.Connection, world: World) -> None:
    """The table itself is replaced, and the seal is made to fit it."""
    from dagster_planexec.world.probes.table.tables import FingerprintTable

    _forge_lines(world)
    work = world.work()
    try:
        with work.ports.warehouse.session() as session:
            (table,) = session.rows("select table_name from duckdb_tables() where schema_name = 'recon' and "
                                    "table_name <> 'forged' limit 1")[0]  # fmt: skip
            session.execute(f'create or replace table recon."{table}" as select * from recon.forged')
        seen = FingerprintTable(f"recon.{table}").observe(work.ports)
    finally:
        work.journal.close()
    facts = dict(seen.facts)
    bodies(db, "run_sql", lambda body: body["seal"].update(facts=facts), sealed=True)


def _forge_lines(world: World) -> None:
    from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse

    with DuckDbWarehouse(world.home / "warehouse.duckdb").session() as session:
        (table,) = session.rows("select table_name from duckdb_tables() where schema_name = 'recon' limit 1")[0]
        columns = session.describe(f"recon.{table}") or ()
        money = [c.name for c in columns if c.type.startswith("DECIMAL")]
        changed = ", ".join(f'"{name}" * 10 as "{name}"' for name in money[:1])
        session.execute(f'create or replace table recon.forged as select * replace ({changed}) from recon."{table}"')


def landings(db: sqlite3.Connection, world: World) -> None:
    """The landed copy is another file, and one that would lead out of the landing."""
    db.execute("update planexec_landings set sha256 = '../../../../etc/passwd'")


def month_swapped(db: sqlite3.Connection, _: World) -> None:
    """Everything that was done for February was done for January."""
    for table in ("attempts", "landings", "holds"):
        db.execute(f"update planexec_{table} set period = '2026-01'")


def task_swapped(db: sqlite3.Connection, _: World) -> None:
    """... and by another task."""
    for table in ("attempts", "landings", "holds"):
        db.execute(f"update planexec_{table} set task = 'council_spend'")


def events_gone(db: sqlite3.Connection, _: World) -> None:
    """Nothing ever happened."""
    db.execute("delete from planexec_events")


def events_broken(db: sqlite3.Connection, _: World) -> None:
    """Payloads that are no JSON."""
    db.execute("update planexec_events set payload = '['")


def gates_forged(db: sqlite3.Connection, _: World) -> None:
    """Every verdict that was ever judged is passed."""
    for row in db.execute("select seq, payload from planexec_events").fetchall():
        text = row["payload"].replace('"failed"', '"passed"').replace('"not-evaluated"', '"passed"')
        db.execute("update planexec_events set payload = ? where seq = ?", (text, row["seq"]))


EDITS = (
    plan_bytes, plan_digest, admission, admission_broken, results_edited, results_forged, seals_forged, landings,
    month_swapped, task_swapped, events_gone, events_broken, gates_forged,
)  # fmt: skip


@pytest.mark.parametrize("change", EDITS, ids=lambda change: change.__name__)
def test_no_edit_of_the_journal_issues_what_the_world_does_not_justify(again: tuple[World, Any], change: Edit) -> None:
    """The month again over forged rows: refused, stopped, or done again from the world; credits are what they were."""
    world, due = again
    edit(world, change)
    report = world.settle()

    assert report.status in {"succeeded", "stopped", "rejected", "error", "held"}, report.text
    assert report.code != "INTERNAL", report.text
    assert world.credits() == due


@pytest.mark.parametrize("change", [results_forged, seals_forged, gates_forged, events_gone], ids=lambda c: c.__name__)
def test_nor_where_nothing_was_issued_yet(again: tuple[World, Any], change: Edit) -> None:
    """The credit table is empty, as before the first run: at most what is due is issued, to the cent."""
    world, due = again
    from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse

    with DuckDbWarehouse(world.home / "warehouse.duckdb").session() as session:
        session.execute("delete from credits.issued")

    def without_the_effect(db: sqlite3.Connection, of: World) -> None:
        change(db, of)
        db.execute("delete from planexec_results where tool = 'issue_credit'")

    edit(world, without_the_effect)
    report = world.settle()

    assert report.code != "INTERNAL", report.text
    assert set(world.credits()) <= set(due)
