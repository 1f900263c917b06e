"""One S3 server, one seeded home and one process that holds files, for all cells; each cell has a copy of the home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assets.demo.local_s3 import ACCESS_KEY, REGION, SECRET_KEY
from dagster_planexec.resources.s3_object_store import S3ObjectStoreResource
from dagster_planexec.world.local.system_clock import SystemClock
from tests.faults.case import Case
from tests.faults.holder import Holder
from tests.faults.ports import JumpingClock
from tests.faults.scene import QUIET_S, Scene
from tests.support.busy_s3 import BusyS3, busy_s3
from tests.support.flagship import CREDENTIALS, SMALL, endpoint, seeded
from tests.support.killed import one_home

__all__ = ["endpoint", "seeded"]


@pytest.fixture(scope="session")
def busy(endpoint: str) -> Iterator[BusyS3]:
    """The server in front of the store."""
    with busy_s3(endpoint) as made:
        yield made


@pytest.fixture(scope="session")
def client(busy: BusyS3) -> Callable[..., Any]:
    """A client of it, for a number of seconds of silence; making one costs more than using it."""
    made: dict[float, Any] = {}

    def of(quiet_s: float) -> Any:
        if quiet_s not in made:
            made[quiet_s] = S3ObjectStoreResource(
                endpoint_url=busy.endpoint, region_name=REGION, addressing_style="path", read_timeout_s=quiet_s,
                aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY,
            ).get_client()  # fmt: skip
        return made[quiet_s]

    return of


@pytest.fixture(scope="session")
def holder() -> Iterator[Holder]:
    """The other process."""
    made = Holder()
    yield made
    made.end()


@pytest.fixture(scope="module")
def environment() -> Iterator[pytest.MonkeyPatch]:
    """What a worker's environment holds."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        patch.delenv("PLANEXEC_DEMO_FAULT", raising=False)
        yield patch


MakeScene = Callable[..., Any]


@pytest.fixture(scope="module")
def make_scene(
    environment: pytest.MonkeyPatch, seeded: Path, endpoint: str, busy: BusyS3, client: Callable[..., Any],
    holder: Holder,
) -> MakeScene:  # fmt: skip
    """A scene in a folder, as a block: its home is gone afterwards."""
    from contextlib import contextmanager

    @contextmanager
    def made(folder: Path, case: Case | None = None) -> Iterator[Scene]:
        home = folder / "home"
        environment.setenv("PLANEXEC_HOME", str(home))
        quiet_s = QUIET_S if case is not None and case.fault == "timeout" else 30.0
        with one_home(seeded, home, endpoint, SMALL):
            yield Scene(home, endpoint, SMALL, clock=JumpingClock(SystemClock()), busy=busy, holder=holder,
                        client=client(quiet_s))  # fmt: skip

    return made
