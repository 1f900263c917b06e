"""Whatever framing is declared, the figures are exact; whatever byte is broken, they are never other ones."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.framed import FRAMINGS, READERS, ROWS, Framing, Row, as_parquet, as_workbook
from tests.support.judged import Judged, judged
from tests.support.loading import invoice_contract

FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


def truth(rows: Sequence[Row]) -> Judged:
    return Judged("accept", None, len(rows), sum((row[2] for row in rows), Decimal(0)))


@FEW
@given(FRAMINGS, ROWS)
def test_text_in_any_declared_framing_is_read_exactly(framing: Framing, rows: list[Row]) -> None:
    """Loaded, counted, and held against its own trailers."""
    with tempfile.TemporaryDirectory() as folder:
        found = judged(Path(folder), framing.contract(), [(framing.key, framing.write(rows))])
        assert found == truth(rows), found.text


@settings(FEW, max_examples=20)
@given(st.sampled_from(["parquet", "xlsx"]), ROWS)
def test_typed_formats_are_read_exactly(kind: str, rows: list[Row]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        raw = as_parquet(rows) if kind == "parquet" else as_workbook(rows)
        found = judged(Path(folder), invoice_contract(min_rows=0), [(f"v.{kind}", raw)])
        assert found == truth(rows), found.text


GOOD: list[Row] = [(f"k{n}", "a, b" if n % 3 else 'x "y"\nz', Decimal(n * 7919) / 100) for n in range(1, 9)]
DELIVERIES = {
    **{packed: Framing(packed=packed).write(GOOD) for packed in ("csv", "csv.gz", "zip")},
    "parquet": as_parquet(GOOD),
    "xlsx": as_workbook(GOOD),
}


@settings(FEW, max_examples=120)
@given(st.data(), st.sampled_from(sorted(DELIVERIES)))
def test_broken_bytes_never_pass_with_other_figures(data: st.DataObject, packed: str) -> None:
    """A load that passes every check has the figures that another reader finds in the very same bytes."""
    raw = bytearray(DELIVERIES[packed])
    for _ in range(data.draw(st.integers(1, 3))):
        if not raw:
            break  # nothing is left to be broken
        at = data.draw(st.integers(0, len(raw) - 1))
        match data.draw(st.sampled_from(["flip", "set", "drop", "double", "cut"])):
            case "flip":
                raw[at] ^= 1 << data.draw(st.integers(0, 7))
            case "set":
                raw[at] = data.draw(st.sampled_from(b'\0",\n\r;-.9\xff'))
            case "drop":
                del raw[at]
            case "double":
                raw[at:at] = raw[at : at + 4]
            case _:
                del raw[max(1, at) :]
    contract = Framing(packed=packed).contract() if packed in {"csv", "csv.gz", "zip"} else invoice_contract()
    with tempfile.TemporaryDirectory() as folder:
        found = judged(Path(folder), contract.model_copy(update={"min_rows": 1}), [(f"v.{packed}", bytes(raw))])
    if found.outcome == "accept":
        assert (found.rows, found.total) == READERS[packed](bytes(raw))
