"""The ports: the few ways in which this project touches the world, each small enough to be written anew."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from pathlib import Path

from dagster_planexec.errors import PortError
from dagster_planexec.world.ingest import IngestReport, TextIngest
from dagster_planexec.world.suite import Suite, SuiteTold

_SHA256 = re.compile(r"[0-9a-f]{64}")
SqlValue = str | int | bool | Decimal | datetime | None


@dataclass(frozen=True, slots=True)
class ObjectFacts:
    """What a store says of one object without reading it."""

    bucket: str
    key: str
    size: int
    etag: str
    """The entity tag with its quotes removed. Not a hash of the content: a multipart upload has another one."""
    last_modified: datetime
    version_id: str | None = None
    expires_at: datetime | None = None
    """When a lifecycle rule will delete it (`x-amz-expiration`); None if none is announced."""


class ObjectStream(AbstractContextManager["ObjectStream"]):
    """The bytes of one object on their way in. Iterating yields chunks; nothing else is kept in memory."""

    facts: ObjectFacts

    @abstractmethod
    def __iter__(self) -> Iterator[bytes]:
        """The chunks, in order.

        Raises:
            PortError: TRUNCATED_STREAM if fewer bytes came than were announced; TIMEOUT, UNAVAILABLE, ...
        """


class ObjectStore(ABC):
    """A versioned or unversioned bucket store. Absence is an answer (None), everything else a PortError."""

    @abstractmethod
    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        """The newest version of an object, or None if there is none (a 404 or a delete marker).

        Raises:
            PortError: BUCKET_GONE, AUTH_FAILED, FORBIDDEN, THROTTLED, UNAVAILABLE, TIMEOUT.
        """

    @abstractmethod
    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:
        """Every object under a prefix, in the order of the keys' bytes, page by page. Raises as `head`."""

    def list_after(self, bucket: str, prefix: str, after: str) -> Iterator[ObjectFacts]:
        """`list` from the first key behind `after` on. A store that cannot begin there lists what is before as well."""
        return (facts for facts in self.list(bucket, prefix) if facts.key > after)

    @abstractmethod
    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:
        """Start reading the newest version, if its entity tag is still `if_match`.

        Raises:
            PortError: OBJECT_GONE (404), OBJECT_CHANGED (412), and as `head`.
        """

    def older_version(self, bucket: str, key: str) -> str | None:  # noqa: ARG002 - for stores that keep versions
        """The id of the newest older version of an absent object, if the store keeps one and says so cheaply.

        Never raises: it only helps a person to restore what is gone, and a store may forbid the question.
        """
        return None

    def versions(self, bucket: str, key: str) -> tuple[ObjectFacts, ...]:  # noqa: ARG002 - for stores that keep versions
        """The newest versions of an object, newest first, without delete markers; none where no versions are kept.

        Never raises, as `older_version`.
        """
        return ()

    @property
    def can_refresh(self) -> bool:
        """Whether `refresh_credentials` does anything."""
        return False

    def refresh_credentials(self) -> None:  # noqa: B027 - for stores that have any
        """Drop the credentials and the connections made with them, and have both made anew.

        Raises:
            PlanexecError: What setting up the store raises; the old credentials are then still in use.
        """

    def remade_by(self, again: Callable[[], ObjectStore]) -> None:  # noqa: B027 - for stores that can be remade
        """Told by whoever configured the store how to make one like it from the settings as they are then."""


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column of a table as the warehouse's catalogue has it."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Rows and an order-free digest of their values: equal for equal multisets of rows."""

    rows: int
    digest: str

    def __str__(self) -> str:
        """`61400 rows, 9f3c…`: what verdicts show."""
        return f"{self.rows} rows, digest {self.digest}"


