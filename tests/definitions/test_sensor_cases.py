"""The sensor on cases from public bug reports, and on more of each kind: what arrived is asked for once, and all of it.

The store is scripted, because a real one sets times, tags and version ids itself. Sensor, journal and Dagster are real.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_planexec.contract.task import Drop
from dagster_planexec.world.ports import ObjectFacts
from tests.support.drops import ScriptedDrop, SetClock, Watch, instance_in, listed, planned_for

CASES = Path(__file__).parents[1] / "cases" / "sensor"
NOON = datetime(2026, 4, 1, 12, tzinfo=UTC)
BUCKET = "drops-of-cases"


def case(name: str) -> dict[str, Any]:
    """The case."""
    return json.loads((CASES / name / "case.json").read_text())


def listing(name: str, file: str) -> list[ObjectFacts]:
    """What a store lists in it."""
    return [listed(BUCKET, entry) for entry in json.loads((CASES / name / f"{file}.json").read_text())]


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Iterator[dg.DagsterInstance]:
    with instance_in(tmp_path_factory.mktemp("dagster")) as found:
        yield found


@pytest.fixture
def store() -> ScriptedDrop:
    return ScriptedDrop()


@pytest.fixture
def watch(request, tmp_path, monkeypatch, instance, store):
    """A sensor on `drops/<vendor>/`, whose journal is empty."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    count = iter(range(100))

    def made(prefix: str, pattern: str = r"{period}.*\.csv") -> Watch:
        clock = SetClock(NOON)
        name = f"cases_{request.node.name.translate(str.maketrans('[]-', '___'))}_{next(count)}"
        drop = Drop(BUCKET, prefix, pattern, input="vendor")
        return Watch(planned_for(drop, store, clock, name=name), instance, clock)

    return made


def known(watch: Watch, period: str) -> set[tuple[str, str]]:
    """Versions the journal knows."""
    return {(seen.key, seen.version) for seen in watch.seen(period)}


def test_case_01_cursor_key_rewritten(watch, store):
    """The key that was seen last is uploaded again while two others come: all three are one run's news."""
    expected = case("01-cursor-key-rewritten")["expected"]
    sensor = watch("drops/brindle/")
    store.holds(listing("01-cursor-key-rewritten", "listing_before"))
    assert sensor.asked() == ["2026-03-01"]
    before = known(sensor, "2026-03")
    store.holds(listing("01-cursor-key-rewritten", "listing_after"))
    result = sensor.settle()

    assert sorted(key for key, _ in known(sensor, "2026-03") - before) == sorted(expected["new_keys"])
    assert len(result.run_requests) == expected["runs"]
    assert result.run_requests[0].tags["planexec/objects"] == "3"


@pytest.mark.parametrize(
    "cursor",
    [
        case("01-cursor-key-rewritten")["contract"]["cursor_before"],
        case("03-same-second-arrival")["contract"]["cursor_before"],
        {"since_key": "drops/brindle/2026-03-deleted.csv"},
        {"looked": "2026-04-01T11:00:00+00:00", "began": "2026-04-01T11:30:00+00:00", "after": "ZHJvcHMveg=="},
    ],
    ids=["since-key", "since-last-modified", "since-a-deleted-key", "behind-everything"],
)
def test_no_cursor_hides_an_arrival(watch, store, cursor):
    """The cursors of other sensors, and one that was tampered with: what was never requested is requested."""
    sensor = watch("drops/brindle/")
    sensor.cursor = json.dumps(cursor)
    store.holds(listing("01-cursor-key-rewritten", "listing_after"))
    asked = sensor.asked()
    sensor.clock.forward(1000)

    assert asked + sensor.asked() == ["2026-03-01"]


@pytest.mark.parametrize("last", ["a", "b", "c"])
def test_rewritten_key_is_news_wherever_it_sorts(watch, store, last):
    """First, middle or last of the keys: the sensor does not lean on any of them."""
    sensor = watch("drops/brindle/")
    files = listing("01-cursor-key-rewritten", "listing_after")
    store.holds(files)
    sensor.tick()
    again = ObjectFacts(BUCKET, f"drops/brindle/2026-03-{last}.csv", 11, "e-new", NOON)
    store.holds([*files, again])

    assert [r.tags["planexec/objects"] for r in sensor.settle().run_requests] == ["3"]


def in_march(files: list[ObjectFacts]) -> list[ObjectFacts]:
    """The objects below a folder of their month: the case's keys name none, and a drop's keys always do."""
    return [
        ObjectFacts(f.bucket, f.key.replace("quillon/", "quillon/2026-03/"), f.size, f.etag, f.last_modified)
        for f in files
    ]


