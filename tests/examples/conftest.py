"""Homes with the worlds of the examples that need no bucket."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.local_tasks import LocalPlace, place_of


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalPlace:
    """Two lockfiles and twelve advisories."""
    return place_of("lockfiles", tmp_path / "home", monkeypatch)


@pytest.fixture
def months(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalPlace:
    """Seven months of orders."""
    return place_of("row_counts", tmp_path / "home", monkeypatch)
