"""Tests that hold for every kind of journal: each runs in SQLite and in Postgres."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dagster_planexec.journal.journal import Journal

BACKENDS = ("sqlite", "postgres")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """What the journal is in."""
    return str(request.param)


@pytest.fixture
def fresh(
    backend: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """Lets the environment name another, empty journal; for this process and those it starts."""
    folders = iter(range(1_000))

    def name_another() -> None:
        monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path / f"home{next(folders)}"))
        if backend == "postgres":
            server = request.getfixturevalue("postgres")
            monkeypatch.setenv("PLANEXEC_JOURNAL_DEFAULT", server.url(server.database()))

    return name_another


@pytest.fixture
def place(fresh: Callable[[], None]) -> None:
    """The environment names an empty journal."""
    fresh()


@pytest.fixture
def journal(place: None) -> Iterator[Journal]:
    """An empty journal."""
    opened = Journal()
    yield opened
    opened.close()
