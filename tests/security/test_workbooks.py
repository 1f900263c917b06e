"""Workbooks and archives that are made to harm: each ends with a code, in bounds, and reads no file of the machine."""

from __future__ import annotations

import io
import resource
import shutil
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.parts import Part, parts_of
from dagster_planexec.world.delivery.workbook.container import repacked
from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract, HeaderOfExtract
from dagster_planexec.world.probes.delivery.landed import HashLanded
from tests.support.judged import judged
from tests.support.loading import invoice_contract
from tests.support.loads import amounts
from tests.support.reconciling import WallClock

PORTS = Ports(None, None, None, WallClock(), None)  # type: ignore[arg-type]
MEGABYTE = 1 << 20
SHEET, RELATIONS = "xl/worksheets/sheet1.xml", "xl/_rels/workbook.xml.rels"
LAUGHS = '<!DOCTYPE l [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(12)
) + "]>"  # fmt: skip
STRINGS = f"{LAUGHS}<sst>&m;</sst>".encode()
OUTSIDE = '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
REMOTE = '<!DOCTYPE l SYSTEM "http://127.0.0.1:9/x.dtd">'


def book(**members: bytes | None) -> bytes:
    """A good workbook, with members put in another's place."""
    made, out = openpyxl.Workbook(), io.BytesIO()
    for row in (("id", "day", "amount"), ("a", "2026-03-01", 1), ("b", "2026-03-02", 2)):
        made.active.append(row)
    made.save(out)
    changed = io.BytesIO()
    with zipfile.ZipFile(out) as old, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename not in members:
                new.writestr(info.filename, old.read(info))
        for name, data in members.items():
            if data is not None:
                new.writestr(name, data)
    return changed.getvalue()


def member(name: str) -> str:
    with zipfile.ZipFile(io.BytesIO(book())) as archive:
        return archive.read(name).decode()


def typed(name: str, declaration: str, *, entity: str = "") -> bytes:
    """A member that declares a document type, and uses an entity of it where its text stands."""
    head, _, rest = member(name).partition("?>")
    body = rest if head.startswith("<?xml") else head
    return (declaration + (body.replace("<v>1</v>", f"<v>{entity}</v>") if entity else body)).encode()


def far(row: int, column: str) -> bytes:
    """A sheet with one cell as far out as one likes."""
    cell = f'<row r="{row}"><c r="{column}{row}"><v>1</v></c></row></sheetData>'
    return member(SHEET).replace("</sheetData>", cell).encode()


ATTACKS: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "laughs": (lambda: book(**{SHEET: typed(SHEET, LAUGHS, entity="&m;")}), {"BAD_FORMAT"}),
    "laughs-in-strings": (lambda: book(**{"xl/sharedStrings.xml": STRINGS}), {"BAD_FORMAT"}),
    "a-file-of-the-machine": (lambda: book(**{SHEET: typed(SHEET, OUTSIDE, entity="&x;")}), {"BAD_FORMAT"}),
    "a-remote-type": (lambda: book(**{"docProps/core.xml": typed("docProps/core.xml", REMOTE)}), {"BAD_FORMAT"}),
    "far-out": (lambda: book(**{SHEET: far(1_048_576, "XFD")}), {"TOO_LARGE"}),
    "further-than-there-is": (lambda: book(**{SHEET: far(9_999_999, "ZZZ")}), {"TOO_LARGE"}),
    "many-zeros": (lambda: book(**{"xl/media/x.bin": b"\0" * (16 * MEGABYTE)}), {"TOO_LARGE"}),
    "depth": (lambda: book(**{SHEET: b"<a>" * 100_000}), {"BAD_FORMAT"}),
    "no-xml": (lambda: book(**{SHEET: b"\0\1\2"}), {"BAD_FORMAT"}),
    "no-sheet": (lambda: book(**{SHEET: None}), {"BAD_FORMAT"}),
    "a-sheet-outside": (
        lambda: book(**{RELATIONS: member(RELATIONS).replace("/xl/worksheets", "../../../etc").encode()}),
        {"BAD_FORMAT"},
    ),
    "a-sheet-elsewhere": (
        lambda: book(
            **{
                RELATIONS: member(RELATIONS)
                .replace('"/xl/worksheets/sheet1.xml"', '"http://127.0.0.1:9/s.xml" TargetMode="External"')
                .encode()
            }
        ),
        {"AMBIGUOUS_ARCHIVE"},
    ),
    "strings-that-are-not-there": (
        lambda: book(**{SHEET: member(SHEET).replace('t="n"', 't="s"').replace("<v>1</v>", "<v>999</v>").encode()}),
        {"BAD_FORMAT"},
    ),
    "macros-and-links-do-nothing": (
        lambda: book(**{"xl/vbaProject.bin": b"x", "xl/externalLinks/externalLink1.xml": b"<x/>"}), set()
    ),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_workbook_made_to_harm_is_refused_in_bounds(tmp_path: Path, attack: str) -> None:
    """By every reader of it, with a bounded message that holds nothing of the machine."""
    make, codes = ATTACKS[attack]
    raw = make()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    found = judged(tmp_path, invoice_contract(max_bytes=8 * MEGABYTE), [("v.xlsx", raw)])

    assert found.code in codes if codes else (found.outcome, found.rows) == ("accept", 2), found.text
    assert "root:" not in found.text
    assert len(found.text) < 1_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024  # kilobytes


