"""Months of the flagship, each run once per module."""

from __future__ import annotations

from contextlib import contextmanager

import dagster as dg
import pytest

from tests.support.flagship import endpoint, materialise, seeded, world_of  # noqa: F401 - fixtures


@pytest.fixture(scope="module")
def month(tmp_path_factory, endpoint, seeded):
    """Runs a month in a world of its own: `with month(fault=...) as done`."""

    @contextmanager
    def run(*, fault=None):
        home = tmp_path_factory.mktemp("home")
        with (
            world_of(seeded, home, endpoint, fault=fault) as world,
            dg.DagsterInstance.local_temp(
                str(home / "dagster"), overrides={"telemetry": {"enabled": False}}
            ) as instance,
        ):
            yield materialise(instance, world)

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