def test_case_03_same_second_arrival(watch, store):
    """A second object of the same second, of which one is seen already."""
    expected = case("03-same-second-arrival")["expected"]
    sensor = watch("drops/quillon/", r"{period}/part-\d+\.csv")
    store.holds(in_march(listing("03-same-second-arrival", "listing_before")))
    assert sensor.asked() == ["2026-03-01"]
    before = known(sensor, "2026-03")
    store.holds(in_march(listing("03-same-second-arrival", "listing_after")))
    result = sensor.settle()

    new = [key.replace("2026-03/", "") for key, _ in known(sensor, "2026-03") - before]
    assert new == expected["new_keys"]
    assert len(result.run_requests) == expected["runs"]


@pytest.mark.parametrize(
    ("late", "when"),
    [("part-0", "2026-04-01T09:05:00Z"), ("part-2", "2026-04-01T08:00:00Z"), ("part-2", "2026-04-01T11:59:59Z")],
    ids=["same-second-and-sorts-before", "multipart-dated-by-its-beginning", "store-clock-ahead-of-the-other"],
)
def test_no_time_of_an_object_hides_it(watch, store, late, when):
    """What a store says of times does not decide whether an object is new."""
    sensor = watch("drops/quillon/", r"{period}/part-\d+\.csv")
    first = in_march(listing("03-same-second-arrival", "listing_before"))
    store.holds(first)
    sensor.tick()
    entry = {"Key": f"drops/quillon/2026-03/{late}.csv", "Size": 10, "ETag": "p9", "LastModified": when}
    store.holds([*first, listed(BUCKET, entry)])

    assert [r.tags["planexec/objects"] for r in sensor.settle().run_requests] == ["2"]


def test_same_second_overwrite_of_the_same_size_is_news(watch, store):
    """Only the tag differs."""
    sensor = watch("drops/quillon/", r"{period}/part-\d+\.csv")
    (one,) = in_march(listing("03-same-second-arrival", "listing_before"))
    store.holds([one])
    sensor.tick()
    store.holds([ObjectFacts(one.bucket, one.key, one.size, "p1b", one.last_modified)])

    assert len(sensor.settle().run_requests) == 1


def versions_of(name: str) -> list[ObjectFacts]:
    """The case's versions, newest first. Of two notifications of one version a listing sensor sees one object."""
    events = json.loads((CASES / name / "events.json").read_text())
    ids = dict.fromkeys((event["key"], event["versionId"]) for event in events)
    return [
        ObjectFacts(BUCKET, key, 10, f"tag-{n}", datetime(2026, 4, 1, 9, n, tzinfo=UTC), version_id)
        for n, (key, version_id) in enumerate(ids)
    ][::-1]


def shown(seen, *, versions) -> str:
    """`key@v1`, whichever way the journal tells versions apart."""
    names = {
        told: v.version_id for v in versions for told in (v.version_id, f"{v.etag} {v.last_modified.isoformat()} 10")
    }
    return f"{seen.key}@{names[seen.version]}"


@pytest.mark.parametrize("knows_ids", [True, False], ids=["listing-knows-version-ids", "listing-as-s3-gives-it"])
def test_case_05_same_key_two_events_one_tick(watch, store, knows_ids):
    """Two versions between two looks: one run holds the later one; the earlier one is on record as superseded."""
    expected = case("05-same-key-two-events-one-tick")["expected"]
    sensor = watch("drops/marrow/", r"{period}\.csv")
    versions = versions_of("05-same-key-two-events-one-tick")
    newest = versions[0]
    store.holds([newest if knows_ids else replace(newest, version_id=None)])
    store.history = {newest.key: versions}
    requests = sensor.tick().run_requests
    seen = sensor.seen("2026-03")

    assert len(requests) == expected["runs"]
    assert [shown(s, versions=versions) for s in seen if s.requested == requests[0].run_key] == expected["arrivals"]
    assert [shown(s, versions=versions) for s in seen if s.superseded_by is not None] == expected["superseded"]
    assert sensor.asked() == []