class Session(ABC):
    """One connection to a warehouse, valid inside the `with` block that opened it."""

    @abstractmethod
    def rows(self, sql: str, parameters: Sequence[SqlValue] = ()) -> list[tuple[SqlValue, ...]]:
        """Run one statement and fetch its rows. Values are bound (`?`), never written into the text.

        Raises:
            PortError: TABLE_GONE, TIMEOUT (the deadline passed and the statement was interrupted), DISK_FULL, INTERNAL.
        """

    @abstractmethod
    def batches(
        self, sql: str, parameters: Sequence[SqlValue] = (), *, size: int = 10_000
    ) -> Iterator[list[tuple[SqlValue, ...]]]:
        """Run one statement and hand its rows on as they come, `size` at a time; no more of them are in memory.

        Nothing else may be asked of the session until the last batch. Raises as `rows`, at any batch.
        """

    @abstractmethod
    def execute(self, sql: str, parameters: Sequence[SqlValue] = ()) -> None:
        """Run one statement for its effect. Raises as `rows`."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """All or nothing: commits at the end of the block, rolls back if it raises."""

    @abstractmethod
    def describe(self, table: str) -> tuple[ColumnFacts, ...] | None:
        """The columns of `schema.table` from the catalogue, or None if there is no such table."""

    @abstractmethod
    def fingerprint(self, query: str) -> Fingerprint:
        """The fingerprint of a query's result. Sums of hashes, never XOR: swapped amounts would cancel out."""

    @abstractmethod
    def bind_view(self, name: str, query: str) -> None:
        """Make `name` stand for a query on this connection only, replacing what it stood for."""

    @abstractmethod
    def quote(self, name: str) -> str:
        """A (possibly dotted) identifier, checked and quoted for this warehouse.

        Raises:
            PortError: VALIDATION_ERROR if it is not one or two plain identifiers.
        """


class Warehouse(ABC):
    """Where tables live. One file or server per task."""

    name: str
    dialect: str
    """The sqlglot name of its SQL dialect."""

    @abstractmethod
    def session(self, *, deadline_s: float | None = None) -> AbstractContextManager[Session]:
        """A locked-down connection: SQL can reach tables and nothing else (no files, no network, no settings).

        Args:
            deadline_s: Seconds until a running statement is interrupted.

        Raises:
            PortError: LOCKED (with the holder named) if it cannot be had in time; DISK_FULL; INTERNAL.
        """

    def together(self) -> AbstractContextManager[None]:
        """Sessions inside the block may share what opening one costs. Each sees everything that is committed.

        Other processes may have to wait for the block's end, so it holds looks that belong together and no more.
        """
        return nullcontext()

    def looking(self) -> Warehouse:
        """The same warehouse for looks that must change nothing; itself, if it knows no such mode."""
        return self

    @abstractmethod
    def ingest(self, request: TextIngest, *, deadline_s: float | None = None) -> IngestReport:
        """Load a delimited text file by its declared contract: read as text, convert in SQL, keep every reject.

        Replaces the target's rows in one transaction. Raises as `session`, and TABLE_GONE if the target is absent.
        """

    def expectations(self, suite: Suite, table: str, *, deadline_s: float | None = None) -> SuiteTold:  # noqa: ARG002 - for warehouses that can
        """Ask a suite of a table where the table is: as SQL, on a session's terms, fetching numbers and a few examples.

        Raises:
            PortError: BAD_CONTRACT if this warehouse cannot; TABLE_GONE, TIMEOUT, and as `session`.
        """
        raise PortError("BAD_CONTRACT", f"warehouse {self.name!r} cannot be asked expectation suites")


