"""What stands above and below the records of a file that nothing is declared of yet: titles, totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from dagster_planexec.contract.file.column import Column
from dagster_planexec.world.delivery.text.numbers import Numbers

_TAIL = 5
_TOTALS = ("total", "***", "trl", "end", "sum", "gesamt", "totaal", "grand", "trailer")


def without_tail(
    records: Sequence[tuple[str, ...]], width: int
) -> tuple[Sequence[tuple[str, ...]], tuple[tuple[str, ...], ...]]:
    """The records without the few last that are of another width, or say TOTAL or the like."""
    end = len(records)
    while end and len(records) - end < _TAIL and _seems_a_trailer(records[end - 1], width):
        end -= 1
    return records[:end], tuple(records[end:])


def _seems_a_trailer(record: tuple[str, ...], width: int) -> bool:
    first = record[0].strip().lower()
    filled = sum(1 for cell in record if cell.strip())
    return (
        len(record) != width
        or first.startswith(_TOTALS)
        or (
            width > 2 and filled <= 1  # noqa: PLR2004 - one cell of three or more is no line of a bill
        )
    )


def above_header(widths: Sequence[int]) -> int:
    """Rows of a sheet above its header: fewer than half as wide as most rows are."""
    usual = Counter(widths).most_common(1)[0][0] if widths else 0
    return next((number for number, width in enumerate(widths) if width * 2 > usual), 0)


def trailers_of(
    tail: Sequence[tuple[str, ...]], columns: Sequence[Mapping[str, Any]], cells: Mapping[str, Sequence[str]]
) -> Iterator[tuple[dict[str, Any], str]]:
    """A rule for each record of the tail that can be known by its first field, and why it is thought so.

    What it states is found where it agrees to the last digit with what the sample comes to.

    Args:
        tail: Records that seem to be no data.
        columns: Words of each column.
        cells: Every cell of the sample, by column.
    """
    rows = len(next(iter(cells.values()), ()))
    for record in tail:
        mark = record[0].strip()
        if not mark:
            continue
        rule: dict[str, Any] = {"equals": mark}
        counts = [n for n, text in enumerate(record[1:], 2) if text.strip() == str(rows)]
        if counts:
            rule["rows"] = counts[0]
        sums = {name: at for name, at in _sums(record, columns, cells) if at not in counts}
        if sums:
            rule["sums"] = sums
        said = "it states what the sample comes to" if counts or sums else "say where it states rows and sums"
        yield rule, f"the last record seems to be no data; {said}"


def _sums(
    record: tuple[str, ...], columns: Sequence[Mapping[str, Any]], cells: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, int]]:
    for words in columns:
        if words["type"] not in {"decimal", "integer"}:
            continue
        column = Column.model_validate(words).in_file(None, ())
        read = Numbers(
            replace(column, type="decimal", precision=38, scale=column.scale if words["type"] == "decimal" else 0)
        )
        total = Decimal(0)
        for cell in cells[words["name"]]:
            total += (None if read.is_empty(cell) else read.read(cell)) or 0
        for at, text in enumerate(record[1:], 2):
            if text.strip() and not read.is_empty(text) and read.read(text) == total:
                yield words["name"], at
                break
