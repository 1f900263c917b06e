"""Parquet, opened by pyarrow: the names of its columns, and whether it is within bounds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.text.words import too_large
from dagster_planexec.world.local.regular import without_links


@contextmanager
def parquet_file(part: Part) -> Iterator[Any]:
    """The file, by its footer.

    Raises:
        PortError: TRUNCATED_STREAM if its footer or one of its pages cannot be read; TOO_LARGE if it has more rows, or
            states more bytes, than its contract allows bytes.
    """
    import pyarrow as pa  # noqa: PLC0415 - heavy, and only needed here
    from pyarrow import parquet  # noqa: PLC0415 - heavy, and only needed here

    with open(part.path, "rb", opener=without_links) as raw:
        try:
            with parquet.ParquetFile(raw, page_checksum_verification=True, pre_buffer=False) as opened:
                facts = opened.metadata
                stated = sum(facts.row_group(n).total_byte_size for n in range(facts.num_row_groups))
                if max(stated, facts.num_rows) > part.form.max_bytes:
                    raise too_large(part.name, part.form.max_bytes)
                yield opened
        except (pa.ArrowException, OSError) as error:
            raise cut_off(part, error) from error


def cut_off(part: Part, error: Exception) -> PortError:
    """What to say of a file whose footer or pages cannot be read."""
    return PortError(
        "TRUNCATED_STREAM",
        f"{part.name} cannot be read as Parquet: {' '.join(str(error).split())[:160]}",
        hint="ask the vendor to deliver the file again",
    )


def parquet_names(part: Part) -> tuple[str, ...]:
    """The names of its columns, in order. Raises as `parquet_file`."""
    with parquet_file(part) as opened:
        return tuple(opened.schema_arrow.names)
