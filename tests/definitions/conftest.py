"""Months of the flagship, each run once per module."""

from __future__ import annotations

from contextlib import contextmanager

import dagster as dg
import pytest

from tests.support.flagship import endpoint, materialise, seeded, world_of  # noqa: F401 - fixtures
from tests.support.s3 import s3, s3_server  # noqa: F401 - fixtures


@pytest.fixture(scope="module")
def month(tmp_path_factory, endpoint, seeded):  # noqa: F811 - fixtures are parameters
    """Runs a month in a world of its own: `with month(fault=...) as done`; `month.world` is the world alone."""

    @contextmanager
    def world(*, fault=None):
        with world_of(seeded, tmp_path_factory.mktemp("home"), endpoint, fault=fault) as found:
            yield found

    @contextmanager
    def run(*, fault=None):
        overrides = {"telemetry": {"enabled": False}}
        with (
            world(fault=fault) as found,
            dg.DagsterInstance.local_temp(str(found.home / "dagster"), overrides=overrides) as instance,
        ):
            yield materialise(instance, found)

    run.world = world
    return run


@pytest.fixture(scope="module")
def healthy(month):
    """A month in which everything is as it should be."""
    with month() as done:
        yield done


@pytest.fixture(scope="module")
def stopped(month):
    """A month whose export is deleted under the checked plan."""
    with month(fault="delete-export-after-admission") as done:
        yield done


@pytest.fixture(scope="module")
def held(month):
    """A month whose credits exceed the cap."""
    with month(fault="inflate-credits") as done:
        yield done


@pytest.fixture(scope="module")
def rejected(month):
    """A month whose export is empty before anything is planned."""
    with month(fault="empty-export") as done:
        yield done
