"""Everything that an answer shows the first of, saved where a person says: all rejects, all lines that differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dagster_planexec.cli.trying.delivery import Tried
from dagster_planexec.cli.trying.sides import TriedSides
from dagster_planexec.contract.layout import result_layout
from dagster_planexec.errors import PlanexecError
from dagster_planexec.tools.report.differences import BATCH, Column, Differences, Lines, columns_of, parquet_of, xlsx_of
from dagster_planexec.tools.report.files import NAME, write_whole
from dagster_planexec.world.ingest import REJECTS
from dagster_planexec.world.ports import Session, SqlValue, Warehouse

_WRITERS: dict[str, Callable[[Lines], Callable[[BinaryIO], None]]] = {".parquet": parquet_of, ".xlsx": xlsx_of}


@dataclass(frozen=True, slots=True)
class _Rejects:
    """Every refused cell of a delivery, with the file's name in place of its digest."""

    session: Session
    table: str
    tried: Tried
    title: str = "rejects"

    @property
    def columns(self) -> tuple[Column, ...]:
        """Source, line, column, value, reason, amount."""
        return columns_of(self.session, self.table)

    def batches(self, columns: Sequence[Column]) -> Iterator[list[tuple[SqlValue, ...]]]:
        """By file and line."""
        quote = self.session.quote
        shown = ", ".join(quote(column.name) for column in columns)
        asked = f"select {shown} from {quote(self.table)} order by source, line, rowid"
        at = [column.name for column in columns].index("source")
        for rows in self.session.batches(asked, size=BATCH):
            yield [(*row[:at], self.tried.name_of(str(row[at])), *row[at + 1 :]) for row in rows]


@dataclass(slots=True)
class _Counted:
    """Lines that are counted as they are handed to a writer."""

    lines: Lines
    rows: int = 0

    @property
    def title(self) -> str:
        """Theirs."""
        return self.lines.title

    @property
    def columns(self) -> tuple[Column, ...]:
        """Theirs."""
        return self.lines.columns

    def batches(self, columns: Sequence[Column]) -> Iterator[list[tuple[SqlValue, ...]]]:
        """Theirs, counted."""
        for rows in self.lines.batches(columns):
            self.rows += len(rows)
            yield rows


def must_be_place(place: Path | None, inputs: Sequence[Path]) -> None:
    """Refuse a place where nothing should be written, before anything is loaded.

    Args:
        place: Where all rows are to be saved; None if nowhere.
        inputs: What was given to be read, and is never overwritten.

    Raises:
        PlanexecError: VALIDATION_ERROR.
    """
    if place is None:
        return
    wrong = _wrong_with(place, inputs)
    if wrong is not None:
        hint = f"name a file that ends in {' or '.join(_WRITERS)}, in a folder that is there"
        raise PlanexecError("VALIDATION_ERROR", f"nothing can be saved as {str(place)[:200]!r}: {wrong}", hint=hint)


def _wrong_with(place: Path, inputs: Sequence[Path]) -> str | None:
    if not re.fullmatch(NAME, place.name):
        return "its name has more than letters, digits, `_`, `.` and `-`, or more than 100 of them"
    if place.suffix.lower() not in _WRITERS:
        return "nobody knows by its ending how to write it"
    if not place.parent.is_dir():
        return "its folder is not there"
    if place.is_symlink() or (place.exists() and not place.is_file()):
        return "a link or a folder is there, and no file"
    if place.exists() and any(given.exists() and place.samefile(given) for given in inputs):
        return "it is one of the files that are read"
    return None


def save_rejects(warehouse: Warehouse, tried: Tried, table: str, place: Path) -> int | None:
    """Write every refused cell to a file; of a delivery without any, its columns alone.

    Args:
        warehouse: Where the table is.
        tried: The delivery.
        table: Its table, `schema.table`.
        place: A Parquet file or a workbook; replaced as a whole.

    Returns:
        Rows written: refused cells, of which a row may have several. None if no row was looked at: nothing is written.

    Raises:
        PlanexecError: DISK_FULL, FORBIDDEN.
    """
    with warehouse.session() as session:
        if session.describe(table + REJECTS) is None:
            return None
        return _saved(_Rejects(session, table + REJECTS, tried), place)


def save_differences(warehouse: Warehouse, tried: TriedSides, place: Path) -> int | None:
    """Write every line that is not identical to a file, with all columns of the result.

    Args:
        warehouse: Where the result is.
        tried: What was compared.
        place: As of `save_rejects`.

    Returns:
        Lines written. None if nothing could be compared: nothing is written.

    Raises:
        PlanexecError: As `save_rejects`.
    """
    with warehouse.session() as session:
        if tried.task is None or tried.table is None or session.describe(tried.table) is None:
            return None
        return _saved(Differences(session, tried.table, result_layout(tried.task)), place)


def saved_as(place: Path, rows: int | None) -> dict[str, object] | None:
    """What the answer says of the file; None if none was written."""
    return None if rows is None else {"file": str(place), "rows": rows}


def _saved(lines: Lines, place: Path) -> int:
    counted = _Counted(lines)
    write_whole(place.parent, {place.name: _WRITERS[place.suffix.lower()](counted)})
    return counted.rows
