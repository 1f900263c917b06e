"""JSON Lines from anywhere: one value a line, bounded, and a reason where a line holds none. No line makes it raise."""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from dagster_planexec.plan.model import MAX_PLAN_BYTES
from dagster_planexec.world.local.regular import open_named

_LONGEST_INTEGER = 20
"""Digits and sign of a 64-bit integer. Python refuses to convert very long ones, and takes its time before."""
_BOM = b"\xef\xbb\xbf"


class Number(str):
    """A number that plans do not hold as such, in its own digits: with a fraction or an exponent, or beyond 64 bits.

    A plan keeps it as exact decimal text; what it was before only a check of types asks.
    """

    __slots__ = ()

    @property
    def is_integer(self) -> bool:
        """Whether it has neither fraction nor exponent."""
        return self.removeprefix("-").isdigit()

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, slots=True)
class NotJson:
    """Stands where a line holds what is no JSON, or not for certain: NaN, a key that is given twice."""

    expected: str
    seen: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank."""

    number: int
    value: Any
    fault: str | None = None
    """Why it holds no value."""


class PackedFileError(OSError):
    """The file is compressed or an archive: its bytes are not the text that was meant."""

    def __init__(self, packing: str) -> None:
        super().__init__(errno.EINVAL, f"it is packed with {packing}")


_PACKINGS = {
    b"\x1f\x8b\x08": "gzip", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"\x28\xb5\x2f\xfd": "zstd",
}  # fmt: skip
_MAGIC = 6


def refuse_packed(beginning: bytes) -> None:
    """Say so once where every line of it would be no JSON.

    Raises:
        PackedFileError: A file that begins so is packed.
    """
    packing = next((name for magic, name in _PACKINGS.items() if beginning.startswith(magic)), None)
    if packing is not None:
        raise PackedFileError(packing)


def what_to_do(error: OSError, kind: str) -> str:
    """The hint of a file that cannot be read; `kind` is what it should be, e.g. `a file of JSON Lines`."""
    if isinstance(error, PackedFileError):
        return f"unpack it first, then name the unpacked file: {kind}"
    return f"look at the name and whether it may be read; expected is {kind}"


def read_lines(path: Path, *, limit: int = MAX_PLAN_BYTES) -> Iterator[Line]:
    """The lines of a file, one at a time; never more of it in memory than one line of that many bytes.

    Raises:
        OSError: The file cannot be read; `PackedFileError` if it is packed.
    """
    with open_named(path) as file:
        refuse_packed(file.peek(_MAGIC)[:_MAGIC])
        number = 0
        while raw := file.readline(limit + 1):
            number += 1
            if len(raw) > limit and not raw.endswith(b"\n"):
                _skip_line(file)
                yield Line(number, None, f"more than {limit:,} bytes")
            elif text := (raw.removeprefix(_BOM) if number == 1 else raw).strip():
                yield _decoded(number, text)


def _skip_line(file: BinaryIO) -> None:
    while (rest := file.readline(1 << 16)) and not rest.endswith(b"\n"):
        pass


def _decoded(number: int, raw: bytes) -> Line:
    try:
        value = json.loads(
            raw.decode(), parse_float=Number, parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object
        )
    except RecursionError:
        return Line(number, None, "nested too deeply to be read")
    except ValueError as error:
        return Line(number, None, f"no JSON: {str(error)[:160]}")
    return Line(number, value)


def _integer(digits: str) -> int | Number:
    if len(digits) > _LONGEST_INTEGER:
        return Number(digits)
    value = int(digits)
    return value if -(2**63) <= value < 2**63 else Number(digits)


def _constant(name: str) -> NotJson:
    return NotJson("a number", name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = value if key not in found else NotJson("each key once in an object", f"{key[:60]!a} twice")
    return found
