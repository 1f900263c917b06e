"""The container of a workbook: a zip archive of XML parts, looked at before any library is let near it.

The two libraries that read workbooks trust what is in them: how far a sheet reaches, how far a member unfolds, which
member stands for a sheet. So all of it is settled here, by a pass of Python's own zipfile and expat.
"""

from __future__ import annotations

import posixpath
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.text.words import shown, too_large
from dagster_planexec.world.delivery.zipped.archive import BROKEN, archive, broken, member_of, unreadable
from dagster_planexec.world.local.regular import without_links

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""What an encrypted workbook begins with, and one of before 2007."""
_CHUNK = 1 << 18
Attributes = Mapping[str, str]


@contextmanager
def container(part: Part) -> Iterator[zipfile.ZipFile]:
    """The archive of a workbook, whose members are within bounds.

    Raises:
        PortError: BAD_FORMAT if it is encrypted or of an older kind, or if two members have one name;
            TRUNCATED_STREAM if it is no archive, or not all of one; TOO_LARGE.
    """
    with open(part.path, "rb", opener=without_links) as file:
        if file.read(len(_OLE)) == _OLE:
            raise bad_format(part, "it is protected by a password, or of a kind of before 2007")
        file.seek(0)
        with archive(file, part.name) as opened:
            members = opened.infolist()
            if twice := [name for name, count in Counter(info.filename for info in members).items() if count > 1]:
                raise bad_format(part, f"its archive holds {shown(twice[0])} more than once")
            for info in members:
                if why := unreadable(info):
                    raise broken(part.name, RuntimeError(f"member {shown(info.filename)} {why}"))
            if sum(info.file_size for info in members) > part.form.max_bytes:
                raise too_large(part.name, part.form.max_bytes)
            yield opened


def repacked(part: Part, into: Path) -> None:
    """Write the workbook again, uncompressed, with the very bytes that were bounded and whose checksums hold.

    Raises:
        PortError: As `container`.
    """
    with container(part) as opened, zipfile.ZipFile(into, "w", zipfile.ZIP_STORED) as out:
        for info in opened.infolist():
            try:
                stream = member_of(opened, info.filename)
                with out.open(zipfile.ZipInfo(info.filename), "w", force_zip64=True) as to:
                    while piece := stream.read(_CHUNK):
                        to.write(piece)
            except BROKEN as error:
                raise broken(part.name, error) from error


def sheets_in(part: Part, opened: zipfile.ZipFile) -> dict[str, str]:
    """Every worksheet, hidden ones too: its name, and the member that holds it.

    Raises:
        PortError: BAD_FORMAT, TRUNCATED_STREAM.
    """
    book = next((to for kind, _, to in _relations(part, opened, "") if kind == "officeDocument"), None)
    if book is None:
        raise bad_format(part, "it names no workbook")
    targets = {key: to for kind, key, to in _relations(part, opened, book) if kind == "worksheet"}
    found: dict[str, str] = {}

    def start(tag: str, attributes: Attributes) -> None:
        if local(tag) == "sheet":
            key = next((value for name, value in attributes.items() if local(name) == "id"), "")
            name = attributes.get("name", "")
            if name in found:
                raise bad_format(part, f"two of its sheets are named {shown(name)}")
            if key in targets:
                found[name] = targets[key]

    read_xml(part, opened, book, start)
    return found


def _relations(part: Part, opened: zipfile.ZipFile, of: str) -> list[tuple[str, str, str]]:
    """What a member names: kind, id, and member. The package itself is the member of no name."""
    folder, name = posixpath.split(of)
    found: list[tuple[str, str, str]] = []

    def start(tag: str, attributes: Attributes) -> None:
        if local(tag) == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "")
            whole = target if target.startswith("/") else posixpath.join("/", folder, target)
            kind = attributes.get("Type", "").rsplit("/", 1)[-1]
            found.append((kind, attributes.get("Id", ""), posixpath.normpath(whole).lstrip("/")))

    read_xml(part, opened, posixpath.join(folder, "_rels", f"{name}.rels"), start)
    return found


def read_xml(
    part: Part,
    opened: zipfile.ZipFile,
    member: str,
    start: Callable[[str, Attributes], None],
    end: Callable[[str], None] | None = None,
    text: Callable[[str], None] | None = None,
) -> None:
    """Read one member as XML, in pieces.

    Raises:
        PortError: BAD_FORMAT if it is not there, is no XML, or defines a document type: entities unfold and name files,
            and the standard of workbooks allows none; TRUNCATED_STREAM.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = start
    if end is not None:
        parser.EndElementHandler = end
    if text is not None:
        parser.CharacterDataHandler = text

    def typed(*_: object) -> NoReturn:
        raise bad_format(part, f"member {shown(member)} defines a document type")

    parser.StartDoctypeDeclHandler = typed
    try:
        stream = member_of(opened, member)
        while piece := stream.read(_CHUNK):
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except KeyError as error:
        raise bad_format(part, f"it has no member {shown(member)}") from error
    except expat.ExpatError as error:
        raise bad_format(part, f"member {shown(member)} is no XML: {str(error)[:80]}") from error
    except BROKEN as error:
        raise broken(part.name, error) from error


def local(name: str) -> str:
    """A name without the prefix of its namespace."""
    return name.rsplit(":", 1)[-1]


def bad_format(part: Part, why: str) -> PortError:
    """What to say of something that is no workbook that can be read."""
    return PortError(
        "BAD_FORMAT", f"{part.name} is no workbook that can be read: {why}",
        hint="have the vendor save it again, as .xlsx and without a password",
    )  # fmt: skip
