"""One look through a task's drop: what lies there is made known to the journal, a thousand keys at a time."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from dagster_planexec.contract.layout import drop_of
from dagster_planexec.contract.task import Task
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.arrivals.drop import Arrival, Range, note_older, note_range
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import ObjectFacts

KEYS_AT_ONCE = 1000
"""Keys held in memory at a time, however many there are."""
LISTING_S = 20.0
"""Seconds of listing in one tick. Dagster gives a tick sixty; what is left is looked at in the next one."""
MOST_OUTSIDE = 1000
"""Months outside of the partitions that are remembered in one look; there are no more of them in a sane drop."""
MOST_HISTORIES = 50
"""Objects per tick whose older versions are asked for: a delivery of thousands of new objects asks no more calls."""

_PERIODS = re.compile(r"(?=([0-9]{4}-(?:[0-9]{2}|Q[1-4])))")


@dataclass(frozen=True, slots=True)
class Place:
    """How far the looking has come: what the cursor holds. Nothing in it decides what a run is requested for."""

    looked: datetime | None = None
    """When the last look began that came to the end of the drop."""
    began: datetime | None = None
    """When the present look began, if it has not come to the end yet."""
    after: str = ""
    """The key behind which the present look goes on."""

    @classmethod
    def read(cls, cursor: str | None) -> Place:
        """The place a cursor names; the beginning for one that this sensor did not write."""
        try:
            found = json.loads(cursor or "{}")
            looked, began = (datetime.fromisoformat(found[at]) if found.get(at) else None for at in ("looked", "began"))
            after = base64.b64decode(found.get("after", ""), validate=True).decode()
        except (ValueError, TypeError, AttributeError, binascii.Error):
            return cls()
        if any(at is not None and at.tzinfo is None for at in (looked, began)):
            return cls()
        return cls(looked, began, after) if began is not None else cls(looked)

    @property
    def cursor(self) -> str:
        """The place as text. A key is the vendor's text, of up to 1,024 bytes of whatever kind: it goes encoded."""
        return json.dumps(
            {
                "looked": self.looked.isoformat() if self.looked else None,
                "began": self.began.isoformat() if self.began else None,
                "after": base64.b64encode(self.after.encode()).decode(),
            }
        )


@dataclass(frozen=True, slots=True)
class Looked:
    """What one tick saw."""

    place: Place
    objects: int = 0
    passed_over: int = 0
    """Markers, objects of no bytes, and keys of no period."""
    fresh: int = 0
    """Versions that were never seen before."""
    unread: int = 0
    """Versions among them that were replaced before anybody had seen them."""
    outside: Mapping[str, int] = field(default_factory=dict)
    """Months outside of the task's partitions, with the objects that lie there for them."""

    @property
    def is_whole(self) -> bool:
        """Whether the end of the drop was reached."""
        return self.place.began is None


def look_through(work: Work, place: Place) -> Looked:
    """Go through the drop from a place on, to its end or until the time is over.

    Raises:
        PortError: As `ObjectStore.list`; VALIDATION_ERROR if the store does not list keys in order. What was seen until
            then is known.
    """
    task, drop, clock = work.task, drop_of(work.task), work.ports.clock
    now = clock.now()
    began, after = place.began or now, place.after
    looked = Looked(place)
    histories = MOST_HISTORIES
    sorter = Sorter(task)
    for batch in _batches(_in_order(work.ports.objects.list_after(drop.bucket, drop.prefix, after))):
        arrivals = [arrival for facts in batch for arrival in sorter.arrivals(facts)]
        part = Range(drop.bucket, after, batch[-1].key)
        fresh = note_range(work.journal, task.name, part, arrivals, now=now, last_look=place.looked)
        by_identity = {(arrival.key, arrival.version): arrival for arrival in fresh}
        unread, histories = _older_of(work, tuple(by_identity.values()), histories)
        after = batch[-1].key
        looked = replace(
            looked,
            objects=looked.objects + len(batch),
            passed_over=looked.passed_over + len(batch) - len({a.key for a in arrivals}),
            fresh=looked.fresh + len(fresh) + unread,
            unread=looked.unread + unread,
            outside=sorter.outside,
        )
        if clock.now() - now > timedelta(seconds=LISTING_S):
            return replace(looked, place=Place(place.looked, began, after))
    note_range(work.journal, task.name, Range(drop.bucket, after), (), now=now, last_look=place.looked)
    return replace(looked, place=Place(looked=began))


