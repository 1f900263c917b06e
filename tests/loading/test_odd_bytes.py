"""Runs of blank lines that DuckDB's threads lose count over, and encodings that are none or do not say their order."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.files import File
from dagster_planexec.resources.loading.reader import straight
from dagster_planexec.world.delivery.heads import header_of
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.ingest import FileFormat
from tests.support.judged import judged
from tests.support.loading import invoice_contract

HEAD, LINE = b"id,amount\n", b"%07d,1.25\n"
ROWS = HEAD + b"".join(LINE % n for n in range(120_000))


def two(**changes: Any) -> FileContract:
    columns = (Column(name="id", type="text"), Column(name="amount", type="decimal"))
    return invoice_contract(**{"columns": columns, "date": None, **changes})


@pytest.mark.parametrize(
    ("raw", "gap"),
    [
        (ROWS, False),
        (HEAD + b"\n" * 1_100_000 + LINE, True),
        (ROWS + b"\r\n" * 600_000 + LINE, True),
        (b"", False),
    ],
)
def test_a_long_run_of_blank_lines_is_seen_beforehand(tmp_path: Path, raw: bytes, gap: bool) -> None:
    """From a few samples of the file, packed or not. Ordinary files are not taken for one that has it."""
    (tmp_path / "plain").write_bytes(raw)
    (tmp_path / "packed").write_bytes(gzip.compress(raw.replace(b"\n" * 1_000, b"\n" * 8_000)))
    for name, form in (("plain", FileFormat()), ("packed", FileFormat(compression="gzip"))):
        file = File(Part(tmp_path / name, form), ("id", "amount"), 0, (), {})
        if name == "packed" and raw.count(b"\r\n"):
            continue  # packed, so few of them are not a gap
        assert straight(file, tmp_path / "scratch", 8_000_000).gap is gap, name


def test_the_record_behind_a_run_of_blank_lines_is_loaded(tmp_path: Path) -> None:
    """Record by record."""
    found = judged(tmp_path, two(), [("v.csv", HEAD + b"a,1\n" + b"\n" * 1_100_000 + b"b,2\n")])

    assert (found.outcome, found.rows, str(found.total)) == ("accept", 2, "3.00"), found.text


def test_a_codec_that_is_no_encoding_of_files_is_refused_by_the_reader_too(tmp_path: Path) -> None:
    """A contract with such a word cannot be made; nor does a format with one read anything."""
    (tmp_path / "v.csv").write_bytes(b"id,amount\na,1\n")
    with pytest.raises(PortError) as refused:
        header_of(Part(tmp_path / "v.csv", FileFormat(encoding="unicode_escape")))

    assert (refused.value.code, "'unicode_escape' is not known" in refused.value.message) == ("BAD_CONTRACT", True)


@pytest.mark.parametrize(("encoding", "written"), [("utf-16", "utf-16-le"), ("utf-16", "utf-16-be"), ("utf-32", "utf-32-le"), ("UTF_32", "utf-32-be")])  # fmt: skip # noqa: E501
def test_a_file_without_the_mark_that_says_its_order(tmp_path: Path, encoding: str, written: str) -> None:
    """It is refused with what to declare; so declared, it is read."""
    raw = b"id,amount\na,1\n".decode().encode(written)

    found = judged(tmp_path / "a", two(encoding=encoding), [("v.csv", raw)])
    right = judged(tmp_path / "b", two(encoding=written), [("v.csv", raw)])

    assert (found.outcome, found.code) == ("refuse", "BAD_ENCODING"), found.text
    assert "byte order mark" in found.text
    assert (right.outcome, right.rows) == ("accept", 1), right.text
