"""Temporary folders that go with their process: at its end, or, if it was killed, when the next one begins."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = ".planexec-lock"
"""Held by the process that made the folder, for as long as it lives."""


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A folder that is gone after the block; before it, those of this name whose processes are gone.

    Raises:
        OSError: There is no room for it.
    """
    _sweep(prefix)
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        made = folder / f"{_LOCK}.new"
        lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with suppress(OSError):  # a file system without locks: nobody sweeps there
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                made.rename(folder / _LOCK)  # nobody finds it before it is held
            yield folder
        finally:
            os.close(lock)


def _sweep(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        # Another user's, a link, or one whose lock is not made yet: it is left alone.
        with suppress(OSError):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not folder.is_symlink() and folder.stat().st_uid == os.geteuid():
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)
