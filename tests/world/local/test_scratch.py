"""Temporary folders are gone after their block, whatever is still written in them; what was left goes later."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from dagster_planexec.world.local import scratch as module
from dagster_planexec.world.local.scratch import scratch

PREFIX = "planexec-test-"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def writing(folder: Path, until: Callable[[], bool]) -> threading.Thread:
    """A thread that was given up: it goes on to make files."""

    def write() -> None:
        n = 0
        while until():
            n += 1
            with suppress(OSError):
                (folder / f"{n}").mkdir()
                (folder / f"{n}" / "part").write_bytes(b"x")

    thread = threading.Thread(target=write)
    thread.start()
    return thread


def test_what_a_thread_writes_for_a_moment_still_goes_too(place: Path) -> None:
    """Removing is tried again."""
    ends = time.monotonic() + 0.4
    with scratch(PREFIX) as folder:
        thread = writing(folder, lambda: time.monotonic() < ends)
    thread.join()
    assert list(place.iterdir()) == []


def test_what_cannot_be_removed_keeps_its_lock_and_goes_with_the_next(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the lock nobody would know whether it is in use."""
    monkeypatch.setattr(module, "_TRIES", 1)
    monkeypatch.setattr(module.shutil, "rmtree", lambda *_, **__: None)
    with scratch(PREFIX) as folder:
        (folder / "in").mkdir()
    assert (folder / module._LOCK).exists()
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(place))

    with scratch(PREFIX) as other:
        assert list(place.iterdir()) == [other]


def test_those_in_use_stay(place: Path) -> None:
    """Of this process or another."""
    with scratch(PREFIX) as one, scratch(PREFIX) as other:
        assert sorted(place.iterdir()) == sorted([one, other])
    assert list(place.iterdir()) == []
