"""The records of one part of an X12 or NACHA file, and what the file states about itself."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.world.delivery.delimited import Record, text_of
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.records import nacha, x12
from dagster_planexec.world.delivery.records.stated import Stated


def records_of_part(part: Part) -> Iterator[Record]:
    """Every record, with the fields that the contract names.

    Raises:
        PortError: As the reader of its format, and as `text_of`.
    """
    yield from _records(part, None)


def stated_of_part(part: Part) -> list[Stated]:
    """Every control value with what the same reading finds. Raises as `records_of_part`."""
    controls: x12.Controls | nacha.Controls = x12.Controls() if part.form.kind == "x12" else nacha.Controls()
    for _ in _records(part, controls):
        pass
    return controls.stated


def _records(part: Part, controls: x12.Controls | nacha.Controls | None) -> Iterator[Record]:
    headers = part.form.header or ()
    with text_of(part) as text:
        if part.form.kind == "x12":
            assert controls is None or isinstance(controls, x12.Controls)  # noqa: S101 - made above
            yield from x12.records_of(text, part.name, part.form.record, headers, controls)
        else:
            assert controls is None or isinstance(controls, nacha.Controls)  # noqa: S101 - made above
            yield from nacha.records_of(text, part.name, headers, controls)