def test_versions_before_the_one_that_was_run_stay_on_record(watch, store):
    """v1 is run, v2 and v3 come between two looks: v3 is run, v2 never was, and each says what took its place."""
    sensor = watch("drops/marrow/", r"{period}\.csv")
    key = "drops/marrow/2026-03.csv"
    v1, v2, v3 = (
        ObjectFacts(BUCKET, key, 10, f"t{n}", datetime(2026, 4, 1, 9, n, tzinfo=UTC), f"v{n}") for n in (1, 2, 3)
    )
    store.holds([replace(v1, version_id=None)])
    store.history = {key: [v1]}
    (first,) = sensor.tick().run_requests
    store.holds([replace(v3, version_id=None)])
    store.history = {key: [v3, v2, v1]}
    (second,) = sensor.settle().run_requests
    seen = {s.version.split()[0]: (s.requested, (s.superseded_by or "").split(" ")[0]) for s in sensor.seen("2026-03")}

    assert seen == {"t1": (first.run_key, "t2"), "t2": (None, "t3"), "t3": (second.run_key, "")}


def test_version_seen_while_it_settled_is_superseded_by_the_next(watch, store):
    """No store keeps versions here; the two looks themselves saw both."""
    sensor = watch("drops/marrow/", r"{period}\.csv")
    v1, v2 = (
        ObjectFacts(BUCKET, "drops/marrow/2026-03.csv", 10, f"t{n}", datetime(2026, 4, 1, 11, 50 + n, tzinfo=UTC))
        for n in (1, 2)
    )
    store.holds([v1])
    assert sensor.asked() == []
    store.holds([v2])
    requests = sensor.settle().run_requests
    seen = {s.version.split()[0]: (s.requested, s.superseded_by is None) for s in sensor.seen("2026-03")}

    assert seen == {"t1": (None, False), "t2": (requests[0].run_key, True)}


def test_older_version_that_is_restored_is_asked_for_again(watch, store):
    """v2 is removed and v1 lies there again, with its own id and time: the month's state came from v2."""
    sensor = watch("drops/marrow/", r"{period}\.csv")
    v2, v1 = versions_of("05-same-key-two-events-one-tick")
    keys = []
    for version, tick in ((v1, sensor.tick), (v2, sensor.settle), (v1, sensor.settle)):
        store.holds([version])
        keys += [request.run_key for request in tick().run_requests]

    assert len(set(keys)) == len(keys) == 3
    assert [s.version for s in sensor.seen("2026-03") if s.superseded_by is not None] == ["v2"]
    assert sensor.asked() == []


def test_what_was_away_and_came_back_unchanged_is_no_news(watch, store):
    """A listing that missed an object, or a delete marker that was taken off again."""
    sensor = watch("drops/brindle/")
    files = listing("01-cursor-key-rewritten", "listing_after")
    store.holds(files)
    assert sensor.asked() == ["2026-03-01"]
    store.holds(files[:1])
    assert sensor.asked() == []
    store.holds(files)

    assert sensor.settle().run_requests == []


def test_what_was_deleted_is_no_part_of_the_next_set(watch, store):
    """One of three is withdrawn, another comes: the run is asked for what lies there, and for nothing else."""
    sensor = watch("drops/brindle/")
    files = listing("01-cursor-key-rewritten", "listing_after")
    store.holds(files)
    sensor.tick()
    store.holds([files[0], ObjectFacts(BUCKET, "drops/brindle/2026-03-d.csv", 10, "e-d1", NOON)])
    (request,) = sensor.settle().run_requests

    assert request.tags["planexec/objects"] == "2"
    keys = [seen.key[-5:] for seen in sensor.seen("2026-03") if seen.requested == request.run_key]
    assert sorted(keys) == ["b.csv", "d.csv"]


def test_case_12_nothing_is_asked_for_what_has_no_bytes(watch, store):
    """An object of size 0 is no delivery by itself; beside others it comes with them, and the run judges it."""
    sensor = watch("drops/brindle/")
    entry = {"Key": "drops/brindle/2026-03-a.csv", "Size": 0, "ETag": "e0", "LastModified": "2026-04-01T09:01:00Z"}
    store.holds([listed(BUCKET, entry)])

    assert sensor.said().startswith("1 objects, 1 passed over, 0 new; 0 runs requested")
    store.holds([listed(BUCKET, entry), *listing("01-cursor-key-rewritten", "listing_after")[:2]])
    assert [r.tags["planexec/objects"] for r in sensor.settle().run_requests] == ["2"]


def test_case_50_each_month_is_a_delivery_of_its_own(watch, store):
    """Three months in one drop, one of which has no rows: three runs, and none decides for another."""
    sensor = watch("drops/months/", r"{period}/vendor\.csv")
    store.holds(
        [
            ObjectFacts(BUCKET, f"drops/months/2026-{month:02d}/vendor.csv", size, f"m{month}", NOON.replace(hour=9))
            for month, size in ((1, 120), (2, 45), (3, 80))
        ]
    )

    assert sensor.asked() == ["2026-01-01", "2026-02-01", "2026-03-01"]
