"""Parquet, counted by pyarrow. The loader reads it with DuckDB."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.columnar import parquet_file
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.delivery.workbook.rows import styled
from dagster_planexec.world.ingest import Counted, TextColumn
from dagster_planexec.world.probes.delivery.counting.tally import Tally, columns_at, places, tally_of

_ROWS, _MILLIONTH = 1 << 16, 6


def count_parquet(part: Part, counted: Counted | None, at_most: int | None) -> Tally:
    """Count the rows, and add up. Decimals and integers are exact in the file, and stay so.

    Raises:
        PortError: TRUNCATED_STREAM, TOO_LARGE, MISSING_COLUMN (no amount), BAD_AMOUNT (a floating type).
    """
    found = tally_of(counted)
    with parquet_file(part) as opened:
        schema = opened.schema_arrow
        at = places(part, counted, schema.names)
        columns = () if counted is None else columns_at(counted)
        read = [_reader(part, schema.field(i), column) for i, column in zip(at, columns, strict=True)]
        names = list(dict.fromkeys(schema.names[index] for index in at))
        for batch in opened.iter_batches(batch_size=_ROWS, columns=names):
            found.rows += batch.num_rows
            if found.is_enough(at_most):
                break
            if read:
                found.amounts.add_batch([one(batch.column(schema.names[i])) for i, one in zip(at, read, strict=True)])
    return found


def _reader(part: Part, field: Any, column: TextColumn) -> Callable[[Any], Any]:  # noqa: ANN401 - pyarrow has no types
    """How the values of a column become text, as their column is written; those that are numbers without a style."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here
    import pyarrow.compute as pc  # noqa: PLC0415 - heavy, and only needed here

    def as_text(values: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
        return pc.fill_null(pc.cast(values, pa.string()), "")

    def as_plain(values: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
        texts = as_text(values)
        if pa.types.is_decimal(kind) and kind.scale > 0:
            texts = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
        mark = column.number.decimal_mark
        return texts if mark == "." else pc.replace_substring(texts, ".", mark)

    def as_styled(values: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
        found = values.to_pylist()
        return pa.array(["" if value is None else styled(_plain(value), column) for value in found], pa.string())

    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if text or pa.types.is_boolean(kind) or (column.type == "text" and pa.types.is_integer(kind)):
        return as_text
    if pa.types.is_decimal(kind) or pa.types.is_integer(kind):
        # pyarrow writes what is smaller than a millionth with an exponent.
        fast = "minus" in column.number.negatives and (pa.types.is_integer(kind) or 0 <= kind.scale <= _MILLIONTH)
        return as_plain if fast else as_styled
    raise PortError(
        "BAD_AMOUNT",
        f"{part.name}: column {shown(field.name)} is of type {str(kind)[:40]}, which holds no exact amount",
        hint="ask the vendor for a DECIMAL column",
    )


def _plain(value: int | Decimal) -> str:
    text = format(value, "f") if isinstance(value, Decimal) else str(value)
    return text.rstrip("0").rstrip(".") if "." in text else text  # the zeros at its end are the type's
