"""Large drops: time and memory of a tick are bounded, the cursor is small, and nothing is lost by either."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

import dagster as dg
import pytest

from dagster_planexec.contract.task import Drop
from dagster_planexec.definitions.triggers.drop_look import KEYS_AT_ONCE, LISTING_S, Place
from dagster_planexec.world.ports import ObjectFacts
from tests.support.drops import ScriptedDrop, SetClock, Watch, instance_in, planned_for

AT = datetime(2026, 4, 1, 9, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 30, 12, tzinfo=UTC)
BUCKET = "drops"


@pytest.fixture(autouse=True)
def _collects_as_usual():
    """Memory is measured as a sensor's process holds it; the tests' own processes collect less often."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


@dataclass
class Many(ScriptedDrop):
    """So many parts, spread over ten months, that none of them is kept anywhere."""

    count: int = 0
    edition: int = 0
    first: ObjectFacts | None = None
    """An object before all of them."""

    def list_after(self, bucket: str, prefix: str, after: str) -> Iterator[ObjectFacts]:
        self.listed_from.append(after)
        if self.first is not None and self.first.key > after:
            yield self.first
        for n in range(self.count):
            key = f"{prefix}2026-{1 + 10 * n // self.count:02d}-part-{n:06d}.csv"
            if key > after:
                self.on_key(key)
                yield ObjectFacts(bucket, key, 10, f"tag-{self.edition}-{n:032d}", AT)


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Iterator[dg.DagsterInstance]:
    with instance_in(tmp_path_factory.mktemp("dagster")) as found:
        yield found


@pytest.fixture
def watching(tmp_path, monkeypatch, instance):
    """Makes a sensor on a store."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))

    def made(store: ScriptedDrop, **task) -> Watch:
        clock = SetClock(NOVEMBER)
        drop = Drop(BUCKET, "in/", r"{period}.*\.csv", input="vendor")
        return Watch(planned_for(drop, store, clock, **task), instance, clock)

    return made


@pytest.mark.slow
def test_100_000_keys_are_one_look(watching):
    """The first tick writes all of them down and asks for every month; a later one has nothing new.

    How long that takes is measured in `bench/`: a test on a busy machine could only say that it is busy.
    """
    store = Many()
    watch = watching(store)
    watch.tick(stored=False)
    store.count = 100_000

    assert [int(r.tags["planexec/objects"]) for r in watch.tick(stored=False).run_requests] == [10_000] * 10
    watch.tick()
    assert watch.said().startswith("100000 objects, 0 passed over, 0 new; 0 runs requested")


def test_memory_of_a_tick_does_not_grow_with_the_drop(watching):
    """Eight times the keys, and as much memory, in the first tick and in a later one."""
    peaks = []
    for name, count in (("warm", 10), ("small", 2 * KEYS_AT_ONCE), ("large", 16 * KEYS_AT_ONCE)):
        watch = watching(Many(count=count), name=f"memory_{name}")
        for _ in range(2):
            tracemalloc.start()
            watch.tick(stored=False)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    _, _, small_first, small_later, large_first, large_later = peaks

    assert large_first < 1.3 * small_first
    assert large_later < 1.3 * small_later


def test_listing_that_takes_too_long_goes_on_in_the_next_tick(watching):
    """Each thousand keys take half a minute: a tick ends in time, and only the whole drop is a settled set."""
    store = Many(count=2 * KEYS_AT_ONCE + 500)
    watch = watching(store)
    store.on_key = lambda _: watch.clock.forward(1.5 * LISTING_S / KEYS_AT_ONCE)
    said = [watch.said(), watch.said()]
    sizes = [len(watch.cursor)]
    last = watch.tick()

    assert all(f"{KEYS_AT_ONCE} objects" in text and "goes on from there in the next tick" in text for text in said)
    assert [int(r.tags["planexec/objects"]) for r in last.run_requests] == [250] * 10
    assert [bool(after) for after in store.listed_from] == [False, True, True]
    assert store.listed_from[1] < store.listed_from[2]
    assert max(sizes) < 4096


def test_object_that_comes_behind_a_long_look_is_seen_by_the_next(watching):
    """It sorts before the place the look has come to."""
    store = Many(count=2 * KEYS_AT_ONCE)
    watch = watching(store)
    store.on_key = lambda _: watch.clock.forward(1.5 * LISTING_S / KEYS_AT_ONCE)
    seen = [watch.tick() for _ in range(3)]
    assert [len(tick.run_requests or []) for tick in seen] == [0, 0, 10]

    store.first = ObjectFacts(BUCKET, "in/2026-01-a.csv", 10, "early", AT)
    asked = []
    for _ in range(6):
        asked += watch.asked()
        watch.clock.forward(500)

    assert asked == ["2026-01-01"]


def test_more_months_than_a_tick_asks_for_come_in_the_next(watching):
    """Forty-five months at once: forty, then five, with a cursor of less than 4 kB."""
    months = [f"{2022 + n // 12}-{1 + n % 12:02d}" for n in range(45)]
    store = ScriptedDrop().holds(ObjectFacts(BUCKET, f"in/{month}.csv", 10, month, AT) for month in months)
    watch = watching(store, first_period="2022-01", name="many_months")
    first, size, second = watch.tick(), len(watch.cursor), watch.tick()

    assert [r.partition_key for r in first.run_requests] == [f"{month}-01" for month in months[:40]]
    assert [r.partition_key for r in second.run_requests] == [f"{month}-01" for month in months[40:]]
    assert size < 4096
    assert watch.asked() == []


@pytest.mark.parametrize("letter", ["x", "\x01", '"', "\u00e9", "\U0001f9fe"])
def test_cursor_is_small_whatever_key_it_stands_behind(letter):
    """The longest keys there are, of 1,024 bytes."""
    place = Place(NOVEMBER, NOVEMBER, letter * (1024 // len(letter.encode())))

    assert len(place.cursor) < 4096
    assert Place.read(place.cursor) == place


def test_memory_of_a_tick_does_not_grow_with_what_was(watching):
    """Ten editions of each object later, a look still reads what lies there, and nothing of what lay there."""
    store = Many(count=2 * KEYS_AT_ONCE)
    watch = watching(store, name="editions")
    peaks = []
    for store.edition in range(11):
        watch.tick(stored=False)
        tracemalloc.start()
        watch.tick(stored=False)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert len(watch.seen("2026-01")) == 11 * 200
    assert peaks[-1] < 1.3 * peaks[1]


def test_two_looks_at_once_agree(watching):
    """A person tries the sensor out while the daemon ticks: neither fails, and both ask under the same keys."""
    watch = watching(Many(count=5 * KEYS_AT_ONCE), name="two_looks")
    with ThreadPoolExecutor(2) as pool:
        looks = [pool.submit(watch.tick, stored=False) for _ in range(2)]
        keys = [[request.run_key for request in look.result().run_requests] for look in looks]

    assert len(keys[0]) == 10
    assert keys[0] == keys[1]
