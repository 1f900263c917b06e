"""Opening what must be a plain file: no link, no pipe that never answers, no device that never ends."""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

PATIENCE_S = 10.0
"""How long a pipe that a person names may be silent."""
MOST_OF_A_STREAM = 64 * 1024 * 1024
"""Bytes that are read of a pipe or a device; a file has an end of its own."""

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


class NotAFileError(OSError):
    """Something else stands where a file must be."""

    def __init__(self, mode: int) -> None:
        kind = next((word for test, word in _KINDS if test(mode)), "a device")
        super().__init__(errno.EINVAL, f"it is {kind}, not a file")


def without_links(path: str, flags: int) -> int:
    """An `opener` for `open`: the last part of the path is a file, and no link.

    Raises:
        NotAFileError: It is something else.
        OSError: It cannot be opened; ELOOP for a link.
    """
    return _plain(os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK))


def open_below(root: Path, parts: Sequence[str]) -> BinaryIO:
    """The file of that path below the root, for reading. No part of it is a link, whenever it was put there.

    Every folder is opened inside the one above it, so nothing can be put in its place between a look and the opening.

    Raises:
        NotAFileError: It is no file.
        OSError: It cannot be opened; ELOOP or ENOTDIR for a link.
    """
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        handle = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)
    return os.fdopen(_plain(handle), "rb")


def _plain(handle: int) -> int:
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        raise NotAFileError(mode)
    return handle


def open_named(path: Path, *, patience_s: float = PATIENCE_S) -> io.BufferedReader:
    """What a person names on the command line: a file, or a pipe as a shell's `<(...)` gives it. Links are followed.

    A pipe into which nobody writes, and a device without an end, end with an error instead of never.

    Raises:
        OSError: It cannot be opened; later, while it is read, ETIMEDOUT or EFBIG.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    if stat.S_ISDIR(mode):
        os.close(handle)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return io.BufferedReader(_Stream(handle, patience_s))


class _Stream(io.RawIOBase):
    """A pipe or a device, read with a bound on its silence and on its length."""

    def __init__(self, handle: int, patience_s: float) -> None:
        super().__init__()
        self._handle, self._patience_s, self._read = handle, patience_s, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever the buffered reader hands in
        until = time.monotonic() + self._patience_s
        while True:
            left = until - time.monotonic()
            if left <= 0 or not _has_something(self._handle, left):
                raise OSError(errno.ETIMEDOUT, f"nothing came through it for {self._patience_s:g} s")
            try:
                piece = os.read(self._handle, len(buffer))
                break
            except BlockingIOError:
                continue  # somebody else has read it
        self._read += len(piece)
        if self._read > MOST_OF_A_STREAM:
            raise OSError(errno.EFBIG, f"more than {MOST_OF_A_STREAM:,} bytes came through it")
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        if not self.closed:
            os.close(self._handle)
        super().close()


def _has_something(handle: int, seconds: float) -> bool:
    """Whether there is something to read, or an end, before the time is up."""
    waiting = select.poll()
    waiting.register(handle, select.POLLIN | select.POLLHUP)
    return bool(waiting.poll(seconds * 1000))
