"""Small files that unfold to large ones: in a delivery, among plans and catalogues, in a store's answers.

Each ends with a code, in a bounded number of bytes that are held or written, and never in a half-loaded table.
"""

from __future__ import annotations

import gzip
import io
import json
import resource
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.errors import PortError
from dagster_planexec.resources.s3_object_store import S3ObjectStore
from dagster_planexec.world.delivery.delimited import records
from dagster_planexec.world.delivery.heads import header_of
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.ingest import MOST_DECODED, FileFormat
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract
from dagster_planexec.world.probes.delivery.landed import HashLanded
from tests.support.answering import answering
from tests.support.loading import invoice_contract
from tests.support.loads import amounts
from tests.support.months import World
from tests.support.planexec import planexec
from tests.support.reconciling import WallClock

MEGABYTE = 1 << 20


def zeros(megabytes: int, piece: bytes = b"\0" * MEGABYTE) -> bytes:
    """A gzip member that unfolds to so many megabytes, made without holding them."""
    packer, out = zlib.compressobj(9, zlib.DEFLATED, 31), io.BytesIO()
    for _ in range(megabytes):
        out.write(packer.compress(piece))
    out.write(packer.flush())
    return out.getvalue()


ROWS = (b"id,day,amount\n" + b"A1,2026-03-01,1.00\n" * 60_000)[:MEGABYTE].rsplit(b"\n", 1)[0] + b"\n"


def rows(megabytes: int) -> bytes:
    """A gzip file of good rows."""
    return gzip.compress(b"id,day,amount\n") + zeros(megabytes, b"A1,2026-03-01,1.00\n" * 55_188)


def look(path: Path, most: int = MOST_DECODED) -> Any:
    return HashLanded(path, "0" * 64, "gzip", most).observe(Ports(None, None, None, WallClock(), None))  # type: ignore[arg-type]


def test_many_megabytes_of_zeros_is_decoded_no_further_than_declared(tmp_path: Path) -> None:
    """A quarter of a megabyte on the disk; the look stops at the bound and says so."""
    path = tmp_path / "bomb"
    path.write_bytes(zeros(256))
    assert path.stat().st_size < 2 * MEGABYTE
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seen = look(path, 50 * MEGABYTE)
    assert (seen["decodes"], seen["too_large"]) == (False, True)
    decoded = seen["decoded_size"]
    assert isinstance(decoded, int)
    assert 50 * MEGABYTE < decoded <= 51 * MEGABYTE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # kilobytes


@pytest.mark.parametrize("reader", ["header", "records", "count"])
def test_every_reader_of_text_stops_at_the_bound(tmp_path: Path, reader: str) -> None:
    """TOO_LARGE for rows without an end, RAGGED_ROW for a line without one; whichever reads it."""
    for name, content, code in (("rows", rows(64), "TOO_LARGE"), ("line", zeros(64, b"x" * MEGABYTE), "RAGGED_ROW")):
        path = tmp_path / name
        path.write_bytes(content)
        form = FileFormat(compression="gzip", max_bytes=8 * MEGABYTE)
        try:
            match reader:
                case "header":
                    header_of(Part(path, form))
                case "records":
                    sum(1 for _ in records(Part(path, form)))
                case _:
                    CountExtract(path, form, amounts()).tally()
            assert (reader, name) == ("header", "rows")  # a header is read no further than it goes
        except PortError as error:
            assert error.code in {code, "TOO_LARGE"}  # noqa: PT017


def test_what_is_within_the_bound_is_read(tmp_path: Path) -> None:
    """To the byte: one less, and it is too large."""
    path = tmp_path / "rows"
    path.write_bytes(gzip.compress(ROWS))
    assert CountExtract(path, FileFormat(compression="gzip", max_bytes=len(ROWS)), amounts()).tally().rows > 1_000
    assert look(path, len(ROWS))["decodes"] is True
    with pytest.raises(PortError) as caught:
        CountExtract(path, FileFormat(compression="gzip", max_bytes=len(ROWS) - 1), amounts()).tally()
    assert caught.value.code == "TOO_LARGE"
    assert "max_bytes" in caught.value.hint
    assert look(path, len(ROWS) - 1)["decodes"] is False


def test_files_in_files_and_very_many_members(tmp_path: Path) -> None:
    """A gzip file in a gzip file is bytes, not text; a hundred thousand empty members are one after another."""
    nested, many = tmp_path / "nested", tmp_path / "many"
    nested.write_bytes(gzip.compress(zeros(64)))
    with pytest.raises(PortError) as caught:
        CountExtract(nested, FileFormat(compression="gzip"), amounts()).tally()
    assert caught.value.code in {"BAD_ENCODING", "RAGGED_ROW", "MISSING_COLUMN"}
    many.write_bytes(gzip.compress(b"", mtime=0) * 100_000 + gzip.compress(b"a,b\n1,2\n"))
    assert (look(many)["decodes"], look(many)["decoded_size"]) == (True, 8)


