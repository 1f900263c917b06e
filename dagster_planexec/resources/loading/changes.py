"""How many cells text rules changed, by column: what they do is stated, and never hidden."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.resources.loading.files import File
from dagster_planexec.world.ingest import TextIngest

if TYPE_CHECKING:
    import duckdb


class Changes:
    """Adds up, file by file."""

    def __init__(self, request: TextIngest) -> None:
        self.by_column = {column.name: 0 for column in request.columns if column.normalise}

    def count(
        self, connection: duckdb.DuckDBPyConnection, file: File, reader: str, path: Path, *, where: str = "true"
    ) -> None:
        """Read the file once more, if any of its columns has rules: an insert tells only how many rows it made."""
        ruled = [(c.column.name, c.changed) for c in file.cells if c.changed is not None]
        if not ruled:
            return
        counts = ", ".join(f"count(*) filter ({changed})" for _, changed in ruled)
        row = connection.execute(f"select {counts} from {reader} where {where}", [str(path)]).fetchone()
        for (name, _), count in zip(ruled, row or (), strict=True):
            self.by_column[name] += count
