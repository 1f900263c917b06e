"""Effects, what became of them, and decisions: the database itself refuses to change or to delete them."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t

EFFECT = {
    "effect_scope": "s", "period": "2026-03", "line_key": "c-1", "ordinal": 1, "amount": "12.00", "currency": "USD",
    "target": "x", "task": "t", "tool": "pay", "attempt": "a", "run_id": "r", "intended_at": "then",
    "state": "intended",
}  # fmt: skip
CHANGE = {"effect": 1, "at": "then", "state": "issued", "by": "r", "said": "answered"}
DECISION = {
    "hold_id": "h", "decision": "approve", "by": "ada", "at": "then", "key_id": "ada", "body": "{}", "signature": "s"
}  # fmt: skip
ROWS = ((t.effects, EFFECT), (t.effect_changes, CHANGE), (t.decisions, DECISION))


@pytest.fixture
def filled(journal: Journal) -> Journal:
    """One row in each table."""
    with journal.engine.begin() as db:
        for table, row in ROWS:
            db.execute(sa.insert(table).values(**row))
    return journal


@pytest.mark.parametrize(
    ("column", "value"),
    [("effect_scope", "other"), ("period", "2026-04"), ("line_key", "c-2"), ("ordinal", 2), ("amount", "25.00"),
     ("currency", "EUR"), ("target", "y"), ("intended_at", "now")],
)  # fmt: skip
def test_what_an_effect_was_meant_to_be_never_changes(filled: Journal, column: str, value: object) -> None:
    """Its scope, period, key, amount and target: an edit is refused, and nothing of it stays."""
    with pytest.raises(sa.exc.IntegrityError, match="meant to be"), filled.engine.begin() as db:
        db.execute(sa.update(t.effects).values({column: value}))
    assert _row(filled, t.effects)[column] == EFFECT[column]


def test_how_an_effect_ended_may_be_written(filled: Journal) -> None:
    """An intent gets its outcome."""
    with filled.engine.begin() as db:
        db.execute(sa.update(t.effects).values(state="issued", ended_at="now", said="201"))
    assert _row(filled, t.effects)["state"] == "issued"


@pytest.mark.parametrize("table", [t.effect_changes, t.decisions], ids=lambda table: table.name)
def test_what_was_noted_never_changes(filled: Journal, table: sa.Table) -> None:
    """Neither who decided nor how a line was settled."""
    before = _row(filled, table)
    with pytest.raises(sa.exc.IntegrityError, match="only ever added"), filled.engine.begin() as db:
        db.execute(sa.update(table).values(by="mallory"))
    assert _row(filled, table) == before


@pytest.mark.parametrize("table", [table for table, _ in ROWS], ids=lambda table: table.name)
def test_nothing_is_deleted_or_replaced(filled: Journal, backend: str, table: sa.Table) -> None:
    """Also not by the ways around a delete that each database has."""
    before = _row(filled, table)
    ways = [sa.delete(table)]
    if backend == "sqlite":
        names = ", ".join(f'"{c.name}"' for c in table.columns)
        ways.append(sa.text(f"insert or replace into {table.name} ({names}) select {names} from {table.name}"))
    else:
        ways.append(sa.text(f"truncate {table.name}"))
    for way in ways:
        with pytest.raises(sa.exc.IntegrityError, match="only ever added"), filled.engine.begin() as db:
            db.execute(way)
    assert _row(filled, table) == before


def _row(journal: Journal, table: sa.Table) -> dict[str, object]:
    with journal.reader.connect() as db:
        (row,) = db.execute(sa.select(table)).mappings().all()
    return dict(row)