@dataclass(frozen=True, slots=True)
class CreditLine:
    """What is due under one line key: to whom the money goes is the credit system's business, the key says for what."""

    key: str
    """The line key, unique within (effect scope, period)."""
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Credit:
    """One credit, to be issued or held by a system. Everything but amount and currency is its key."""

    scope: str
    period: str
    key: str
    ordinal: int
    """1 for the line itself; 2 and more for what is issued on top, when its amount has risen since."""
    amount: Decimal
    currency: str

    @property
    def idempotency_key(self) -> str:
        """SHA-256 of what makes it this credit, 64 hex digits; the same whoever sends it, and however often."""
        named = json.dumps([self.scope, self.period, self.key, self.ordinal], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(named.encode()).hexdigest()


class CreditApi(ABC):
    """Where credits are issued. Keyed by (effect scope, period, line key, ordinal), each at most once."""

    @property
    @abstractmethod
    def target(self) -> str:
        """Which system this is, as the ledger of effects names it. It stays the same when credentials change."""

    @abstractmethod
    def listed(self, scope: str, period: str) -> Sequence[Credit]:
        """Everything that this scope and period hold, whoever issued it."""

    @abstractmethod
    def issue(self, credit: Credit) -> None:
        """Issue one credit, or nothing if it is there already with this amount.

        Raises:
            RefusedError: Nothing happened; EFFECT_DIFFERS if the key holds another amount.
            PortError: It may have happened.
        """

    def find(self, credit: Credit) -> Credit | None:
        """What is held under the key of a credit, or None if certainly nothing is. Raises if that cannot be said."""
        at = (credit.key, credit.ordinal)
        return next((c for c in self.listed(credit.scope, credit.period) if (c.key, c.ordinal) == at), None)

    def issued(self, scope: str, period: str) -> Mapping[str, Decimal]:
        """What this scope and period hold in all: line key to amount."""
        totals: dict[str, Decimal] = {}
        for credit in self.listed(scope, period):
            totals[credit.key] = totals.get(credit.key, Decimal(0)) + credit.amount
        return totals

    @property
    def can_refresh(self) -> bool:
        """Whether `refresh_credentials` does anything."""
        return False

    def refresh_credentials(self) -> None:  # noqa: B027 - for systems that have any
        """Have the credentials read anew, as `ObjectStore.refresh_credentials`."""

    def looking(self) -> CreditApi:
        """The same system for looks that must change nothing; itself, if it knows no such mode."""
        return self


class Clock(ABC):
    """Time, as one thing that can be looked at and waited for."""

    @abstractmethod
    def now(self) -> datetime:
        """The present instant, in UTC."""

    @abstractmethod
    def sleep(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True, slots=True)
class Roots:
    """The folders a task may touch. Paths in plans are relative to one of them."""

    sql: Path
    """SQL files that `run_sql` may name."""
    reports: Path
    """Where `write_report` writes."""
    landing: Path
    """Content-addressed copies of fetched objects: `<first two hex digits>/<sha256>`."""
    files: Path | None = None
    """Files that the task's own tools read, and nobody writes; see `world.local.readable`. None: there are none."""

    def landed_path(self, sha256: str) -> Path:
        """Where the copy with that digest is, if it is there.

        Raises:
            PortError: VALIDATION_ERROR for what is no SHA-256: plans and the journal name copies, and a name with dots
                and slashes would lead out of the landing.
        """
        if not _SHA256.fullmatch(sha256):
            raise PortError("VALIDATION_ERROR", f"{sha256[:80]!r} is no SHA-256, so it names no landed copy")
        return self.landing / sha256[:2] / sha256

    @property
    def quarantine(self) -> Path:
        """Bytes that are not (yet) what was admitted. Nothing reads from here."""
        return self.landing / "quarantine"


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything a probe or a tool may reach, and nothing else."""

    objects: ObjectStore
    warehouse: Warehouse
    credits: CreditApi
    clock: Clock
    roots: Roots

    @property
    def can_refresh(self) -> bool:
        """Whether any of them can have its credentials read anew."""
        return self.objects.can_refresh or self.credits.can_refresh

    def refresh_credentials(self) -> None:
        """Have them read anew by every port that can. Raises as `ObjectStore.refresh_credentials`."""
        self.objects.refresh_credentials()
        self.credits.refresh_credentials()

    def looking(self) -> Ports:
        """The same ports for looks that must change nothing, not even by making a file that is not there."""
        return replace(self, warehouse=self.warehouse.looking(), credits=self.credits.looking())
