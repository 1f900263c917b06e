"""Deliveries in random declared framing, and a reading of their bytes that shares nothing with ours."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import openpyxl
import pyarrow as pa
from hypothesis import strategies as st
from pyarrow import parquet

from dagster_planexec.contract.file_contract import FileContract
from tests.support.loading import invoice_contract

Row = tuple[str, str, Decimal]
HEAD = ("id", "day", "amount", "note")
_TEXT = st.text(st.characters(codec="cp1252", exclude_categories=["Cs", "Cc"], include_characters='",;\t'), max_size=8)
NOTES = st.one_of(_TEXT, st.sampled_from(["TRL", "TRL,9,9.00", '5" pipe', "id", "a\nb", "\\", '\\"', "=1+1"]))
MONEY = st.decimals(Decimal("-999999999.99"), Decimal("999999999.99"), places=2)


@dataclass(frozen=True)
class Framing:
    """How a delivery of text is written."""

    codec: str = "utf-8"
    delimiter: str = ","
    end: str = "\n"
    escape: str | None = None
    above: int = 0
    header: bool = True
    trailer: bool = False
    last_end: bool = True
    packed: str = "csv"

    @property
    def key(self) -> str:
        return f"v.{self.packed}"

    def contract(self) -> FileContract:
        """What is declared."""
        first, *columns = invoice_contract().columns
        return invoice_contract(
            columns=(first, *columns[:-1], columns[-1].model_copy(update={"required": True})),
            encoding=self.codec, delimiter=self.delimiter, escape=self.escape,
            skip_lines=self.above, header=self.header,
            trailers=({"equals": "TRL", "rows": 2, "sums": {"amount": 3}},) if self.trailer else (),
            compression={"csv": "none", "csv.gz": "gzip", "zip": "zip"}[self.packed],
            members=("*.csv",) if self.packed == "zip" else (),
            ignored_members=("*.md",) if self.packed == "zip" else (),
            min_rows=0,
        )  # fmt: skip

    def write(self, rows: Sequence[Row]) -> bytes:
        """The delivery; an archive has two members, each with half of the rows."""
        if self.packed == "zip":
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("README.md", "not data")
                for n, some in enumerate((rows[::2], rows[1::2])):
                    archive.writestr(f"{n}.csv", self._text(some))
            return out.getvalue()
        raw = self._text(rows)
        return raw if self.packed == "csv" else gzip.compress(raw[:7]) + gzip.compress(raw[7:])

    def _text(self, rows: Sequence[Row]) -> bytes:
        lines = [self._line(HEAD)] if self.header else []
        lines += [
            self._line((key, day, f"{amount:f}", note)) for (key, note, amount), day in zip(rows, _DAYS, strict=False)
        ]
        if self.trailer:
            lines.append(self._line(("TRL", str(len(rows)), f"{sum((row[2] for row in rows), Decimal(0)):f}")))
        text = self.end.join(['above "it'] * self.above + lines) + (self.end if self.last_end else "")
        return text.encode(self.codec, "replace")

    def _line(self, cells: Sequence[str]) -> str:
        return self.delimiter.join(self._cell(cell) for cell in cells)

    def _cell(self, text: str) -> str:
        if not any(sign in text for sign in ('"', self.delimiter, "\n", "\r", self.escape or '"')):
            return text
        if self.escape is not None:
            text = text.replace(self.escape, self.escape * 2)
        return '"' + text.replace('"', (self.escape or '"') + '"') + '"'


_DAYS = ["2026-03-01"] * 40

FRAMINGS = st.builds(
    Framing,
    codec=st.sampled_from(["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-be", "utf-32"]),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    escape=st.sampled_from([None, "\\"]),
    above=st.integers(0, 2),
    header=st.booleans(),
    trailer=st.booleans(),
    last_end=st.booleans(),
    packed=st.sampled_from(["csv", "csv.gz", "zip"]),
)
ROWS = st.lists(st.tuples(NOTES, NOTES, MONEY), max_size=12).map(
    lambda rows: [(f"k{n}{key}", note, amount) for n, (key, note, amount) in enumerate(rows)]
)


def as_parquet(rows: Sequence[Row]) -> bytes:
    """The same rows, two to a group."""
    made = pa.table(
        {
            "id": pa.array([row[0] for row in rows], pa.string()),
            "day": pa.array(["2026-03-01"] * len(rows), pa.string()),
            "amount": pa.array([row[2] for row in rows], pa.decimal128(18, 4)),
            "note": pa.array([row[1] for row in rows], pa.string()),
        }
    )
    out = io.BytesIO()
    parquet.write_table(made, out, row_group_size=2)
    return out.getvalue()


def as_workbook(rows: Sequence[Row]) -> bytes:
    """The same rows; amounts as numbers, which keep 15 digits."""
    made = openpyxl.Workbook(write_only=True)
    sheet = made.create_sheet("March")
    sheet.append(list(HEAD))
    for key, note, amount in rows:
        cell = openpyxl.cell.WriteOnlyCell(sheet, note)
        cell.data_type = "s"  # a text that begins with = is no formula
        sheet.append([key, "2026-03-01", float(amount), cell])
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


# ------------------------------------------------------------------------------------------- read by others


def read_text(raw: bytes) -> tuple[int, Decimal]:
    """Records and sum of UTF-8 text with a header, by the csv module alone. ValueError where it is broken."""
    rows = [row for row in csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True) if row]
    at = [name.strip() for name in rows[0]].index("amount")
    return len(rows) - 1, _sum(row[at] for row in rows[1:])


def read_gzip(raw: bytes) -> tuple[int, Decimal]:
    """The same of a gzip file."""
    return read_text(gzip.decompress(raw))


def read_zip(raw: bytes) -> tuple[int, Decimal]:
    """The same of all members of an archive."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        found = [read_text(archive.read(info)) for info in archive.infolist() if info.filename.endswith(".csv")]
    return sum(rows for rows, _ in found), sum((total for _, total in found), Decimal(0))


def read_parquet(raw: bytes) -> tuple[int, Decimal]:
    """The same by pyarrow."""
    table = parquet.read_table(io.BytesIO(raw))
    return table.num_rows, sum((Decimal(value) for value in table["amount"].to_pylist()), Decimal(0))


def read_workbook(raw: bytes) -> tuple[int, Decimal]:
    """The same by openpyxl, at once and in memory."""
    (sheet,) = openpyxl.load_workbook(io.BytesIO(raw), data_only=True).worksheets
    rows = [row for row in sheet.iter_rows(values_only=True) if any(cell not in {None, ""} for cell in row)]
    at = [str(name).strip() for name in rows[0]].index("amount")
    return len(rows) - 1, _sum(repr(row[at]) if isinstance(row[at], float | int) else str(row[at]) for row in rows[1:])


READERS: dict[str, Callable[[bytes], tuple[int, Decimal]]] = {
    "csv": read_text,
    "csv.gz": read_gzip,
    "zip": read_zip,
    "parquet": read_parquet,
    "xlsx": read_workbook,
}


def _sum(texts: Any) -> Decimal:
    try:
        return sum((Decimal(text.strip()) for text in texts), Decimal(0))
    except InvalidOperation as error:
        raise ValueError(str(error)) from error
