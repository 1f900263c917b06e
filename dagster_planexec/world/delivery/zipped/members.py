"""A zip archive is exactly its members: one behind the other from the first byte, then their list, then its end.

Python's zipfile passes over bytes before, between and behind them, believes the list where the headers of the members
say otherwise, and stops where the list says that a member ends. So the layout is compared here byte by byte, and a
member is unpacked here to its own end.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

from dagster_planexec.world.delivery.text.words import shown

_LOCAL = struct.Struct("<4s5H3I2H")
_END = struct.Struct("<4s4H2IH")
_LOCATOR = struct.Struct("<4sIQI")
_END64 = struct.Struct("<4sQ2H2I4Q")
_COMMENT = (1 << 16) - 1
_LARGE = 0xFFFFFFFF
_BY_DESCRIPTOR = 0x8
_SAME_FLAGS = 0x1 | _BY_DESCRIPTOR | 0x40 | 0x2000
"""Encrypted, sizes behind the data, strongly encrypted, headers masked; others are hints of the packer."""
_DESCRIPTORS = {12: "<3I", 16: "<4x3I", 20: "<I2Q", 24: "<4xI2Q"}
"""Forms of what stands behind a member whose sizes were not known before: checksum and both sizes."""
_AT_ONCE = 1 << 18


def expect_exact(file: IO[bytes], opened: zipfile.ZipFile) -> None:
    """Compare the layout of a file with the list of its members.

    Args:
        file: The whole file.
        opened: The same, as zipfile understands it.

    Raises:
        zipfile.BadZipFile: In words, for the first place where they differ.
    """
    starts, ends, count = _list_of(file)
    members = sorted(opened.infolist(), key=lambda info: info.header_offset)
    if len(members) != count or sum(46 + _tail_of(info) for info in members) != ends - starts:
        raise zipfile.BadZipFile(f"its list of members is not of the {count} that its end states")
    at = 0
    for info, behind in zip(members, [*(one.header_offset for one in members[1:]), starts], strict=bool(members)):
        if info.header_offset != at:
            raise zipfile.BadZipFile(f"{info.header_offset - at} bytes before member {_name(info)} are of no member")
        _expect_descriptor(file, info, data_of(file, info) + info.compress_size, behind)
        at = behind
    if at != starts:
        raise zipfile.BadZipFile(f"{starts} bytes are of no member")


def data_of(file: IO[bytes], info: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin.

    Raises:
        zipfile.BadZipFile: Its own header says something else than the list.
    """
    head = _read(file, info.header_offset, _LOCAL.size)
    mark, _, flags, method, _, _, crc, packed, size, named, extra = _LOCAL.unpack(head)
    rest = _read(file, info.header_offset + _LOCAL.size, named + extra)
    if mark != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"there is no header of member {_name(info)} where the list says")
    if rest[:named] != info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437"):
        raise zipfile.BadZipFile(f"the name in the list, {_name(info)}, and in the header differ")
    size, packed = _sizes(rest[named:], size, packed)
    stated = (("checksum", crc, info.CRC), ("size", size, info.file_size), ("packed size", packed, info.compress_size))
    later = bool(flags & _BY_DESCRIPTOR)
    wrong = [what for what, here, there in stated if here != there and not (later and here in {0, _LARGE})]
    wrong += ["method"] if method != info.compress_type else []
    wrong += ["flags"] if (flags ^ info.flag_bits) & _SAME_FLAGS else []
    if wrong:
        raise zipfile.BadZipFile(f"the {wrong[0]} of member {_name(info)} in the list and in its header differ")
    return int(info.header_offset + _LOCAL.size + named + extra)


