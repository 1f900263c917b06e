"""A seeded world whose month has an attempt and a plan, so that plans can be compiled and run without a task run."""

from __future__ import annotations

import dagster as dg
import pytest

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.compiler.binding import work_of
from tests.support.flagship import endpoint, seeded, world_of  # noqa: F401 - fixtures


@pytest.fixture
def world(tmp_path, seeded, endpoint):  # noqa: F811 - fixtures are parameters
    """A world of the test's own."""
    with world_of(seeded, tmp_path, endpoint) as world:
        yield world


@pytest.fixture
def work(world):
    """The flagship's work in that world."""
    work = work_of(VENDOR_RECONCILIATION.binding)
    yield work
    work.journal.close()


@pytest.fixture
def instance(tmp_path):
    """A Dagster instance with files."""
    with dg.DagsterInstance.local_temp(
        str(tmp_path / "dagster"), overrides={"telemetry": {"enabled": False}}
    ) as instance:
        yield instance
