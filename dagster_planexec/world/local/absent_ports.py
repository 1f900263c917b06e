"""Ports of a task that has no object store, or pays nothing. Whoever asks them is told so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from dagster_planexec.errors import PortError
from dagster_planexec.world.ports import Credit, CreditApi, ObjectFacts, ObjectStore, ObjectStream


class NoObjectStore(ObjectStore):
    """There is none."""

    def head(self, bucket: str, key: str) -> ObjectFacts | None:  # noqa: ARG002 - the interface
        """Refused."""
        _refuse("object store", "objects")

    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:  # noqa: ARG002 - the interface
        """Refused."""
        _refuse("object store", "objects")

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:  # noqa: ARG002 - the interface
        """Refused."""
        _refuse("object store", "objects")


class NoCreditApi(CreditApi):
    """There is none."""

    target = "none"

    def listed(self, scope: str, period: str) -> Sequence[Credit]:  # noqa: ARG002 - the interface
        """Refused."""
        _refuse("credit system", "credits")

    def issue(self, credit: Credit) -> None:  # noqa: ARG002 - the interface
        """Refused."""
        _refuse("credit system", "credits")


def _refuse(what: str, name: str) -> NoReturn:
    raise PortError(
        "BAD_CONTRACT", f"the task has no {what}", hint=f"give its binding a resource: PortResources({name}=...)"
    )
