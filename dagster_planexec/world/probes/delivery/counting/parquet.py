"""Parquet, counted by pyarrow. The loader reads it with DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.columnar import parquet_file
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.words import shown
from dagster_planexec.world.ingest import Counted, NumberStyle
from dagster_planexec.world.probes.delivery.counting.tally import Tally, amount_at, tally_of

_ROWS = 1 << 16


def count_parquet(part: Part, counted: Counted | None, at_most: int | None) -> Tally:
    """Count the rows, and add up. Decimals and integers are exact in the file, and stay so.

    Raises:
        PortError: TRUNCATED_STREAM, TOO_LARGE, MISSING_COLUMN (no amount), BAD_AMOUNT (a floating type).
    """
    with parquet_file(part) as opened:
        names = opened.schema_arrow.names
        at = amount_at(part, counted, names)
        if at is None or counted is None:
            found, columns = tally_of(None), []
        else:
            kind = opened.schema_arrow.field(at).type
            found, columns = tally_of(_as_typed(part, counted, names[at], kind)), [names[at]]
        for batch in opened.iter_batches(batch_size=_ROWS, columns=columns):
            found.rows += batch.num_rows
            if found.is_enough(at_most):
                break
            if columns:
                found.amounts.add(_texts(batch.column(0)))
    return found


def _as_typed(part: Part, counted: Counted, name: str, kind: Any) -> Counted:  # noqa: ANN401 - pyarrow has no types
    """How the column's values are written as text: those that are numbers as any program writes them."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return counted
    if pa.types.is_decimal(kind) or pa.types.is_integer(kind):
        plain = NumberStyle(minor_units=counted.amount.number.minor_units)
        return replace(counted, amount=replace(counted.amount, number=plain))
    raise PortError(
        "BAD_AMOUNT",
        f"{part.name}: column {shown(name)} is of type {str(kind)[:40]}, which holds no exact amount",
        hint="ask the vendor for a DECIMAL column",
    )


def _texts(column: Any) -> Iterator[str]:  # noqa: ANN401 - pyarrow has no types
    for value in column.to_pylist():
        if value is None:
            yield ""
        elif isinstance(value, str | int):
            yield str(value)
        else:  # the zeros at its end are the type's, not the value's
            text = format(value, "f")
            yield text.rstrip("0").rstrip(".") if "." in text else text
