"""Ports around the real ones: they note which step uses them, and can be given trouble while a tool is called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta

from dagster_planexec.errors import PortError
from dagster_planexec.world.ingest import IngestReport, TextIngest
from dagster_planexec.world.ports import (
    Clock,
    Credit,
    CreditApi,
    ObjectFacts,
    ObjectStore,
    ObjectStream,
    Session,
    Warehouse,
)
from dagster_planexec.world.suite import Suite, SuiteTold

Noted = Callable[[str], None]
SLOW_S = 0.1
_ENDLESS = "select count(*) from range(1000000000000)"


class NotedObjects(ObjectStore):
    """The real store, and a note of who asked it. What strikes it is its server's to do."""

    def __init__(self, inner: ObjectStore, note: Noted) -> None:
        self._inner = inner
        self._note = note

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        self._note("objects")
        return self._inner.head(bucket, key)

    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:
        self._note("objects")
        return self._inner.list(bucket, prefix)

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:
        self._note("objects")
        return self._inner.open(bucket, key, if_match=if_match)

    def older_version(self, bucket: str, key: str) -> str | None:
        self._note("objects")
        return self._inner.older_version(bucket, key)


class FaultyWarehouse(Warehouse):
    """The real file. In trouble, its statements take longer than they may, or their commit is not answered."""

    def __init__(self, inner: Warehouse, note: Noted) -> None:
        self._inner = inner
        self._note = note
        self.name = inner.name
        self.dialect = inner.dialect
        self.slow = False
        self.loses_answers = False

    def together(self) -> AbstractContextManager[None]:
        return self._inner.together()

    @contextmanager
    def session(self, *, deadline_s: float | None = None) -> Iterator[Session]:
        self._note("warehouse")
        self._take_long()
        with self._inner.session(deadline_s=deadline_s) as session:
            yield session
        self._lose_answer()

    def expectations(self, suite: Suite, table: str, *, deadline_s: float | None = None) -> SuiteTold:
        self._note("warehouse")
        self._take_long()
        return self._inner.expectations(suite, table, deadline_s=deadline_s)

    def ingest(self, request: TextIngest, *, deadline_s: float | None = None) -> IngestReport:
        self._note("warehouse")
        self._take_long()
        report = self._inner.ingest(request, deadline_s=deadline_s)
        self._lose_answer()
        return report

    def _take_long(self) -> None:
        """A real statement, interrupted by a real deadline."""
        if self.slow:
            with self._inner.session(deadline_s=SLOW_S) as session:
                session.rows(_ENDLESS)

    def _lose_answer(self) -> None:
        if self.loses_answers:
            raise PortError("UNAVAILABLE", f"warehouse {self.name}: the connection broke after the commit")


class FaultyCredits(CreditApi):
    """The real table. In trouble, it refuses a call before anything is done, or fails when all of it is."""

    def __init__(self, inner: CreditApi, note: Noted) -> None:
        self._inner = inner
        self._note = note
        self.before: PortError | None = None
        self.after: PortError | None = None

    @property
    def target(self) -> str:
        return self._inner.target

    def listed(self, scope: str, period: str) -> Sequence[Credit]:
        self._note("credits")
        return self._inner.listed(scope, period)

    def find(self, credit: Credit) -> Credit | None:
        self._note("credits")
        return self._inner.find(credit)

    def issue(self, credit: Credit) -> None:
        self._note("credits")
        if self.before is not None:
            raise self.before
        self._inner.issue(credit)
        if self.after is not None:
            raise self.after


class JumpingClock(Clock):
    """The real time, and as much more or less as somebody has moved it."""

    def __init__(self, inner: Clock) -> None:
        self._inner = inner
        self.ahead = timedelta(0)

    def now(self) -> datetime:
        return self._inner.now() + self.ahead

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)
