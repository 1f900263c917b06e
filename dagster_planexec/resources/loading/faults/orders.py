"""What is said of a date column whose format is not declared: in which of the common orders its cells can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import Cell, cell
from dagster_planexec.resources.loading.files import File
from dagster_planexec.resources.loading.reader import SMALL_BUFFER, straight
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.ingest import EXCEL_1900, EXCEL_1904, TextIngest

if TYPE_CHECKING:
    import duckdb

_DAYS = (
    "%Y-%m-%d", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d.%m.%Y", "%m.%d.%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d",
    "%d-%b-%Y", "%d %b %Y", "%b %d, %Y", "%d %B %Y", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d", "%d.%m.%y", "%d-%b-%y",
)  # fmt: skip
COMMON = (
    *_DAYS, *(f"{one} %H:%M:%S" for one in _DAYS[:6]), "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S%z",
    EXCEL_1900, EXCEL_1904,
)  # fmt: skip
"""The orders that are looked for. They are named to a person, and none is ever chosen."""


def expect_formats(
    connection: duckdb.DuckDBPyConnection, request: TextIngest, files: Sequence[File], scratch: Path
) -> None:
    """Every date column that a file has declares its formats.

    Raises:
        PortError: AMBIGUOUS_DATE if the cells can be read in more than one of the common orders, naming them;
            BAD_CONTRACT if in one, naming it, or in none.
    """
    for column in request.columns:
        if column.type != "date" or column.formats:
            continue
        found = [
            (file, one, number)
            for number, file in enumerate(files)
            for one in file.cells
            if one.column.name == column.name and one.empty != "true" and not one.column.formats
        ]
        if not found:
            continue
        cells, first, fits = 0, "", set(COMMON)
        for file, one, number in found:
            count, example, readable_as = _orders(connection, file, one, scratch / f"dates-{number}")
            cells, first, fits = cells + count, first or example, fits & readable_as
        raise _undeclared(column.name, cells, first, [form for form in COMMON if form in fits])


def _orders(connection: duckdb.DuckDBPyConnection, file: File, one: Cell, scratch: Path) -> tuple[int, str, set[str]]:
    """How many cells are filled, the first of them, and the orders in which all of them can be read."""
    import duckdb  # noqa: PLC0415 - heavy, and only needed here

    read_as = [cell(replace(one.column, formats=(form,)), one.text).value for form in COMMON]
    unread = ", ".join(f"count(*) filter (({value}) is null)" for value in read_as)
    try:
        read = straight(file, scratch, SMALL_BUFFER)
        row = connection.execute(
            f"select count(*), any_value({one.text}), {unread} from {read.sql} where {read.data} and not ({one.empty})",
            [str(read.path)],
        ).fetchone()
    except (duckdb.Error, UnicodeDecodeError):
        return 0, "", set()  # the file has another fault, and the contract has this one
    assert row is not None  # noqa: S101 - an aggregate has one row
    count, example, *counts = row
    return count, example or "", {form for form, missed in zip(COMMON, counts, strict=True) if not missed}


def _undeclared(name: str, cells: int, first: str, fits: list[str]) -> PortError:
    said = f"column {name!r} declares no date format"
    if not cells:
        return PortError("BAD_CONTRACT", said, hint="declare formats in the file contract")
    seen = f"; its {cells} cells, such as {shown(first)},"
    if not fits:
        hint = "declare formats in the file contract: strptime formats, EXCEL_1900 or EXCEL_1904"
        return PortError("BAD_CONTRACT", f"{said}{seen} cannot be read in any of the common orders", hint=hint)
    if len(fits) == 1:
        hint = f"ask the vendor; if it is right, declare formats: [{fits[0]!r}]"
        return PortError("BAD_CONTRACT", f"{said}{seen} can be read as {fits[0]}", hint=hint)
    text = f"{said}{seen} can be read as {' and as '.join(fits[:6])}"
    return PortError(
        "AMBIGUOUS_DATE", text, hint="ask the vendor which it is, and declare formats in the file contract"
    )
