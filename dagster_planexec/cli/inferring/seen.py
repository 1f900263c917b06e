"""What was seen of a file that nothing is declared of yet."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world.ingest import Compression, Kind

MOST_RECORDS = 100_000
"""Records that a sample holds at most."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The beginning of a file, as it seems to read."""

    name: str
    compression: Compression
    encoding: str
    delimiter: str
    header: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]
    """Records as wide as the header."""
    skipped: int = 0
    """Lines above the header."""
    tail: tuple[tuple[str, ...], ...] = ()
    """Records at the end that seem to be no data."""
    odd: int = 0
    """Records of another width that stand among the data."""
    is_whole: bool = True
    """Whether the file was read to its end."""
    members: tuple[str, ...] = ()
    """Of an archive, the members that seem to be data; the sample is of the first, which is the longest."""
    ignored: tuple[str, ...] = ()
    kind: Kind = "delimited"
    sheet: str | None = None
    """Of a workbook with several sheets, the one that was read."""
    left_out: bool = False
    """Whether the file has columns that no contract can name."""
    notes: tuple[str, ...] = ()
    """What could not be told from the bytes, for the person who reads the draft."""