def test_what_calamine_is_given_is_what_was_bounded(tmp_path: Path) -> None:
    """A member that unfolds to more than it states, with the checksum of what it states, is refused where that ends."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packed.compress(b"ab" + b"\0" * (8 * MEGABYTE)) + packed.flush()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("x", data)
    liar = bytearray(out.getvalue())
    central = liar.index(b"PK\x01\x02")
    for at, method, crc, size in ((0, 8, 14, 22), (central, 10, 16, 24)):
        liar[at + method : at + method + 2] = (8).to_bytes(2, "little")
        liar[at + crc : at + crc + 4] = zlib.crc32(b"ab").to_bytes(4, "little")
        liar[at + size : at + size + 4] = (2).to_bytes(4, "little")
    path = tmp_path / "liar"
    path.write_bytes(liar)
    with pytest.raises(PortError) as refused:
        repacked(Part(path, FileFormat(kind="xlsx")), tmp_path / "out")
    assert refused.value.code == "TRUNCATED_STREAM"
    assert (tmp_path / "out").stat().st_size < 1_000
    seen = HashLanded(path, "0" * 64, "zip", MEGABYTE).observe(PORTS)
    assert (seen["decoded_size"], seen["decodes"]) == (0, False)


# ------------------------------------------------------------------------------------------- archives


def archive(*members: tuple[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("warnings.warn", lambda *_, **__: None)  # of two members of one name
                opened.writestr(name, data)
    return out.getvalue()


ROWS = b"id,day,amount\na,2026-03-01,1.00\n"


def test_names_of_members_are_never_paths(tmp_path: Path) -> None:
    """They are read where they are, and nothing is written under them."""
    names = ("../../evil.csv", "/tmp/evil.csv", "C:\\evil.csv", "a\nb\x1b[31m.csv", "x" * 5000 + ".csv")
    found = judged(
        tmp_path, invoice_contract(members=("*.csv",)),
        [("v.zip", archive(*((name, ROWS.replace(b"\na", b"\n%d" % n)) for n, name in enumerate(names))))],
    )  # fmt: skip
    assert (found.outcome, found.rows) == ("accept", len(names)), found.text
    assert not list(tmp_path.rglob("*evil*"))
    refused = judged(tmp_path / "b", invoice_contract(), [("v.zip", archive(*((name, ROWS) for name in names)))])
    assert refused.code == "AMBIGUOUS_ARCHIVE"
    assert "\x1b" not in refused.text
    assert len(refused.text) < 1_000


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (archive(("a.csv", ROWS), ("a.csv", ROWS)), "AMBIGUOUS_ARCHIVE"),
        (archive(("a.csv", b"\0" * (16 * MEGABYTE))), "TOO_LARGE"),
        (archive(*((f"{n}.csv", ROWS) for n in range(3000)))[:-20], "TRUNCATED_STREAM"),
        (b"PK\x05\x06" + b"\xff" * 18, "TRUNCATED_STREAM"),
    ],
    ids=["one-name-twice", "bomb", "no-end", "an-end-that-lies"],
)
def test_archives_made_to_harm(tmp_path: Path, raw: bytes, code: str) -> None:
    found = judged(tmp_path, invoice_contract(members=("*.csv",), max_bytes=8 * MEGABYTE), [("v.zip", raw)])
    assert found.code == code, found.text


def test_methods_that_unfold_without_a_bound_are_refused(tmp_path: Path) -> None:
    """bzip2 and LZMA are not bounded by Python's zipfile; an archive of theirs is no delivery."""
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", method) as opened:
            opened.writestr("a.csv", b"\0" * MEGABYTE)
        path = tmp_path / f"{method}"
        path.write_bytes(out.getvalue())
        with pytest.raises(PortError, match="method") as caught:
            parts_of(path, FileFormat(compression="zip"))
        assert caught.value.code == "TRUNCATED_STREAM"
        assert HashLanded(path, "0" * 64, "zip").observe(PORTS)["decodes"] is False


