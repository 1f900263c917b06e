"""Zip archives: which members are data.

Python's zipfile opens the container for every reader; what it holds goes through the two parsers of its format. Before
it is asked anything, its word is compared with the bytes (`members.py`).
The name of a member is compared with patterns and shown, and is never a path: nothing is unpacked under it.
"""

from __future__ import annotations

import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import BinaryIO

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.text.words import shown, too_large
from dagster_planexec.world.delivery.zipped.members import Member, expect_exact
from dagster_planexec.world.ingest import FileFormat

_NAMED = 5
_ENCRYPTED = 0x1
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""Others unfold in pieces that zipfile does not bound."""
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError)
"""What zipfile raises at bytes that are no archive, or not all of one; RuntimeError wants a password."""


@contextmanager
def archive(file: BinaryIO, name: str) -> Iterator[zipfile.ZipFile]:
    """The archive that a file is.

    Raises:
        PortError: TRUNCATED_STREAM if it is none, has lost its end, where the list of members stands, or is not exactly
            the members of that list.
    """
    try:
        opened = zipfile.ZipFile(file)
        expect_exact(file, opened)
    except BROKEN as error:
        raise broken(name, error) from error
    with opened:
        yield opened


def data_members(opened: zipfile.ZipFile, form: FileFormat, name: str) -> tuple[str, ...]:
    """The names of the members that are data, in the archive's order.

    Raises:
        PortError: AMBIGUOUS_ARCHIVE if a member is known to no pattern, if there are several and none is declared, or
            if two have one name; EMPTY_EXTRACT if there is none; TOO_LARGE; TRUNCATED_STREAM if one is encrypted.
    """
    files = [info for info in opened.infolist() if not (info.is_dir() and info.file_size == 0)]
    left = [info for info in files if not _one_of(info.filename, form.ignored_members)]
    unknown = [info for info in left if form.members and not _one_of(info.filename, form.members)]
    if unknown:
        raise _ambiguous(name, "members that no pattern of its contract knows", [info.filename for info in unknown])
    if len(left) > 1 and not form.members:
        raise _ambiguous(name, "several members, and its contract names none", [info.filename for info in left])
    if twice := [member for member, count in Counter(info.filename for info in left).items() if count > 1]:
        raise _ambiguous(name, "members of one name", twice)
    if not left:
        raise PortError(
            "EMPTY_EXTRACT",
            f"{name} holds no member that is data; it has {_few([info.filename for info in files])}",
            hint="ask the vendor for the data, or correct `members` in the file contract",
        )
    for info in left:
        if why := unreadable(info):
            raise broken(name, RuntimeError(f"member {shown(info.filename)} {why}"))
    if sum(info.file_size for info in left) > form.max_bytes:
        raise too_large(name, form.max_bytes)
    return tuple(info.filename for info in left)


def broken(name: str, error: Exception) -> PortError:
    """What to say of an archive that does not unpack to its end."""
    return PortError(
        "TRUNCATED_STREAM",
        f"{name} cannot be unpacked to its end: {str(error)[:200] or type(error).__name__}",
        hint="ask the vendor to deliver the file again, whole and without a password",
    )


def decode_all(file: BinaryIO, most: int, ignored: tuple[str, ...] = ()) -> tuple[int, str | None]:
    """Unpack every member to its end, with its checksum: bytes in all, and why that ended early (None: it did not).

    Not one byte more than `most` is unfolded. Members of the patterns `ignored` are read by nobody, and not unpacked.
    """
    size, member = 0, ""
    try:
        with zipfile.ZipFile(file) as opened:
            expect_exact(file, opened)
            for info in opened.infolist():
                if _one_of(info.filename, ignored):
                    continue
                member = info.filename
                if why := unreadable(info):
                    return size, f"member {shown(member)} {why}"
                for length in _lengths(Member(file, info)):
                    size += length
                    if size > most:
                        return size, None
    except BROKEN as error:
        where = f"member {shown(member)}: " if member else ""
        return size, f"{where}{str(error)[:160] or type(error).__name__}"
    return size, None


def _lengths(stream: Member) -> Iterator[int]:
    while piece := stream.read(1 << 16):
        yield len(piece)


def member_of(opened: zipfile.ZipFile, name: str) -> Member:
    """The bytes of a member. Raises as `Member`, and KeyError if there is none of that name."""
    file = opened.fp
    assert file is not None  # noqa: S101 - it is open
    return Member(file, opened.getinfo(name))


def unreadable(info: zipfile.ZipInfo) -> str:
    """Why a member cannot be unpacked, in words; nothing if it can."""
    if info.flag_bits & _ENCRYPTED:
        return "is protected by a password"
    return "" if info.compress_type in _METHODS else f"is compressed by method {info.compress_type}, not by deflate"


def _one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (", ".join(shown(name) for name in names[:_NAMED]) or "no member") + more


def _ambiguous(name: str, what: str, names: list[str]) -> PortError:
    return PortError(
        "AMBIGUOUS_ARCHIVE",
        f"{name} has {what}: {_few(names)}",
        hint="name the members that are data in `members`, and all others in `ignored_members`, of the file contract",
    )
