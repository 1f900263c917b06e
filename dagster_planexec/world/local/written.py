"""Writing a page below a root: whole or not at all, and through no link."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path


def write_below(root: Path, parts: Sequence[str], text: str) -> None:
    """Write a file of that path below the root; folders on the way are made.

    Raises:
        OSError: It cannot be written; ELOOP or ENOTDIR where a link stands in the way.
    """
    root.mkdir(parents=True, exist_ok=True)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            with suppress(FileExistsError):
                os.mkdir(part, dir_fd=folder)
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        beside = f".{parts[-1]}.{secrets.token_hex(8)}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(beside, flags, 0o644, dir_fd=folder), "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(beside, parts[-1], src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(beside, dir_fd=folder)
            raise
    finally:
        os.close(folder)
