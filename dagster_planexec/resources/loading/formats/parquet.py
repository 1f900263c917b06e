"""Parquet, read by DuckDB: every column that the table takes becomes text, and goes the way of all cells.

What is typed in the file is exact there, and its text is the one that says so: a decimal without the zeros of its
scale, a date as ISO writes it. A floating type holds no exact amount and no key, and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.cells import Cell, cell, cell_of_two, literal
from dagster_planexec.world.delivery.columnar import cut_off
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.ingest import NumberStyle, TextColumn

if TYPE_CHECKING:
    import duckdb

_INTEGERS = {f"{sign}{size}INT" for sign in ("", "U") for size in ("TINY", "SMALL", "BIG", "HUGE")} | {
    "INTEGER",
    "UINTEGER",
}
_DECIMAL = re.compile(r"DECIMAL\(\d+,(\d+)\)")
_TOO_WIDE = "DECIMAL256"
"""What a decimal of more than 38 digits is called here; DuckDB reads it as a DOUBLE."""
_TEXT = ("VARCHAR", "UUID", "BOOLEAN")


def columns_of(connection: duckdb.DuckDBPyConnection, part: Part) -> tuple[list[str], list[str]]:
    """Names and types of the columns, in order, as DuckDB reads them.

    Raises:
        PortError: TRUNCATED_STREAM.
    """
    import duckdb  # noqa: PLC0415 - loaded already by whoever opened the connection

    path = str(part.path.absolute())
    try:
        schema = connection.execute(
            "select name, num_children, converted_type, precision, scale from parquet_schema(?)", [path]
        ).fetchall()
        kinds = connection.execute("describe select * from read_parquet(?)", [path]).fetchall()
    except duckdb.Error as error:
        raise cut_off(part, error) from error
    names: list[str] = []
    types, at = [str(kind[1]) for kind in kinds], 1
    while at < len(schema):
        name, _, kind, precision, scale = schema[at]
        if kind == "DECIMAL" and types[len(names) : len(names) + 1] == ["DOUBLE"]:
            types[len(names)] = f"{_TOO_WIDE}({precision},{scale})"
        names.append(str(name))
        at = _behind(schema, at)
    return names, types


def _behind(schema: Sequence[tuple[object, ...]], at: int) -> int:
    """The position behind a column and all that is nested in it."""
    left = 1
    while left:
        left += int(str(schema[at][1] or 0)) - 1
        at += 1
    return at


def relation(width: int, *, numbered: bool = False) -> str:
    """All columns by position, as `f0`, `f1`, ...: DuckDB takes names for one that differ in case only."""
    names = ", ".join(f"f{index}" for index in range(width))
    if numbered:
        return f"(select n + 1 as line, {names} from read_parquet(?, file_row_number=true) as t({names}, n))"
    return f"read_parquet(?) as t({names})"


def typed_cell(part: Part, column: TextColumn, places: Sequence[tuple[int, str]]) -> Cell:
    """The expressions of one column, made of one column of the file, or of two (debits, and credits taken off).

    Args:
        part: The file.
        column: What the contract declares.
        places: Position and type of each.

    Raises:
        PortError: BAD_AMOUNT for a number in a floating type, BAD_FORMAT for anything else that is no text, number,
            date or truth value.
    """
    (index, kind), *others = places
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return _day(column, index, kind)
    texts = [_text(part, column, at, of) for at, of in places]
    typed = [of not in _TEXT for _, of in places]
    if any(typed) and column.type != "text":
        if not all(typed):
            raise _not_exact(part, column, kind, "is not of the type of the one that is taken off")
        column = replace(column, number=NumberStyle(minor_units=column.number.minor_units))
    return cell_of_two(column, *texts) if others else cell(column, texts[0])


def _text(part: Part, column: TextColumn, index: int, kind: str) -> str:
    text = f"nullif(cast(f{index} as varchar), '')"
    scaled = _DECIMAL.fullmatch(kind)
    if kind in _TEXT or kind in _INTEGERS or kind.startswith("ENUM("):
        return text
    if scaled is not None:  # the zeros at its end are the type's, not the value's
        return f"rtrim(rtrim({text}, '0'), '.')" if scaled[1] != "0" else text
    number = column.type in {"decimal", "integer"}
    if kind.startswith(_TOO_WIDE):
        raise _not_exact(part, column, kind.replace("256", ""), "has more than the 38 digits that can be read exactly")
    raise _not_exact(part, column, kind, "holds no exact amount" if number else "is no text, number or date")


def _not_exact(part: Part, column: TextColumn, kind: str, what: str) -> PortError:
    number = column.type in {"decimal", "integer"}
    return PortError(
        "BAD_AMOUNT" if number else "BAD_FORMAT",
        f"{part.name}: the column for {column.name!r} is of type {kind[:40]}, which {what}",
        hint="ask the vendor for a DECIMAL column of up to 38 digits"
        if number
        else "ask the vendor for a column of text",
    )


def _day(column: TextColumn, index: int, kind: str) -> Cell:
    value = f"f{index}"
    if column.type != "date":
        return cell(column, f"cast({value} as varchar)")
    if kind == "TIMESTAMP WITH TIME ZONE":
        value = f"({value} at time zone {literal(column.zone)})"
    return cell(replace(column, formats=("%Y-%m-%d",)), f"cast(cast({value} as date) as varchar)")
