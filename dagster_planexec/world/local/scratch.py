"""Temporary folders that go with their process: at its end, or, if it was killed, when the next one begins."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LOCK = ".planexec-lock"
"""Held by the process that made the folder, for as long as it lives."""
_TRIES, _PAUSE_S = 20, 0.05


@contextmanager
def scratch(prefix: str) -> Iterator[Path]:
    """A folder that is gone after the block; before it, those of this name whose processes are gone.

    Raises:
        OSError: There is no room for it.
    """
    _sweep(prefix)
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    lock = -1
    try:
        made = folder / f"{_LOCK}.new"
        lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # a file system without locks: nobody sweeps there
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            made.rename(folder / _LOCK)  # nobody finds it before it is held
        yield folder
    finally:
        _remove(folder)
        if lock >= 0:
            os.close(lock)


def _sweep(prefix: str) -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        # Another user's, a link, or one whose lock is not made yet: it is left alone.
        with suppress(OSError):
            lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not folder.is_symlink() and folder.stat().st_uid == os.geteuid():
                    _remove(folder)
            finally:
                os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: what is left of it is found by the next sweep.

    A thread that was given up may write in it for a moment still, so it is tried more than once.
    """
    for _ in range(_TRIES):
        with suppress(OSError):
            for entry in folder.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    shutil.rmtree(entry, ignore_errors=True)
                elif entry.name != _LOCK:
                    entry.unlink(missing_ok=True)
            if {entry.name for entry in folder.iterdir()} <= {_LOCK}:
                (folder / _LOCK).unlink(missing_ok=True)
                folder.rmdir()
        if not folder.exists():
            return
        time.sleep(_PAUSE_S)
