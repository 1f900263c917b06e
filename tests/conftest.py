"""No test talks to anything but this machine: a socket that would is refused where it is opened."""

from __future__ import annotations

import gc
import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

# How long one example takes is the machine's business: a busy one would fail what is right.
settings.register_profile("patient", parent=settings(), deadline=None)
settings.load_profile("patient")

# A worker keeps a million objects for as long as it lives; to go through them again and again is a twentieth of a run.
gc.set_threshold(100_000, 50, 50)

_LONG = {"test_matrix.py", "test_months.py", "test_every_fault.py"}
"""Files of more than a minute that start no server."""
_LOCAL_NAMES = {"localhost", "localhost.localdomain", "", None, socket.gethostname()}


class OnlyLoopbackError(PermissionError):
    """A test reached for the network."""

    def __init__(self, host: object) -> None:
        super().__init__(f"{host!r} is not on this machine: tests talk to servers of their own, on loopback")


def is_local(host: object) -> bool:
    """Whether an address leads back to this machine. Names of others are not looked up to find out."""
    text = host.decode() if isinstance(host, bytes) else host
    if text in _LOCAL_NAMES:
        return True
    try:
        found = ipaddress.ip_address(str(text).partition("%")[0])
    except ValueError:
        return False
    return found.is_loopback or found.is_unspecified


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start servers and processes go first: the last file of a run is then a short one.

    Shared out by file, a long file that begins last keeps one worker busy while the others have nothing left.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow") is not None}
    items.sort(key=lambda item: 0 if item.path in slow else 1 if item.path.name in _LONG else 2)


@pytest.fixture(scope="session", autouse=True)
def _only_loopback() -> Iterator[None]:
    """For the whole session: two checks in front of what the standard library does anyway."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, _guarded(getattr(socket.socket, name)))
        look_up = socket.getaddrinfo

        def getaddrinfo(host: Any, *args: Any, **named: Any) -> Any:
            if not is_local(host):
                raise OnlyLoopbackError(host)
            return look_up(host, *args, **named)

        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not is_local(address[0]):
            raise OnlyLoopbackError(address[0])
        return connect(self, address)

    return guarded
