"""A seeded world for tests that call the command line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from assets.stage import environment, settings_of


@pytest.fixture
def world(tmp_path: Path) -> Iterator[DemoWorld]:
    """A seeded world, with the environment set as for a worker in it."""
    with LocalS3() as s3:
        made = DemoWorld(tmp_path / "home", s3.endpoint)
        made.seed()
        with environment(settings_of(made, None)):
            yield made
