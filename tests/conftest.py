"""No test talks to anything but this machine: a socket that would is refused where it is opened."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest

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
