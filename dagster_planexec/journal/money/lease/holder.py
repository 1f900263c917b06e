"""Who holds a month: which run, what started it, and the process it is in, so that another can tell if that is gone."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from dagster_planexec.journal.told.line import one_line

_LONGEST = 120
_PROC = Path("/proc")
_NO_LONGER_RUNS = frozenset({"Z", "X", "x"})
"""States of a process that was killed, and that its parent has not asked about yet."""
_STATE, _STARTED = 0, 19
"""Fields of `/proc/PID/stat` behind the name, which is in brackets and may hold anything."""


@dataclass(frozen=True, slots=True)
class Holder:
    """One process that holds a month, or asks for it."""

    run_id: str | None
    """The task run; None for a command that runs nothing."""
    started_by: str
    """In words: `the schedule x`, `a person`."""
    host: str
    pid: int
    boot: str | None = None
    """Which start of its machine; None, as all that follows, where the system does not tell."""
    space: str | None = None
    """Which numbering of processes: each container may have its own."""
    started: str | None = None
    """When the process began, in ticks since the start of its machine: a number that is used again tells by it."""
    run_key: str | None = None
    """Under which the run was asked for, if it was by a sensor or schedule."""

    @property
    def words(self) -> str:
        """`run 1f2e (the schedule x; host h, process 12)`."""
        who = f"run {one_line(self.run_id, _LONGEST)}" if self.run_id else "a process"
        by, host = one_line(self.started_by, _LONGEST), one_line(self.host, _LONGEST)
        return f"{who} (started by {by}; host {host}, process {self.pid})"

    def as_json(self) -> str:
        """The holder as a row keeps it."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def read(cls, text: str) -> Holder:
        """The holder of a row. What cannot be read was written by another version: then nothing is known of it."""
        try:
            said = json.loads(text)
            return cls(**{name: said.get(name) for name in cls.__slots__})
        except (ValueError, TypeError, AttributeError):
            return cls(None, "an unknown program", "unknown", 0)


def holder_here(*, run_id: str | None = None, started_by: str = "a person", run_key: str | None = None) -> Holder:
    """This very process as a holder."""
    pid = os.getpid()
    stat = _stat_of(pid)
    return Holder(run_id, started_by, socket.gethostname(), pid, _boot(), _space(), stat[1] if stat else None, run_key)


def is_gone(holder: Holder, *, one_machine: bool) -> bool:
    """Whether the holder's process is known to be gone. What cannot be known is not gone.

    Args:
        holder: Whoever held the month.
        one_machine: Both are on the same machine for certain, whatever it is called: an embedded journal is.
    """
    here = holder_here()
    if holder.boot is None or here.boot is None or holder.host != here.host:
        return False
    if holder.boot != here.boot:
        return one_machine  # the machine was started again since; elsewhere two machines may have one name
    if holder.space is None or holder.space != here.space or holder.started is None:
        return False
    stat = _stat_of(holder.pid)
    return stat is None or stat[0] in _NO_LONGER_RUNS or stat[1] != holder.started


def shares_clock(holder: Holder) -> bool:
    """Whether the holder counts the seconds since the same start of the same machine."""
    return holder.boot is not None and holder.boot == _boot()


@cache
def _boot() -> str | None:
    return _text(_PROC / "sys" / "kernel" / "random" / "boot_id")


def _space() -> str | None:
    try:
        return str((_PROC / "self" / "ns" / "pid").readlink())
    except OSError:
        return None


def _stat_of(pid: int) -> tuple[str, str] | None:
    """(state, start) of a process; None if there is none, or if the system does not tell."""
    text = _text(_PROC / str(pid) / "stat")
    fields = text.rpartition(")")[2].split() if text else []
    return (fields[_STATE], fields[_STARTED]) if len(fields) > _STARTED else None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None


def as_document(holder: Holder) -> Mapping[str, Any]:
    """What a document says of a holder."""
    return {"run_id": holder.run_id, "started_by": holder.started_by, "host": holder.host, "pid": holder.pid}