def test_every_reader_names_the_same_fault(tmp_path: Path) -> None:
    """Header, count and load: none of them goes around the look that comes first."""
    path = tmp_path / "landed"
    path.write_bytes(book(**{SHEET: typed(SHEET, OUTSIDE, entity="&x;")}))
    form = FileFormat(kind="xlsx")
    for probe in (HeaderOfExtract(path, form), CountExtract(path, form, amounts())):
        with pytest.raises(PortError) as caught:
            probe.observe(PORTS)
        assert caught.value.code == "BAD_FORMAT"


# ------------------------------------------------------------------------------------------- archives, byte by byte

CSV = b"id,amount\na,1.50\nb,2.25\n"
SHORT = len(CSV) - len(b"b,2.25\n")


def zipped(*, how: int = zipfile.ZIP_DEFLATED, to: Callable[[bytes], object] | None = None) -> bytes:
    """Two members; written to a file, or to a pipe, where sizes stand behind the data."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.held = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: object) -> int:
            self.held += bytes(data)  # type: ignore[call-overload]
            return len(bytes(data))  # type: ignore[call-overload]

    out: io.BytesIO | Pipe = Pipe() if to else io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:  # type: ignore[arg-type]
        for name in ("a.csv", "b.csv"):
            archive.writestr(name, CSV)
    return bytes(out.held) if isinstance(out, Pipe) else out.getvalue()


def lying(raw: bytes, *, local: bool) -> bytes:
    """The list states that the last member is shorter, with a checksum that fits; and so does its header."""
    made, listed, header = bytearray(raw), raw.rindex(b"PK\1\2"), raw.rindex(b"PK\3\4")
    for at in (listed + 16, header + 14)[: 1 + local]:
        made[at : at + 4] = zlib.crc32(CSV[:SHORT]).to_bytes(4, "little")
        made[at + 8 : at + 12] = SHORT.to_bytes(4, "little")
        if made[listed + 10] == 0:
            made[at + 4 : at + 8] = SHORT.to_bytes(4, "little")
    return bytes(made)


def between(raw: bytes, extra: bytes) -> bytes:
    """Bytes between two members, with a list that knows where the second begins."""
    at, listed, ends = raw.index(b"PK\3\4", 4), raw.rindex(b"PK\1\2"), raw.rindex(b"PK\5\6")
    made = bytearray(raw)
    for place, value in ((listed + 42, at), (ends + 16, raw.index(b"PK\1\2"))):
        made[place : place + 4] = (value + len(extra)).to_bytes(4, "little")
    return bytes(made[:at] + extra + made[at:])


def padded(raw: bytes) -> bytes:
    """A byte behind the end of the last member's packed data, of which both headers know."""
    made, listed, header, ends = bytearray(raw), raw.index(b"PK\1\2"), raw.rindex(b"PK\3\4"), raw.rindex(b"PK\5\6")
    for at, value in (
        (raw.rindex(b"PK\1\2") + 20, raw[header + 18] + 1), (header + 18, raw[header + 18] + 1),
        (ends + 16, listed + 1),
    ):  # fmt: skip
        made[at : at + 4] = value.to_bytes(4, "little")
    return bytes(made[:listed] + b"x" + made[listed:])


