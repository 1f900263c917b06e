"""Files under one root, each replaced as a whole: a reader sees the old report or the new one, never half of one."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from dagster_planexec.errors import PortError

Content = str | Callable[[BinaryIO], None]
"""The text of a file, or what writes its bytes."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
"""One path component that is no hidden file, no option and no way up."""
_FILE_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,139}$"
"""The same, with room for what is put behind a report's name."""
_CODES = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "DISK_FULL"),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), "FORBIDDEN"),
}


def write_whole(root: Path, files: Mapping[str, Content]) -> None:
    """Write every file beside its place first, then put all of them in place.

    Raises:
        PortError: VALIDATION_ERROR for a name that is not one plain component or whose place is a link or a folder;
            DISK_FULL, FORBIDDEN; what a content's own writing raises.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        resolved = root.resolve(strict=True)
        for name in files:
            _refuse_what_leads_away(resolved, name)
        parked: dict[Path, Path] = {}
        try:
            for name, content in files.items():
                place = resolved / name
                beside = resolved / f".{name}.{secrets.token_hex(8)}.part"
                parked[beside] = place
                _write_new(beside, content)
            for beside, place in parked.items():
                beside.replace(place)
        finally:
            for beside in parked:
                with suppress(FileNotFoundError):
                    beside.unlink()
    except OSError as error:
        code = _CODES.get(error.errno or 0, "INTERNAL")
        names = ", ".join(files)
        raise PortError(code, f"{names} could not be written: {error.strerror}") from error


def _refuse_what_leads_away(root: Path, name: str) -> None:
    if not re.fullmatch(_FILE_NAME, name):
        raise PortError("VALIDATION_ERROR", f"report file {name[:80]!r} is not one plain name")
    place = root / name
    if place.is_symlink() or (place.exists() and not place.is_file()):
        raise PortError(
            "VALIDATION_ERROR",
            f"the place of report file {name!r} is a link or a folder, not a file",
            hint="remove it; a report is never written through a link",
        )


def _write_new(path: Path, content: Content) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(handle, "wb") as stream:
        if isinstance(content, str):
            stream.write(content.encode("utf-8"))
        else:
            content(stream)
        stream.flush()
        os.fsync(stream.fileno())
