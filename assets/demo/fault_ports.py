"""When a fault strikes: a listener that hears how far the run is, and ports that fail while a tool uses them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Literal

from assets.demo.faults import AFTER_ADMISSION, BEFORE_PLAN, Fault
from assets.demo.world import DemoWorld
from dagster_planexec.errors import PortError
from dagster_planexec.world.ingest import IngestReport, TextIngest
from dagster_planexec.world.ports import ObjectFacts, ObjectStore, ObjectStream, Ports, Session, Warehouse
from dagster_planexec.world.suite import Suite, SuiteTold

EventKind = Literal["admitted", "step-done"]

FAILING_READS = 2


class FaultListener:
    """Fires one fault once, at its moment. One listener serves one run: it also keeps what wrapped ports count.

    Args:
        fault: What goes wrong, or None for a run in which nothing does.
        world: Where it goes wrong.
    """

    def __init__(self, fault: Fault | None, world: DemoWorld) -> None:
        self._fault = fault
        self._world = world
        self._fired = False
        self._admitted = False
        self._reads_to_fail = FAILING_READS

    def before_plan(self) -> None:
        """To be called when the world is seeded and nothing is planned yet."""
        self._fire(BEFORE_PLAN)

    def on_event(self, kind: str, step: str | None) -> None:
        """To be called when the inputs are admitted (`admitted`) and after each step (`step-done`, its id)."""
        if kind == "admitted":
            self._admitted = True
            self._fire(AFTER_ADMISSION)
        elif kind == "step-done":
            self._fire(f"after-step:{step}")

    def wrap(self, ports: Ports) -> Ports:
        """The ports with the fault in them; the same ports if it is none inside a call. Wrap as often as needed."""
        if self._fault is None:
            return ports
        if self._fault.name == "load-zero-rows":
            return replace(ports, warehouse=EmptyAfterLoad(ports.warehouse))
        if self._fault.name == "s3-503-twice":
            return replace(ports, objects=FailingReads(ports.objects, self))
        return ports

    def take_failing_read(self) -> bool:
        """Whether the read that begins now must fail. The admission reads too, before the call, and is spared."""
        if not self._admitted or self._reads_to_fail == 0:
            return False
        self._reads_to_fail -= 1
        return True

    def _fire(self, moment: str) -> None:
        if self._fault is not None and self._fault.when == moment and not self._fired:
            self._fired = True
            self._fault.apply(self._world)


class EmptyAfterLoad(Warehouse):
    """A warehouse whose loads are reported in full and leave nothing behind, like a rolled back transaction."""

    def __init__(self, inner: Warehouse) -> None:
        self._inner = inner
        self.name = inner.name
        self.dialect = inner.dialect

    def session(self, *, deadline_s: float | None = None) -> AbstractContextManager[Session]:
        """The real one."""
        return self._inner.session(deadline_s=deadline_s)

    def expectations(self, suite: Suite, table: str, *, deadline_s: float | None = None) -> SuiteTold:
        """The real one."""
        return self._inner.expectations(suite, table, deadline_s=deadline_s)

    def ingest(self, request: TextIngest, *, deadline_s: float | None = None) -> IngestReport:
        """Load, undo the load, and report it."""
        report = self._inner.ingest(request, deadline_s=deadline_s)
        with self._inner.session(deadline_s=deadline_s) as session:
            session.execute(f"delete from {session.quote(request.target)}")
        return report


class FailingReads(ObjectStore):
    """An object store that answers 503 to the first reads after admission, as one behind a busy proxy does."""

    def __init__(self, inner: ObjectStore, listener: FaultListener) -> None:
        self._inner = inner
        self._listener = listener

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        """The real one."""
        return self._inner.head(bucket, key)

    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:
        """The real one."""
        return self._inner.list(bucket, prefix)

    def older_version(self, bucket: str, key: str) -> str | None:
        """The real one."""
        return self._inner.older_version(bucket, key)

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:
        """The real one, or UNAVAILABLE.

        Raises:
            PortError: UNAVAILABLE on the first two reads after admission.
        """
        if self._listener.take_failing_read():
            raise PortError("UNAVAILABLE", f"GET s3://{bucket}/{key[:120]} answered 503 Service Unavailable")
        return self._inner.open(bucket, key, if_match=if_match)