class Member(io.RawIOBase):
    """The bytes of one member, which end where it says, with the size and the checksum that are stated.

    Reading raises `zipfile.BadZipFile` or `zlib.error` if they do not.
    """

    def __init__(self, file: IO[bytes], info: zipfile.ZipInfo) -> None:
        super().__init__()
        self._file, self._info = file, info
        self._at = data_of(file, info)
        self._end = self._at + info.compress_size
        self._unpack = zlib.decompressobj(-zlib.MAX_WBITS) if info.compress_type == zipfile.ZIP_DEFLATED else None
        self._held, self._size, self._crc = b"", 0, 0

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever the reader hands in
        """Unpack no more than fits."""
        piece = self._next(len(buffer))
        self._size, self._crc = self._size + len(piece), zlib.crc32(piece, self._crc)
        if self._size > self._info.file_size or (not piece and self._is_other()):
            raise zipfile.BadZipFile(f"member {_name(self._info)} has not the size or the CRC that is stated")
        buffer[: len(piece)] = piece
        return len(piece)

    def _is_other(self) -> bool:
        return (self._size, self._crc) != (self._info.file_size, self._info.CRC)

    def _next(self, most: int) -> bytes:
        if self._unpack is None:
            return self._raw(most)
        while not self._unpack.eof:
            packed = self._held or self._raw(_AT_ONCE)
            piece = self._unpack.decompress(packed, most)
            self._held = self._unpack.unconsumed_tail
            if piece:
                return piece
            if not packed:
                raise zipfile.BadZipFile(f"member {_name(self._info)} ends too early")
        if self._unpack.unused_data or self._held or self._at < self._end:
            raise zipfile.BadZipFile(f"member {_name(self._info)} has bytes behind its end")
        return b""

    def _raw(self, most: int) -> bytes:
        found = _read(self._file, self._at, min(most, self._end - self._at))
        self._at += len(found)
        return found


def _list_of(file: IO[bytes]) -> tuple[int, int, int]:
    """Where the list of members begins and ends, and how many it has: as the end of the archive states."""
    length = file.seek(0, io.SEEK_END)
    first = max(0, length - _END.size - _COMMENT)
    tail = _read(file, first, length - first)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + _END.size > len(tail):
        raise zipfile.BadZipFile("it has no end")
    _, disk, list_disk, here, count, size, starts, comment = _END.unpack_from(tail, at)
    if at + _END.size + comment != len(tail):
        raise zipfile.BadZipFile("there are bytes behind its end")
    ends = first + at
    if ends >= _LOCATOR.size and _read(file, ends - _LOCATOR.size, 4) == b"PK\x06\x07":
        found = _LOCATOR.unpack(_read(file, ends - _LOCATOR.size, _LOCATOR.size))[2]
        if found + _END64.size > ends - _LOCATOR.size:
            raise zipfile.BadZipFile("its end is not where it says")
        mark, length, _, _, disk, list_disk, here, count, size, starts = _END64.unpack(_read(file, found, _END64.size))
        if mark != b"PK\x06\x06" or found + 12 + length != ends - _LOCATOR.size:
            raise zipfile.BadZipFile("its end is not where it says")
        ends = found
    if disk or list_disk or here != count:
        raise zipfile.BadZipFile("it is one part of several")
    if starts + size != ends:
        raise zipfile.BadZipFile(
            f"{abs(ends - starts - size)} bytes before the first member or behind the last are of none"
        )
    return starts, ends, count


def _expect_descriptor(file: IO[bytes], info: zipfile.ZipInfo, at: int, behind: int) -> None:
    """Between a member and what comes next are its sizes again, if they were not known before, and nothing else."""
    if not info.flag_bits & _BY_DESCRIPTOR and at == behind:
        return
    form = _DESCRIPTORS.get(behind - at) if info.flag_bits & _BY_DESCRIPTOR else None
    if form is None:
        raise zipfile.BadZipFile(f"{behind - at} bytes behind member {_name(info)} are of no member")
    found = _read(file, at, behind - at)
    marked = len(found) in {16, 24}
    if struct.unpack(form, found) != (info.CRC, info.compress_size, info.file_size) or (
        marked and not found.startswith(b"PK\x07\x08")
    ):
        raise zipfile.BadZipFile(f"size and checksum behind member {_name(info)} and in the list differ")


def _sizes(extra: bytes, size: int, packed: int) -> tuple[int, int]:
    """Both sizes of a header: those that are too large for it stand in a field of their own."""
    for kind, field in _fields(extra):
        if kind == 1:
            large = [int.from_bytes(field[at : at + 8], "little") for at in range(0, len(field) - 7, 8)]
            size = large.pop(0) if size == _LARGE and large else size
            packed = large.pop(0) if packed == _LARGE and large else packed
    return size, packed


def _fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    while len(extra) >= 4:  # noqa: PLR2004 - kind and length of a field
        kind, length = struct.unpack_from("<2H", extra)
        yield kind, extra[4 : 4 + length]
        extra = extra[4 + length :]


def _tail_of(info: zipfile.ZipInfo) -> int:
    """Bytes of its entry in the list behind the fixed ones."""
    name = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
    return len(name) + len(info.extra) + len(info.comment)


def _read(file: IO[bytes], at: int, length: int) -> bytes:
    file.seek(at)
    found = file.read(length)
    if len(found) < length:
        raise zipfile.BadZipFile("it ends too early")
    return found


def _name(info: zipfile.ZipInfo) -> str:
    return shown(info.filename)
