"""The snapshot: each look by itself, and none that keeps the others from being made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from assets.stage import environment, settings_of
from assets.vendor_reconciliation.task import TASK
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.snapshot import MOST_FILES, Landed, look_around, names_read, unobserved
from dagster_planexec.planner.seen import seen_of
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import ObjectFacts, Ports
from dagster_planexec.world.probes.delivery.listing import MOST_LISTED

PERIOD = TASK.period("2026-02")


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoWorld]:
    """A seeded world, with the environment that leads there."""
    with LocalS3() as s3:
        made = DemoWorld(tmp_path_factory.mktemp("snapshot") / "home", s3.endpoint, period=PERIOD.text)
        made.seed()
        with environment(settings_of(made, None)):
            yield made


@pytest.fixture
def ports(seeded: DemoWorld) -> Ports:
    """The ports of that world."""
    import definitions

    (planned,) = (one for one in definitions.TASKS if one.name == TASK.name)
    return planned.binding.resources.ports()


def look(ports: Ports, task: Task = TASK, copies: Landed | None = None) -> dict[str, Observation]:
    """What each look is about, to what was seen."""
    return dict(look_around(task, ports, PERIOD, copies or {}))


def test_everything_is_looked_at_in_the_order_of_the_work(ports: Ports) -> None:
    """Each with the moment at which it was."""
    seen = look(ports)

    assert list(seen) == ["drop", "input:ledger", "input:ledger in 2026-02", *_sql(seen), "effects"]
    assert all(sight.state == "seen" and sight.source.at is not None for sight in seen.values())


def _sql(seen: dict[str, Observation]) -> list[str]:
    found = [about for about in seen if about.startswith("sql:")]
    assert "sql:reconcile.sql" in found
    return found


def test_a_drop_of_many_objects_is_counted_and_not_listed_to_its_end(seeded: DemoWorld, ports: Ports) -> None:
    """Count and bytes are exact; the first keys are shown."""
    keys = [f"vendor/exports/2026-02-invoice-{n:03}.csv" for n in range(MOST_LISTED + 5)]
    for key in keys:
        seeded.put(key, b"xy")
    try:
        drop = look(ports)["drop"]
    finally:
        for key in keys:
            seeded.remove(key)
    size = len(seeded.read(seeded.export_key))

    assert drop["objects"] == MOST_LISTED + 6
    assert drop["bytes"] == 2 * (MOST_LISTED + 5) + size
    assert isinstance(listed := drop["listed"], tuple)
    assert len(listed) == MOST_LISTED


def test_a_landed_copy_is_seen_where_it_lies(ports: Ports, seeded: DemoWorld) -> None:
    """And one that is not there is said to be gone."""
    facts = ObjectFacts("vendor-drops", "k.csv", 3, "e", look(ports)["drop"].source.at, None)
    there, gone = "ab" * 32, "cd" * 32
    path = ports.roots.landed_path(there)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"abc")
    copies = {("vendor-drops", "k.csv"): [AdmittedObject(facts, there), AdmittedObject(facts, gone)]}
    seen = [sight for about, sight in look_around(TASK, ports, PERIOD, copies) if about == "landed"]

    assert [sight.state for sight in seen] == ["seen", "absent"]
    assert seen[0].facts == {"key": "k.csv", "landed": there, "bytes": 3}


def test_one_look_that_fails_keeps_no_other_from_being_made(ports: Ports, tmp_path: Path) -> None:
    """No bucket, no warehouse file, no SQL folder, no credit rule: each says so by itself."""
    drop = replace(TASK.drop, bucket="no-such-bucket")
    roots = replace(ports.roots, sql=tmp_path / "none")
    deliverables = tuple(replace(made, effect_scope=None) for made in TASK.deliverables)
    seen = look(replace(ports, roots=roots), replace(TASK, drop=drop, deliverables=deliverables))

    assert {about: sight.state for about, sight in seen.items()} == {
        "drop": "errored", "input:ledger": "seen", "input:ledger in 2026-02": "seen", "sql": "absent",
        "effects": "errored",
    }  # fmt: skip
    assert (seen["drop"].code, seen["effects"].code) == ("BUCKET_GONE", "BAD_CONTRACT")


def test_a_table_that_is_not_there_is_an_answer(ports: Ports) -> None:
    """Absent, which is shown as a fact."""
    inputs = tuple(replace(i, source="ledger.none") if i.source else i for i in TASK.inputs)
    seen = look(ports, replace(TASK, inputs=inputs))
    (shown,) = seen_of([("input:ledger", seen["input:ledger"])])

    assert seen["input:ledger"].state == seen["input:ledger in 2026-02"].state == "absent"
    assert shown.facts == {"absent": True, "why": "there is no table ledger.none"}


def test_sql_files_are_read_as_far_as_they_can_be(ports: Ports, tmp_path: Path) -> None:
    """Unreadable ones are named, and very many are counted."""
    (tmp_path / "a.sql").write_text("select ((", encoding="utf-8")
    for n in range(MOST_FILES):
        (tmp_path / f"b{n:03}.sql").write_text("select 1 from vendor", encoding="utf-8")
    seen = look(replace(ports, roots=replace(ports.roots, sql=tmp_path)))

    assert seen["sql:a.sql"].state == "errored"
    assert seen["sql:b000.sql"]["reads"] == ("vendor",)
    assert seen["sql"].facts == {"files": MOST_FILES + 1, "not_shown": 1}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select * from ledger l full outer join vendor v using (id)", ("ledger", "vendor")),
        ("with a as (select * from ledger) select * from a, A", ("ledger",)),
        ("select * from (select 1) x", ()),
        ("select * from read_csv('x')", ()),
        ("select * from other.ledger", ("ledger",)),
        ("select 1; drop table vendor", ("vendor",)),
        ("", ()),
        ("select ((", None),
        ("(" * 5_000, None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_the_names_that_a_query_reads(text: str, names: tuple[str, ...] | None) -> None:
    """Those it makes itself are none of them; what cannot be read has none that are known."""
    assert names_read(text, "duckdb") == names


def test_without_ports_everything_is_said_to_be_unseen() -> None:
    """With the reason."""
    seen = seen_of(unobserved(TASK, PlanexecError("BAD_CONTRACT", "AWS_X is not set")))

    assert [one.about for one in seen] == ["drop", "input:ledger", "sql", "effects"]
    assert {(one.facts, one.why_not) for one in seen} == {(None, "BAD_CONTRACT: AWS_X is not set")}
