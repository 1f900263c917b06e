"""One file of a load: its header, and the columns that the table takes from it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import Cell, absent, cell, cell_of_two
from dagster_planexec.resources.loading.rows import judged
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
        index = _found(path, trimmed, column.name, known, required=column.header is not None)
        other = None
        if column.minus:
            minus = [name.strip() for name in column.minus]
            other = _found(path, trimmed, f"{column.name} (minus)", minus, required=index is not None)
        if index is None:
            cells.append(absent(column))
        elif other is None:
            cells.append(cell(column, f"f{index}"))
        else:
            cells.append(cell_of_two(column, f"f{index}", f"f{other}"))
    return File(path, request.format, tuple(first.fields), first.line - 1, judged(cells, request))


def _found(path: Path, header: list[str], wanted: str, known: list[str], *, required: bool) -> int | None:
    """Where the header has one of these names."""
    at = [index for index, name in enumerate(header) if name in known]
    if len(at) > 1:
        raise _twice(path, f"columns {', '.join(shown(header[i]) for i in at)} that all stand for {wanted!r}")
    if not at and required:
        raise PortError(
            "MISSING_COLUMN",
            f"{path.name} has no column {' or '.join(shown(name) for name in known)} for {wanted!r}; "
            f"it has {', '.join(shown(name) for name in header[:20])}",
            hint="ask the vendor, or add the new header to the contract",
        )
    return at[0] if at else None


def _twice(path: Path, what: str) -> PortError:
    return PortError(
        "VALIDATION_ERROR",
        f"{path.name} has {what}; which of them is meant is not declared",
        hint="ask the vendor which column is which",
    )
