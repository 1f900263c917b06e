"""The demo's own parts: its S3 server over HTTP, a DuckDB file in a temporary home, both data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.recording import fill, read_recording

ASSETS = Path(__file__).parents[2] / "assets"


@pytest.fixture(scope="session")
def local_s3() -> Iterator[LocalS3]:
    """One demo server for all tests of a process."""
    with LocalS3() as server:
        yield server


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory) -> Path:
    """A home that many tests seed again; seeding puts right what the test before did."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def saturday(local_s3, shared_home) -> Iterator[DemoWorld]:
    """The flagship's world, freshly seeded."""
    world = DemoWorld(shared_home, local_s3.endpoint)
    world.seed()
    yield world
    world.s3.close()


@pytest.fixture
def council(local_s3, shared_home) -> Iterator[DemoWorld]:
    """The council's world, freshly seeded."""
    world = DemoWorld(shared_home, local_s3.endpoint, data="council")
    world.seed()
    yield world
    world.s3.close()


@pytest.fixture
def recorded() -> Callable[..., Plan]:
    """The recorded plan that fits a world."""

    def recorded(world: DemoWorld, recording: str = "recorded_export_csv.json") -> Plan:
        path = ASSETS / world.data.task.name / "plans" / recording
        return fill(read_recording(path)["answer"], world.period)

    return recorded
