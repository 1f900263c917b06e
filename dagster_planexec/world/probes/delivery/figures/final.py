"""A probe of how much of a bill is still an estimate, in the bytes that were delivered."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.columnar import parquet_file
from dagster_planexec.world.delivery.delimited import Record, ragged, records
from dagster_planexec.world.delivery.parts import Part, parts_of
from dagster_planexec.world.delivery.text.headers import normal_header
from dagster_planexec.world.delivery.workbook.openpyxl_rows import rows_by_openpyxl
from dagster_planexec.world.delivery.workbook.rows import records_of_sheet
from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.sides.final import FinalWhen
from dagster_planexec.world.subject import Subject, landed

_ROWS = 1 << 14


@dataclass(frozen=True, slots=True)
class FinalInExtract(Probe):
    """How many records are not final? Each copy is read again, by a parser that is not the loader's."""

    copies: tuple[tuple[Path, FileFormat], ...]
    conditions: tuple[FinalWhen, ...]

    @property
    def subject(self) -> Subject:
        """All the landed copies."""
        return landed("+".join(path.name[:12] for path, _ in self.copies))

    @property
    def reader(self) -> str:
        """The csv module, openpyxl or pyarrow, by the format."""
        return "record by record"

    def observe(self, ports: Ports) -> Observation:
        """Facts: `rows` and `estimated`.

        Raises:
            PortError: MISSING_COLUMN if a file does not say what makes a line final; RAGGED_ROW, BAD_ENCODING;
                BAD_FORMAT for a file that is not read record by record here.
        """
        rows = estimated = 0
        for path, form in self.copies:
            if not path.is_file():
                return self.absent(ports, f"there is no landed copy {path.name[:80]}")
            for part in parts_of(path, form):
                for final in self._lines(part):
                    rows += 1
                    estimated += not final
        return self.seen(ports, {"rows": rows, "estimated": estimated})

    def _lines(self, part: Part) -> Iterator[bool]:
        """Whether each record is final."""
        with closing(_records(part)) as found:
            first = next(found, None)
            if first is None:
                return
            header = first.fields
            asked = [(_place(part, header, one), one.of_cells()) for one in self.conditions]
            for record in found:
                if len(record.fields) != len(header):
                    raise ragged(part, record, len(header))
                yield all(holds(record.fields[at]) for at, holds in asked)


def _records(part: Part) -> Generator[Record, None, None]:
    """Every record as texts, the header first."""
    match part.form.kind:
        case "delimited":
            yield from records(part)
        case "xlsx":
            with closing(rows_by_openpyxl(part)) as rows:
                for row in records_of_sheet(rows, part.form):
                    yield Record(row.line, row.fields)
        case "parquet":
            with parquet_file(part) as opened:
                names = list(opened.schema_arrow.names)
                yield Record(0, names)
                for batch in opened.iter_batches(batch_size=_ROWS, columns=names):
                    for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                        yield Record(0, ["" if cell is None else str(cell) for cell in cells])
        case kind:
            text = f"whether {part.name[:80]} is final cannot be read again: it is a {kind} file"
            raise PortError("BAD_FORMAT", text, hint="declare no `final_when` for it, or have it delivered as a table")


def _place(part: Part, header: Sequence[str], wanted: FinalWhen) -> int:
    at = [n for n, name in enumerate(header) if normal_header(name, part.form.header_rules) in wanted.headers]
    if len(at) == 1:
        return at[0]
    raise PortError(
        "MISSING_COLUMN",
        f"{part.name[:80]} has {len(at) or 'no'} columns {wanted.column.name!r}, which says whether a line is final",
        hint="ask the vendor, or add the new header to the contract",
    )
