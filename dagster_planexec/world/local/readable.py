"""Files that a task's own tools read: under one root, named relative to it, reached through no link."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.world.local.regular import NotAFileError, open_below, without_links

MOST_BYTES = 64 * 1024 * 1024
"""Bytes of one file; more is not read at all."""
MOST_FILES = 50_000
"""Files of one folder that are looked at."""
LINK = "a link, which is not followed"

_CODES = {
    errno.ENOENT: "FILE_GONE",
    errno.ENOTDIR: "FILE_GONE",
    errno.EACCES: "FORBIDDEN",
    errno.EPERM: "FORBIDDEN",
    errno.ELOOP: "FORBIDDEN",
}


def inside(root: Path | None, name: str) -> Path:
    """The path of that name under the root. It may not be there; no part of it is a link.

    Raises:
        PortError: BAD_CONTRACT if there is no root; VALIDATION_ERROR if the name leads out of it; FORBIDDEN for a link.
    """
    if root is None:
        raise PortError("BAD_CONTRACT", "the task has no folder of files", hint="name one in its roots: `files`")
    parts = name.split("/")
    if not name.isprintable() or "\\" in name or any(part in {"", ".", ".."} for part in parts):
        raise PortError(
            "VALIDATION_ERROR", f"{name[:80]!r} is not a plain path below the folder of files",
            hint="write folders and file with / between them: no `..`, nothing absolute",
        )  # fmt: skip
    path = root
    for part in parts:
        path = path / part
        try:
            leads_away = path.is_symlink()
        except (OSError, ValueError) as error:
            raise PortError("VALIDATION_ERROR", f"{name[:80]!r} cannot be a path: {error}"[:300]) from error
        if leads_away:
            raise PortError(
                "FORBIDDEN",
                f"{name[:80]!r} is reached through a link",
                hint="put the file itself there: links may lead out",
            )
    return path


def read_file(root: Path | None, name: str, *, most: int = MOST_BYTES) -> bytes:
    """The bytes of a file under the root.

    Raises:
        PortError: As `inside`; FILE_GONE if it is not there; VALIDATION_ERROR if it is no file, or too long.
    """
    inside(root, name)
    assert root is not None  # noqa: S101 - `inside` refuses that
    try:
        with open_below(root, name.split("/")) as file:
            raw = file.read(most + 1)
    except NotAFileError as error:
        raise PortError("VALIDATION_ERROR", f"{name[:80]!r} is not a file: {error.strerror}") from error
    except OSError as error:
        raise PortError(_code(error), f"{name[:80]!r} cannot be read: {error.strerror}") from error
    if len(raw) > most:
        raise PortError("VALIDATION_ERROR", f"{name[:80]!r} has more than {most} bytes")
    return raw


def digests_under(root: Path | None, folder: str, patterns: Sequence[str] = ("*",)) -> dict[str, str] | None:
    """SHA-256 of every file of a folder and below whose name matches, by its path under the root; None without folder.

    A link is named and not followed.

    Raises:
        PortError: As `inside`; VALIDATION_ERROR for more files than are looked at; FORBIDDEN, UNAVAILABLE.
    """
    top = inside(root, folder)
    if not top.is_dir():
        return None
    assert root is not None  # noqa: S101 - `inside` refuses that
    found: dict[str, str] = {}
    try:
        for path in _walk(top):
            if not any(fnmatchcase(path.name, pattern) for pattern in patterns):
                continue
            if len(found) == MOST_FILES:
                raise PortError("VALIDATION_ERROR", f"{folder[:80]!r} holds more than {MOST_FILES} files")
            name = path.relative_to(root).as_posix()
            found[name] = LINK if path.is_symlink() else _digest(path)
    except OSError as error:
        raise PortError(_code(error), f"{folder[:80]!r} cannot be read: {error.strerror}") from error
    return found


def _walk(top: Path) -> Iterator[Path]:
    """Every file and every link below, in the order of the names."""
    for entry in sorted(top.iterdir()):
        if entry.is_symlink() or entry.is_file():
            yield entry
        elif entry.is_dir():
            yield from _walk(entry)


def _digest(path: Path) -> str:
    with open(path, "rb", opener=without_links) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _code(error: OSError) -> str:
    return _CODES.get(error.errno or 0, "UNAVAILABLE")
