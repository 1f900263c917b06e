"""The journal: plans by digest, attempts, append-only events. The rest has modules of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.door.payload import payload_text
from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.encoding import dumps
from dagster_planexec.journal.store import tables as t
from dagster_planexec.journal.store.engine import open_engine, reader_of, snapshot_of
from dagster_planexec.journal.store.migrate import NEWEST, accept, bring_up
from dagster_planexec.journal.store.place import place_of
from dagster_planexec.journal.store.rows import Attempt, Event, NewEvent, attempt_of, event_of
from dagster_planexec.plan.digest import canonical_bytes, full_digest, semantic_digest
from dagster_planexec.plan.model import Plan, as_json, parse_plan

__all__ = ["Attempt", "Event", "Journal", "Listener", "NewEvent"]

FIRST_WITH_EFFECTS = 5
"""The version of a journal from which on it has a ledger of effects."""

Fence = Callable[[sa.Connection], None]
"""Asked inside a writer's transaction; raises LEASE_LOST if whoever writes no longer holds the month."""

Listener = Callable[[str, str | None], None]
"""Called after an event is written, with its kind and step. It is told, it is never asked."""


class Journal:
    """What is remembered. One instance per process and journal name.

    Args:
        name: Which journal; where it lives, the environment says.
        listeners: Who is told of events.
        looking: It is only read. Nothing is made or migrated, and every write is refused; what a journal of an older
            version has, can be read.

    Raises:
        PlanexecError: HOME_UNWRITABLE, LOCKED, UNAVAILABLE, AUTH_FAILED, DISK_FULL.
    """

    def __init__(self, name: str = "default", *, listeners: Sequence[Listener] = (), looking: bool = False) -> None:
        self.name = name
        self._engine = open_engine(place_of(name, looking=looking), looking=looking)
        self._reader = reader_of(self._engine)
        self._listeners = tuple(listeners)
        self.fence: Fence | None = None
        """Set by whoever holds a month's lease: what a run writes is refused once another run holds the month."""
        self.version = NEWEST
        try:
            if looking:
                self.version = accept(self._reader, name)
            else:
                bring_up(self._reader, self._engine, name)
        except BaseException:
            self._engine.dispose()
            raise

    def __repr__(self) -> str:
        """Its name; its address may hold a password."""
        return f"Journal({self.name!r})"

    @property
    def lasts(self) -> bool:
        """Whether it outlives this process at all: a database in memory does not."""
        return self._engine.url.get_backend_name() != "sqlite" or self._engine.url.database not in {
            None,
            "",
            ":memory:",
        }

    @property
    def has_effects(self) -> bool:
        """Whether it has a ledger: an older one that is only looked at has none."""
        return self.version >= FIRST_WITH_EFFECTS

    @property
    def engine(self) -> sa.Engine:
        """For the sibling modules, to write their own tables: every transaction on it is a writer's."""
        return self._engine

    @property
    def reader(self) -> sa.Engine:
        """For the sibling modules, to read: never waits for a writer."""
        return self._reader

    @property
    def snapshot(self) -> sa.Engine:
        """For the sibling modules, to read much, row by row, as it was at one instant."""
        return snapshot_of(self._engine)

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction for what a run writes about its month, all or nothing.

        If this journal belongs to a run, only the run that holds the month may write.

        Raises:
            PlanexecError: LEASE_LOST.
        """
        with self._engine.begin() as db:
            if self.fence is not None:
                self.fence(db)  # one writer at a time: what is asked here is true until the transaction ends
            yield db

    def require_held(self) -> None:
        """Ask the fence and write nothing: for whoever is about to do what cannot be undone.

        Raises:
            PlanexecError: LEASE_LOST if another run holds the month by now.
        """
        if self.fence is not None:
            with self._reader.connect() as db:
                self.fence(db)

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    # -- plans ---------------------------------------------------------------------------------------------------

    def save_plan(self, plan: Plan) -> str:
        """Store a plan's bytes under their digest; storing the same plan twice is one plan."""
        digest = full_digest(plan)
        body = canonical_bytes(as_json(plan))
        with self._engine.begin() as db:
            # Bytes under this digest that are not these were altered: the right ones take their place.
            db.execute(sa.delete(t.plans).where(t.plans.c.digest == digest, t.plans.c.body != body))
            # Saved again is as good as new: retention must not take it before an attempt has adopted it.
            again = sa.update(t.plans).where(t.plans.c.digest == digest).values(saved_at=_now())
            if db.execute(again).rowcount == 0:
                new = {"digest": digest, "semantic_digest": semantic_digest(plan), "body": body, "saved_at": _now()}
                db.execute(sa.insert(t.plans).values(**new))
        return digest

    def load_plan(self, digest: str) -> Plan:
        """The plan of that digest, verified on every read.

        Raises:
            PlanexecError: PLAN_REJECTED if it is unknown, or its bytes are not those that were stored.
        """
        with self._reader.connect() as db:
            body = db.execute(sa.select(t.plans.c.body).where(t.plans.c.digest == digest)).scalar()
        if body is None:
            raise PlanexecError("PLAN_REJECTED", f"no plan {digest[:12]} in journal {self.name!r}")
        try:
            plan = parse_plan(body)
            found = full_digest(plan)
        except PlanexecError as error:
            plan, found = None, f"unreadable ({error.code})"
        if plan is None or found != digest:
            raise PlanexecError(
                "PLAN_REJECTED",
                f"the stored plan {digest[:12]} was altered: its bytes now have digest {found[:12]}",
                hint="nothing of it runs; have the plan proposed again with replan",
            )
        return plan

    def full_digest_of(self, beginning: str) -> str | None:
        """The digest that begins so, if exactly one does."""
        query = sa.select(t.plans.c.digest).where(t.plans.c.digest.startswith(beginning, autoescape=True)).limit(2)
        with self._reader.connect() as db:
            found = db.execute(query).scalars().all()
        return found[0] if len(found) == 1 else None

    # -- attempts ------------------------------------------------------------------------------------------------

    def open_attempt(
        self,
        *,
        task: str,
        version: str,
        period: str,
        inputs_digest: str,
        admission: Mapping[str, Any],
        anew: bool = False,
    ) -> tuple[Attempt, bool]:
        """The attempt for these admitted inputs, and whether it was opened just now.

        The newest attempt of the month is continued if it has the same inputs and task version. Anything else opens
        another one, which supersedes it: its open holds are closed.
        """
        for _ in range(20):
            newest = self.newest_attempt(task, period)
            if newest and not anew and (newest.inputs_digest, newest.task_version) == (inputs_digest, version):
                return newest, False
            opened = self._insert_attempt(newest, task, version, period, inputs_digest, admission)
            if opened is not None:
                return opened, True
        raise PlanexecError("LEASE_BUSY", f"{task} {period} is being opened by too many runs at once")

    def _insert_attempt(
        self,
        newest: Attempt | None,
        task: str,
        version: str,
        period: str,
        inputs_digest: str,
        admission: Mapping[str, Any],
    ) -> Attempt | None:
        attempt_id = f"att_{secrets.token_hex(6)}"
        opening = NewEvent("attempt-opened", None, {"supersedes": newest.id if newest else None})
        try:
            with self.writing() as db:
                last = db.execute(
                    sa.select(t.attempts.c.id, t.attempts.c.opened_seq)
                    .where(t.attempts.c.task == task, t.attempts.c.period == period)
                    .order_by(t.attempts.c.opened_seq.desc())
                    .limit(1)
                ).first()
                if (last.id if last else None) != (newest.id if newest else None):
                    return None  # another run opened the month in between; look again
                db.execute(
                    sa.insert(t.attempts).values(
                        id=attempt_id,
                        task=task,
                        task_version=version,
                        period=period,
                        inputs_digest=inputs_digest,
                        admission=dumps(admission),
                        revision=0,
                        status="open",
                        opened_at=_now(),
                        opened_seq=last.opened_seq + 1 if last else 1,
                    )
                )
                if newest is not None:
                    waits = (t.holds.c.task == task, t.holds.c.period == period, t.holds.c.state.in_(_WAITING))
                    said = f"attempt {attempt_id} opened the month anew"
                    db.execute(sa.update(t.holds).where(*waits).values(**_superseded(said)))
                    db.execute(sa.update(t.attempts).where(t.attempts.c.id == newest.id).values(status="superseded"))
                _insert(db, attempt_id, None, [opening])
        except sa.exc.IntegrityError:
            return None  # another run opened the month in between; look again
        self._tell([opening])
        return self.attempt(attempt_id)

    def readmit(
        self, attempt_id: str, admission: Mapping[str, Any], *, inputs_digest: str | None = None
    ) -> Mapping[str, Any]:
        """Replace the record of an attempt that is continued: the same content, perhaps under other ETags.

        Args:
            attempt_id: The attempt.
            admission: What is there now.
            inputs_digest: For a re-plan that takes in what has arrived since: a later run with these inputs is a run of
                this attempt.
        """
        values = {"admission": dumps(admission)} | ({"inputs_digest": inputs_digest} if inputs_digest else {})
        with self.writing() as db:
            db.execute(sa.update(t.attempts).where(t.attempts.c.id == attempt_id).values(**values))
        return admission

    def attempt(self, attempt_id: str) -> Attempt:
        """The attempt of that id.

        Raises:
            PlanexecError: INTERNAL if there is none.
        """
        rows = self._rows(sa.select(t.attempts).where(t.attempts.c.id == attempt_id))
        if not rows:
            raise PlanexecError("INTERNAL", f"no attempt {attempt_id!r} in journal {self.name!r}")
        return attempt_of(rows[0])

    def newest_attempt(self, task: str, period: str) -> Attempt | None:
        """The attempt that was opened last for a month."""
        month = sa.select(t.attempts).where(t.attempts.c.task == task, t.attempts.c.period == period)
        rows = self._rows(month.order_by(t.attempts.c.opened_seq.desc()).limit(1))
        return attempt_of(rows[0]) if rows else None

    def newest_attempts(self, task: str) -> tuple[Attempt, ...]:
        """The newest attempt of every month the task has had, in order of the months."""
        rows = self._rows(sa.select(t.attempts).where(t.attempts.c.task == task).order_by(t.attempts.c.opened_seq))
        newest = {row["period"]: attempt_of(row) for row in rows}
        return tuple(newest[period] for period in sorted(newest))

    def adopt_plan(self, attempt_id: str, digest: str, provenance: Mapping[str, Any]) -> None:
        """Make a plan the attempt's plan, as its next revision. What waits for a person waits under another plan."""
        said = redacted(provenance)
        adopted = NewEvent("plan-adopted", None, {"digest": digest, **said})
        with self.writing() as db:
            waits = (t.holds.c.attempt == attempt_id, t.holds.c.state.in_(_WAITING), t.holds.c.plan_digest != digest)
            db.execute(sa.update(t.holds).where(*waits).values(**_superseded(f"plan {digest} took its plan's place")))
            db.execute(
                sa.update(t.attempts)
                .where(t.attempts.c.id == attempt_id)
                .values(plan_digest=digest, provenance=dumps(said), revision=t.attempts.c.revision + 1)
            )
            _insert(db, attempt_id, None, [adopted])
        self._tell([adopted])

    def close_run(self, attempt_id: str, run_id: str | None, status: str, code: str | None) -> None:
        """Note how a run of the attempt ended; a later run may continue it. What it held is settled with it."""
        ended = NewEvent("run-ended", None, {"status": status, "code": code})
        with self.writing() as db:
            # One that was superseded meanwhile stays so: how its last run ended is no news of the month.
            own = (t.attempts.c.id == attempt_id, t.attempts.c.status != "superseded")
            db.execute(sa.update(t.attempts).where(*own).values(status=status, code=code))
            if status == "settled":
                waits = (t.holds.c.attempt == attempt_id, t.holds.c.state.in_(_WAITING))
                said = {"state": "settled", "closed_at": _now(), "closed_because": "the month settled without it"}
                db.execute(sa.update(t.holds).where(*waits).values(**said))
            _insert(db, attempt_id, run_id, [ended])
        self._tell([ended])

    # -- events --------------------------------------------------------------------------------------------------

    def append(self, attempt_id: str, run_id: str | None, events: Iterable[NewEvent]) -> None:
        """Write events, all in one transaction, then tell the listeners.

        Everything passes the same door: secrets are taken out, and what is too large is cut and says so.
        """
        batch = list(events)
        if not batch:
            return
        with self.writing() as db:
            _insert(db, attempt_id, run_id, batch)
        self._tell(batch)

    def _tell(self, events: Iterable[NewEvent]) -> None:
        for event in events:
            for listener in self._listeners:
                listener(event.kind, event.step)

    def events(
        self, attempt_id: str, *, run_id: str | None = None, kinds: Sequence[str] = (), step: str | None = None
    ) -> tuple[Event, ...]:
        """The trace of an attempt, or the part that is asked for, in order."""
        query = sa.select(t.events).where(t.events.c.attempt == attempt_id).order_by(t.events.c.seq)
        if run_id is not None:
            query = query.where(t.events.c.run_id == run_id)
        if kinds:
            query = query.where(t.events.c.kind.in_(kinds))
        if step is not None:
            query = query.where(t.events.c.step == step)
        return tuple(event_of(row) for row in self._rows(query))

    def _rows(self, query: sa.Select[Any]) -> Sequence[sa.RowMapping]:
        with self._reader.connect() as db:
            return db.execute(query).mappings().all()


_WAITING = ("open", "approved")
"""The states of a hold that is not closed."""


def _superseded(because: str) -> dict[str, str]:
    return {"state": "superseded", "closed_at": _now(), "closed_because": because}


def _insert(db: sa.Connection, attempt_id: str, run_id: str | None, events: Sequence[NewEvent]) -> None:
    now = _now()
    rows = [
        {"attempt": attempt_id, "at": now, "kind": event.kind, "step": event.step, "run_id": run_id,
         "payload": payload_text(event.payload)}
        for event in events
    ]  # fmt: skip
    db.execute(sa.insert(t.events), rows)


def _now() -> str:
    return datetime.now(UTC).isoformat()