STORED, PACKED = zipped(how=zipfile.ZIP_STORED), zipped()
ENCRYPTED = PACKED[:6] + b"\1" + PACKED[7:].replace(b"PK\1\2\x14\x03\x14\0\0", b"PK\1\2\x14\x03\x14\0\1", 1)
NOT_EXACT = {
    "text before": (b"id,amount\n" + PACKED, "10 bytes before the first member"),
    "text behind": (PACKED + b"c,9.00\n", "bytes behind its end"),
    "two archives": (PACKED + STORED, "bytes before the first member"),
    "text between": (between(PACKED, b"c,9.00\n"), "7 bytes behind member 'a.csv' are of no member"),
    "a shorter stored member": (lying(STORED, local=False), "'b.csv' in the list and in its header differ"),
    "and its header says so": (lying(STORED, local=True), "7 bytes behind member 'b.csv'"),
    "a shorter packed member": (lying(PACKED, local=True), "not the size or the CRC"),
    "bytes within a packed member": (padded(PACKED), "has bytes behind its end"),
    "a list of none": (PACKED[: PACKED.index(b"PK\1\2")] + b"PK\5\6" + bytes(18), "bytes before the first member"),
    "a password": (ENCRYPTED, "'a.csv' is protected by a password"),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_EXACT)
def test_an_archive_is_exactly_its_members(tmp_path: Path, case: str) -> None:
    """What the list of members does not know, or knows otherwise, is no row that somebody overlooked."""
    raw, words = NOT_EXACT[case]
    path = tmp_path / "x.zip"
    path.write_bytes(raw)

    with pytest.raises(PortError) as refused:
        CountExtract(path, FileFormat(compression="zip", members=("*.csv",)), amounts()).tally()
    seen = HashLanded(path, "0" * 64, "zip").observe(PORTS)

    assert refused.value.code == "TRUNCATED_STREAM"
    assert words in refused.value.message
    assert seen["decodes"] is False
    assert words in str(seen["reason"])


ARCHIVES: dict[str, Callable[[Path], object]] = {
    "stored": lambda path: path.write_bytes(STORED),
    "packed": lambda path: path.write_bytes(PACKED),
    "to a pipe": lambda path: path.write_bytes(zipped(to=bytes)),
    "info-zip": lambda path: zip_tool(path, "zip", "-q", str(path), "a.csv", "b.csv"),
    "info-zip, sizes behind": lambda path: zip_tool(path, "zip", "-q", "-fd", str(path), "a.csv", "b.csv"),
    "info-zip, zip64": lambda path: zip_tool(path, "zip", "-q", "-fz", str(path), "a.csv", "b.csv"),
    "info-zip to a pipe": lambda path: zip_tool(path, "sh", "-c", f"zip -q - a.csv b.csv | cat > '{path}'"),
    "info-zip with a comment": lambda path: zip_tool(path, "sh", "-c", f"echo hello | zip -q -z '{path}' a.csv b.csv"),
}


def zip_tool(path: Path, *command: str) -> None:
    if shutil.which("zip") is None:
        pytest.skip("there is no zip on this machine")
    for name in ("a.csv", "b.csv"):
        (path.parent / name).write_bytes(CSV)
    subprocess.run(command, cwd=path.parent, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("case", ARCHIVES)
def test_ordinary_archives_are_read(tmp_path: Path, case: str) -> None:
    path = tmp_path / "x.zip"
    ARCHIVES[case](path)

    assert CountExtract(path, FileFormat(compression="zip", members=("*.csv",)), amounts()).tally().rows == 4
    assert HashLanded(path, "0" * 64, "zip").observe(PORTS)["decoded_size"] == 2 * len(CSV)


def test_members_that_are_ignored_have_no_share_in_the_bound(tmp_path: Path) -> None:
    """They are read by nobody; the same without their pattern is too large."""
    path, out = tmp_path / "x.zip", io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("scan.pdf", bytes(MEGABYTE))
        archive.writestr("a.csv", CSV)
    path.write_bytes(out.getvalue())

    assert HashLanded(path, "0" * 64, "zip", 1_000, ("*.pdf",)).observe(PORTS)["decodes"] is True
    assert HashLanded(path, "0" * 64, "zip", 1_000).observe(PORTS)["too_large"] is True
