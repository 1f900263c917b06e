"""One file of a load: its header, and the columns that the table takes from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import Cell, cell
from dagster_planexec.world.delivery.delimited import header_record, shown
from dagster_planexec.world.ingest import FileFormat, TextIngest


@dataclass(frozen=True, slots=True)
class File:
    """One file of a request, with its header and the columns that the table takes from it."""

    path: Path
    form: FileFormat
    header: tuple[str, ...]
    blank_lines: int
    """Lines with nothing on them above the header; to DuckDB the first line is the header, whatever it holds."""
    cells: tuple[Cell, ...]


def file_of(path: Path, request: TextIngest) -> File:
    """The file, with an expression for every column of the table.

    Raises:
        PortError: EMPTY_EXTRACT without a header, MISSING_COLUMN, VALIDATION_ERROR if two columns are one.
    """
    first = header_record(path, request.format)
    if first is None:
        raise PortError("EMPTY_EXTRACT", f"{path.name} has not even a header", hint="ask the vendor for the data")
    trimmed = [name.strip() for name in first.fields]
    if twice := [name for name, count in Counter(trimmed).items() if count > 1]:
        raise _twice(path, f"{trimmed.count(twice[0])} columns named {shown(twice[0])}")
    cells = []
    for column in request.columns:
        known = [name.strip() for name in (column.header, *column.aliases) if name is not None]
        at = [index for index, name in enumerate(trimmed) if name in known]
        index = at[0] if at else None
        if len(at) > 1:
            raise _twice(path, f"columns {', '.join(shown(trimmed[i]) for i in at)} that all stand for {column.name!r}")
        if index is None and column.header is not None:
            raise PortError(
                "MISSING_COLUMN",
                f"{path.name} has no column {' or '.join(shown(name) for name in known)} for {column.name!r}; "
                f"it has {', '.join(shown(name) for name in trimmed[:20])}",
                hint="ask the vendor, or add the new header to the contract",
            )
        if index is None:
            absent = f"cast(null as {column.sql_type})"
            cells.append(Cell(column, absent, absent, None))
        else:
            cells.append(cell(column, f"f{index}"))
    return File(path, request.format, tuple(first.fields), first.line - 1, tuple(cells))


def _twice(path: Path, what: str) -> PortError:
    return PortError(
        "VALIDATION_ERROR",
        f"{path.name} has {what}; which of them is meant is not declared",
        hint="ask the vendor which column is which",
    )