class Sorter:
    """Tells to which periods' deliveries an object belongs, by the same rule as the run that will read it.

    A manifest belongs to the delivery too: another one is another delivery, as it is to the run.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._drop = task, drop_of(task)
        self._known: dict[str, _Patterns | None] = {}
        self.outside: dict[str, int] = {}
        """Months outside of the task's partitions, with the objects that were met for them."""

    def arrivals(self, facts: ObjectFacts) -> Iterator[Arrival]:
        """The object as an arrival of each period whose pattern it matches; mostly one or none."""
        if facts.size == 0 or facts.key.endswith("/"):
            return
        rest = facts.key[len(self._drop.prefix) :]
        for text in dict.fromkeys(_PERIODS.findall(rest)):
            patterns = self._patterns(text)
            if patterns is None or not patterns.match(rest):
                continue
            if patterns.is_partition:
                yield Arrival.of(facts, text)
            elif text in self.outside or len(self.outside) < MOST_OUTSIDE:
                self.outside[text] = self.outside.get(text, 0) + 1

    def _patterns(self, text: str) -> _Patterns | None:
        if text not in self._known:
            self._known[text] = self._made(text)
        return self._known[text]

    def _made(self, text: str) -> _Patterns | None:
        try:
            period = Period.parse(text, self._task.granularity)
        except PlanexecError:
            return None  # looks like a period, and is none
        if period.text != text:
            return None  # a quarter is also known by its months; the pattern names it by its own text only
        manifest = self._drop.manifest
        return _Patterns(
            re.compile(self._drop.pattern_of(period)),
            re.compile(manifest.pattern_of(period)) if manifest is not None else None,
            is_partition=self._is_partition(text),
        )

    def _is_partition(self, text: str) -> bool:
        try:
            self._task.period(text)
        except PlanexecError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What a period's objects are named like."""

    data: re.Pattern[str]
    manifest: re.Pattern[str] | None
    is_partition: bool

    def match(self, rest: str) -> bool:
        """Whether it is an object of the period."""
        return bool(self.data.fullmatch(rest) or (self.manifest is not None and self.manifest.fullmatch(rest)))


def _older_of(work: Work, fresh: Sequence[Arrival], histories: int) -> tuple[int, int]:
    """Look for versions that came before those just seen, and that no look saw; how many, and how many calls are left.

    A listing shows the newest version only. Nothing depends on this: it keeps the record whole.
    """
    unread = 0
    for arrival in fresh:
        if histories == 0:
            break
        histories -= 1
        versions = work.ports.objects.versions(arrival.bucket, arrival.key)
        if not versions:
            return unread, 0  # this store keeps none, for no object
        unread += note_older(work.journal, work.task.name, arrival, _before(arrival, versions))
    return unread, histories


def _before(arrival: Arrival, versions: Sequence[ObjectFacts]) -> list[Arrival]:
    """The versions below one, told apart as it is: some listings know version ids, and S3's does not."""
    for versions_as_listed in (versions, [replace(v, version_id=None) for v in versions]):
        told = [Arrival.of(v, arrival.period) for v in versions_as_listed]
        at = next((n for n, version in enumerate(told) if version.version == arrival.version), None)
        if at is not None:
            return [version for version in told[at + 1 :] if version.size > 0]
    return []  # it has been replaced since it was listed; the next look sees by what


def _in_order(listed: Iterable[ObjectFacts]) -> Iterator[ObjectFacts]:
    """The objects, as long as they come in the order of their keys: only so a part of a listing is a range of keys."""
    last = None
    for facts in listed:
        if last is not None and facts.key < last:
            raise PortError(
                "VALIDATION_ERROR",
                f"the store lists the bucket {facts.bucket!r} out of order: {facts.key[:80]!r} after {last[:80]!r}",
                hint="arrivals are seen in stores that list keys in order; directory buckets do not. Use the schedule",
            )
        if facts.key != last:
            yield facts
        last = facts.key


def _batches(objects: Iterable[ObjectFacts]) -> Iterator[list[ObjectFacts]]:
    batch: list[ObjectFacts] = []
    for facts in objects:
        batch.append(facts)
        if len(batch) == KEYS_AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch
