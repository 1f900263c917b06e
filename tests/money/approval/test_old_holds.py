"""Holds of a journal from before there were decisions."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.decisions import decisions_of
from dagster_planexec.journal.money.approvals.holds import holds_of
from tests.support.planexec import PROJECT

OLD = PROJECT / "tests" / "journal" / "old" / "before_versions.sql"


@pytest.mark.parametrize("looking", [True, False], ids=["to look", "to write"])
def test_holds_of_an_old_journal_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, looking: bool) -> None:
    """Looked at it stays as it is; brought up to date it has them too. Nobody can approve one: it binds nothing."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    with sqlite3.connect(tmp_path / "journal.sqlite") as db:
        db.executescript(OLD.read_text(encoding="utf-8"))
    journal = Journal(looking=looking)
    try:
        (held,) = holds_of(journal, states=("open",))
        assert (held.code, held.facts, held.bound, held.shown) == ("CAP_EXCEEDED", {"count": 60}, None, {})
        assert decisions_of(journal, [held.id]) == {held.id: ()}
    finally:
        journal.close()
