"""What the sensor remembers is the same in every database: keys by their bytes, sets by their digest, runs by key."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dagster_planexec.journal.arrivals.drop import Arrival, Range, note_older, note_range, seen_for
from dagster_planexec.journal.arrivals.requests import (
    ask,
    deliveries,
    note_started,
    set_digest,
    unstarted,
    was_last,
)
from dagster_planexec.journal.journal import Journal
from dagster_planexec.world.period import Period

AT = datetime(2026, 4, 1, 9, 2, tzinfo=UTC)
MARCH = Period.parse("2026-03", "month")
ODD = [
    "a",
    "B",
    "É",
    "é",
    "a b",
    "a-b",
    "a_b",
    "Z",
    "日本",
    "a'; drop table planexec_drop; --",
    "x" * 1_000,
    "\uff05",
    "%",
    "_",
]


def arrival(key: str, version: str = "v1", period: str = "2026-03") -> Arrival:
    """An object in the drop."""
    return Arrival("b", key, version, period, 7, AT)


def note(journal: Journal, *listed: Arrival, part: Range | None = None, later_s: int = 0) -> list[str]:
    """A look at the drop; the keys that were never seen before."""
    now = AT + timedelta(seconds=later_s)
    found = note_range(journal, "t", part or Range("b"), listed, now=now, last_look=None)
    return [a.key for a in found]


def test_keys_are_ranged_by_their_bytes(journal: Journal) -> None:
    """As the store lists them, in whatever language the database sorts: no key is forgotten, none is new twice."""
    keys = sorted(ODD, key=str.encode)
    middle = keys[len(keys) // 2]
    first, last = ([arrival(k) for k in part] for part in (keys[: len(keys) // 2 + 1], keys[len(keys) // 2 + 1 :]))

    assert sorted(note(journal, *first, part=Range("b", "", middle))) == sorted(a.key for a in first)
    assert sorted(note(journal, *last, part=Range("b", middle))) == sorted(a.key for a in last)
    assert note(journal, *first, part=Range("b", "", middle)) == []
    assert [d.objects for d in deliveries(journal, "t")] == [len(ODD)]
    assert [seen.key for seen in seen_for(journal, "t", "2026-03")] == keys


def test_a_set_has_one_digest_in_every_database(journal: Journal) -> None:
    """Pages and order included; it is part of a run's key, which must not change when a journal moves."""
    note(journal, *(arrival(f"{key}{n}") for key in ODD[:10] for n in range(120)))

    assert set_digest(journal, "t", "2026-03")[:16] == "7c4153763018a03b"


def test_a_version_takes_the_place_of_another_and_back(journal: Journal) -> None:
    """A, then B, then A again; and one that came and went between two looks."""
    note(journal, arrival("k", "A"))
    note(journal, arrival("k", "B"))
    assert [(s.version, s.superseded_by) for s in seen_for(journal, "t", "2026-03")] == [("A", "B"), ("B", None)]

    note(journal, arrival("k", "A"))
    assert {(s.version, s.superseded_by) for s in seen_for(journal, "t", "2026-03")} == {("A", None), ("B", "A")}

    assert note_older(journal, "t", arrival("k", "A"), [arrival("k", "between")]) == 1
    assert ("between", "A") in {(s.version, s.superseded_by) for s in seen_for(journal, "t", "2026-03")}


def test_a_request_counts_when_its_run_is_there(journal: Journal) -> None:
    """Until then it keeps its key; the same set asked for again later is another run."""
    note(journal, arrival("k", "A"))
    digest = set_digest(journal, "t", "2026-03")
    first = ask(journal, "t", MARCH, digest, 1)
    again = ask(journal, "t", MARCH, digest, 1)
    assert (first, unstarted(journal, "t")) == (again, (first,))
    assert [d.news for d in deliveries(journal, "t")] == [1]

    note_started(journal, "t", [first])

    assert unstarted(journal, "t") == ()
    assert [d.news for d in deliveries(journal, "t")] == [0]
    assert was_last(journal, "t", "2026-03", digest)
    assert ask(journal, "t", MARCH, digest, 1) == f"{first}-2"


@pytest.mark.parametrize("count", [501, 2_500])
def test_many_objects_are_noted_in_one_look(journal: Journal, count: int) -> None:
    """More than a statement binds, more than a page holds."""
    many = [arrival(f"part-{n:05}") for n in range(count)]

    assert len(note(journal, *many)) == count
    assert note(journal, *many) == []
    assert [(d.objects, d.news) for d in deliveries(journal, "t")] == [(count, count)]
