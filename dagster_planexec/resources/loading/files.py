"""One file of a load: its header, and the columns that the table takes from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import Cell, absent, cell, cell_of_two
from dagster_planexec.resources.loading.formats.parquet import columns_of, typed_cell
from dagster_planexec.resources.loading.rows import judged
from dagster_planexec.world.delivery.delimited import Record
from dagster_planexec.world.delivery.heads import head_of
from dagster_planexec.world.delivery.parts import Part, parts_of
from dagster_planexec.world.delivery.text.headers import normal_header
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.delivery.workbook.rows import TYPED_DATE
from dagster_planexec.world.ingest import TextColumn, TextIngest

if TYPE_CHECKING:
    import duckdb


@dataclass(frozen=True, slots=True)
class File:
    """One part of a request, with its header and the columns that the table takes from it."""

    part: Part
    header: tuple[str, ...]
    blank_lines: int
    """Lines with nothing on them above the header; to DuckDB the first line is the header, whatever it holds."""
    cells: tuple[Cell, ...]
    columns: Mapping[int, TextColumn]
    """What the table takes, by its position in the file."""

    @property
    def name(self) -> str:
        """What rejects and messages call it."""
        return self.part.name


def files_of(connection: duckdb.DuckDBPyConnection, path: Path, request: TextIngest) -> tuple[File, ...]:
    """The parts of a file, each with an expression for every column of the table.

    Raises:
        PortError: EMPTY_EXTRACT without a header, MISSING_COLUMN, VALIDATION_ERROR if two columns are one, and as
            `parts_of` and the reader of its format.
    """
    return tuple(_file_of(connection, part, request) for part in parts_of(path, request.format))


def _file_of(connection: duckdb.DuckDBPyConnection, part: Part, request: TextIngest) -> File:
    kinds: list[str] = []
    if part.form.kind == "parquet":
        names, kinds = columns_of(connection, part)
        first: Record | None = Record(0, names)
    else:
        first = head_of(part)
    if first is None:
        raise PortError("EMPTY_EXTRACT", f"{part.name} has not even a header", hint="ask the vendor for the data")
    header = tuple(first.fields)
    cells: list[Cell] = []
    columns: dict[int, TextColumn] = {}
    for column in request.columns:
        index = _place(part, header, column.name, (column.header, *column.aliases), required=column.header is not None)
        other = None
        if column.minus:
            other = _place(part, header, f"{column.name} (minus)", column.minus, required=index is not None)
        columns |= {at: column for at in (index, other) if at is not None}
        if index is None:
            cells.append(absent(column))
        elif kinds:
            cells.append(typed_cell(part, column, [(at, kinds[at]) for at in (index, other) if at is not None]))
        elif other is not None:
            cells.append(cell_of_two(column, f"f{index}", f"f{other}"))
        else:
            cells.append(cell(_typed_too(column) if part.form.kind == "xlsx" else column, f"f{index}"))
    blank = max(0, first.line - 1 - part.form.skip_lines)
    return File(part, header, blank, judged(cells, request), columns)


def _typed_too(column: TextColumn) -> TextColumn:
    return replace(column, formats=(TYPED_DATE, *column.formats)) if column.type == "date" else column


def _place(
    part: Part, header: Sequence[str], wanted: str, names: Sequence[str | None], *, required: bool
) -> int | None:
    """Where the header has one of these names; None if it has none and need not."""
    rules = part.form.header_rules
    normal = [normal_header(name, rules) for name in header]
    known = {normal_header(name, rules): name.strip() for name in names if name is not None}
    at = [index for index, name in enumerate(normal) if name in known]
    if len(at) > 1 and normal.count(normal[at[0]]) == len(at):
        raise _twice(part, f"{len(at)} columns named {shown(header[at[0]].strip())}")
    if len(at) > 1:
        raise _twice(part, f"columns {', '.join(shown(header[i].strip()) for i in at)} that all stand for {wanted!r}")
    if not at and required:
        raise PortError(
            "MISSING_COLUMN",
            f"{part.name} has no column {' or '.join(shown(name) for name in known.values())} for {wanted!r}; "
            f"it has {', '.join(shown(name.strip()) for name in header[:20])}",
            hint="ask the vendor, or add the new header to the contract",
        )
    return at[0] if at else None


def _twice(part: Part, what: str) -> PortError:
    return PortError(
        "VALIDATION_ERROR",
        f"{part.name} has {what}; which of them is meant is not declared",
        hint="ask the vendor which column is which",
    )
