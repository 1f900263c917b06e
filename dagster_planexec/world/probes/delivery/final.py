"""A probe of how much of a bill is still an estimate, in the bytes that were delivered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.delimited import ragged, records
from dagster_planexec.world.delivery.headers import normal_header
from dagster_planexec.world.delivery.parts import Part, parts_of
from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.sides.final import FinalWhen
from dagster_planexec.world.subject import Subject, landed


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
        """The csv module."""
        return "csv module, record by record"

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
            for final in self._lines(path, form):
                rows += 1
                estimated += not final
        return self.seen(ports, {"rows": rows, "estimated": estimated})

    def _lines(self, path: Path, form: FileFormat) -> Iterator[bool]:
        """Whether each record is final."""
        if form.kind != "delimited":
            text = f"whether {path.name[:80]} is final cannot be read again: it is a {form.kind} file"
            raise PortError("BAD_FORMAT", text, hint="have it delivered as delimited text, or declare no `final_when`")
        for part in parts_of(path, form):
            found = records(part)
            header = next(found, None)
            if header is None:
                continue
            places = [_place(part, header.fields, one) for one in self.conditions]
            for record in found:
                if len(record.fields) != len(header.fields):
                    raise ragged(part, record, len(header.fields))
                yield all(one.holds(record.fields[at]) for one, at in zip(self.conditions, places, strict=True))


def _place(part: Part, header: list[str], wanted: FinalWhen) -> int:
    rules = part.form.header_rules
    at = [n for n, name in enumerate(header) if normal_header(name, rules) in wanted.headers]
    if len(at) == 1:
        return at[0]
    raise PortError(
        "MISSING_COLUMN",
        f"{part.name} has {len(at) or 'no'} columns {wanted.column!r}, which says whether a line is final",
        hint="ask the vendor, or add the new header to the contract",
    )
