"""The audit's tables: their columns, and rows written in one transaction with every value bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dagster_planexec.world.ports import Session, SqlValue
from dagster_planexec.world.sides.relation import prepared_target

PACKAGES = ("lockfile", "ecosystem", "name", "version")
LOOKED_UP = (*PACKAGES, "verdict", "advisory", "summary")
"""One row for each advisory that a package falls under; one row without an advisory for a clean package."""
FIXES = (*LOOKED_UP, "fix", "fixed_version")
"""The rows with an advisory; `fix` is `found` or `absent`, and then there is no `fixed_version`."""
_AT_ONCE = 200


def write_table(
    session: Session,
    target: str,
    columns: Sequence[str],
    rows: Iterable[Sequence[SqlValue]],
    *,
    read: Iterable[str] = (),
) -> None:
    """Make or replace a table of texts.

    Args:
        session: The warehouse.
        target: `schema.table`.
        columns: Its columns.
        rows: Its rows.
        read: Tables that are read, which the target may not be.

    Raises:
        PortError: VALIDATION_ERROR for such a target; what the warehouse says.
    """
    with session.transaction():
        quoted = prepared_target(session, target, read)
        session.execute(f"create or replace table {quoted} ({', '.join(f'{name} varchar' for name in columns)})")
        one = f"({', '.join('?' for _ in columns)})"
        pending = list(rows)
        for at in range(0, len(pending), _AT_ONCE):
            some = pending[at : at + _AT_ONCE]
            values = ", ".join([one] * len(some))
            session.execute(f"insert into {quoted} values {values}", [value for row in some for value in row])
