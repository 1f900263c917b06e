"""Another process that opens a warehouse file and keeps it until it is told to let go."""

from __future__ import annotations

import multiprocessing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def _serve(told: Connection) -> None:
    import duckdb

    held: Any = None
    while True:
        path = told.recv()
        if held is not None:
            held.close()
            held = None
        if path == "":
            return
        if path is not None:
            held = duckdb.connect(path)
        told.send(path)


class Holder:
    """Made without a process; the first file it holds starts one, and `end` ends it."""

    def __init__(self) -> None:
        self._told: Connection | None = None
        self._process: Any = None

    def hold(self, path: Path) -> None:
        """Open the file there. Returns when it is held."""
        if self._told is None:
            context = multiprocessing.get_context("spawn")
            self._told, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
            self._process.start()
        self._say(str(path))

    def let_go(self) -> None:
        """Close it there. Returns when it is free; nothing to do if nothing is held."""
        if self._told is not None:
            self._say(None)

    def end(self) -> None:
        """End the process."""
        if self._told is not None:
            self._told.send("")
            self._process.join()
            self._told.close()
            self._told = None

    def _say(self, path: str | None) -> None:
        assert self._told is not None
        self._told.send(path)
        if not self._told.poll(30):
            raise TimeoutError(f"the holder does not answer to {path!r}")
        self._told.recv()