@pytest.mark.parametrize("declared", [0, 7, 2**32 - 1])
def test_a_declared_size_that_lies(tmp_path: Path, declared: int) -> None:
    """The trailer says another number of bytes: the stream is damaged, whatever it unfolds to."""
    path = tmp_path / "liar"
    path.write_bytes(gzip.compress(ROWS)[:-4] + struct.pack("<I", declared))
    assert look(path)["decodes"] is False
    with pytest.raises(PortError) as caught:
        CountExtract(path, FileFormat(compression="gzip"), amounts()).tally()
    assert caught.value.code == "TRUNCATED_STREAM"


def test_a_contract_states_its_bound(tmp_path: Path) -> None:
    """It has a default, reaches every reader, and cannot be nothing."""
    assert invoice_contract().max_bytes == MOST_DECODED
    assert invoice_contract(max_bytes=7).format_of("x.csv.gz").max_bytes == 7
    with pytest.raises(ValueError, match="max_bytes"):
        invoice_contract(max_bytes=0)


def test_a_bomb_in_the_drop_stops_the_month(tmp_path: Path, seeded: Path, endpoint: str) -> None:
    """TOO_LARGE at the fetch: no table is loaded, nothing is credited."""
    from dataclasses import replace
    from shutil import copytree

    from assets.demo.world import DemoWorld
    from assets.vendor_reconciliation.task import TASK

    home = tmp_path / "home"
    copytree(seeded, home)
    demo = DemoWorld(home, endpoint, period="2026-02")
    demo.seed_drop()
    invoice = TASK.contracts["vendor_invoice"]
    small = FileContract.model_validate(invoice.model_dump() | {"max_bytes": 10_000})
    world = World(home, endpoint, task=replace(TASK, contracts={**TASK.contracts, "vendor_invoice": small}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANEXEC_HOME", str(home))
        report = world.settle()
    assert (report.status, report.code) == ("stopped", "TOO_LARGE"), report.text
    assert "10,000 bytes" in report.text
    assert report.step("fetch_export") is not None
    assert world.credits() == ()


@pytest.mark.parametrize("which", ["plans", "catalogue"])
@pytest.mark.parametrize("packed", ["gzip", "zip"])
def test_packed_plans_and_catalogues_are_not_unpacked(tmp_path: Path, which: str, packed: str) -> None:
    """One refusal that says what it is; nothing of it is unfolded."""
    bomb, good = tmp_path / "bomb", tmp_path / "good"
    bomb.write_bytes(zeros(256) if packed == "gzip" else b"PK\x03\x04" + b"\0" * 100)
    good.write_text(json.dumps({"tool": "t", "parameters": {}}))
    answer = planexec("check", *((bomb, "--catalogue", good) if which == "plans" else (good, "--catalogue", bomb)))
    assert answer.exit_code == 1
    assert packed in answer.document["text"]


# ------------------------------------------------------------------------------------------- answers as XML

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12))
    + "]><ListBucketResult><Contents><Key>&m;</Key></Contents></ListBucketResult>"
)
OUTSIDE = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    "<ListBucketResult><Contents><Key>&x;</Key><Size>1</Size><ETag>e</ETag>"
    "<LastModified>2026-03-01T00:00:00Z</LastModified></Contents></ListBucketResult>"
)


@pytest.mark.parametrize("body", [LAUGHS, OUTSIDE, "<a>" * 100_000, "<a " + "x='1' " * 100_000])
@pytest.mark.parametrize("status", [200, 403])
def test_a_store_that_answers_with_tricks_of_xml(body: str, status: int) -> None:
    """Entities that unfold, entities that name a file, depth without an end: an error with a code, no file is read."""
    import boto3
    from botocore.config import Config

    with answering(status, body.encode(), {"content-type": "application/xml"}) as url:
        client = boto3.client(
            "s3", endpoint_url=url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x",
            config=Config(retries={"max_attempts": 0}, s3={"addressing_style": "path"}),
        )  # fmt: skip
        try:
            found = list(S3ObjectStore(client).list("bucket", "p/"))
        except PortError as error:
            assert error.code in {"UNAVAILABLE", "FORBIDDEN", "INTERNAL"}  # noqa: PT017
            assert "root:" not in str(error)  # noqa: PT017
        else:
            assert all("root:" not in facts.key and len(facts.key) < 5_000 for facts in found)
