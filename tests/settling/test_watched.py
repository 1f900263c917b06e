"""Things that a task watches are inputs like any other: news, expectations, and what a re-plan may take in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest

from dagster_planexec.contract.task import Task, Watch
from dagster_planexec.execute.admit import admit_inputs
from dagster_planexec.journal.admission import decode_admission, encode_admission
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.world.local.absent_ports import NoCreditApi, NoObjectStore
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Ports, Roots
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject
from dagster_planexec.world.subject import table as table_subject
from tests.support.settled import PERIOD, Place, ScriptedPlanner, copy, make, plan_of


@dataclass(frozen=True)
class Shelf(Probe):
    """The books of a table, each with its text."""

    table: str

    @property
    def subject(self) -> Subject:
        """The table."""
        return table_subject(self.table)

    @property
    def reader(self) -> str:
        """A query."""
        return "SQL"

    def observe(self, ports: Ports) -> Observation:
        """Read it."""
        with ports.warehouse.session() as session:
            if session.describe(self.table) is None:
                return self.absent(ports, "no shelf")
            rows = session.rows(f"select title, text from {self.table} order by title")
        return self.seen(ports, {"books": len(rows), "texts": {str(title): str(text) for title, text in rows}})


def shelf(task: Task, period: Period, roots: Roots) -> Probe:
    """As a task names it."""
    return Shelf("staging.shelf")


WATCH = Watch("shelf", shelf, {"books": "books on it"}, gone="TABLE_GONE")


@pytest.fixture
def watched(place: Place) -> Place:
    """The toy task with a shelf that it watches, without a delivery, an object store or money."""
    place.sql("create table staging.shelf (title varchar, text varchar)")
    place.sql("insert into staging.shelf values ('a', 'x') returning 1")
    work = place.work
    ports = replace(work.ports, objects=NoObjectStore(), credits=NoCreditApi())
    task = replace(work.task, drop=None, watches=(WATCH,), replannable=frozenset({"ROWCOUNT_MISMATCH"}))
    place.work = replace(work, task=task, ports=ports)
    return place


def put(place: Place, title: str, text: str) -> None:
    """A book on the shelf."""
    place.sql(f"insert into staging.shelf values ('{title}', '{text}') returning 1")


def expects(op: str, value: int, **more: Any) -> dict[str, Any]:
    """What a plan may say of the shelf."""
    return {"about": "shelf", "measure": "books", "op": op, "value": value, **more}


def plain(_: PlanRequest, n: int) -> Plan:
    """A plan that is right."""
    return plan_of(make("a", 3), copy("b", "a"))


def test_a_task_without_a_delivery_settles(watched: Place) -> None:
    """No bucket is asked for anything."""
    report = watched.settle(ScriptedPlanner(plain))
    assert (report.status, watched.calls) == ("succeeded", ["a", "b"])


def test_an_unchanged_world_is_no_news_and_a_changed_one_is(watched: Place) -> None:
    """A run without news asks no planner; a book that changes its text opens another attempt."""
    planner = ScriptedPlanner(plain)
    first = watched.settle(planner)
    assert watched.settle(planner).attempt == first.attempt
    assert len(planner.asked) == 1
    watched.sql("update staging.shelf set text = 'y' returning 1")
    assert watched.settle(planner).attempt != first.attempt
    assert len(planner.asked) == 2


def test_what_is_gone_is_named_before_anything_runs(watched: Place) -> None:
    """By the live check, with the watch's own code; and its absence was admitted, so its return is news."""
    watched.sql("drop table staging.shelf")
    report = watched.settle(ScriptedPlanner(plain))
    assert (report.status, report.code, watched.calls) == ("rejected", "TABLE_GONE", [])
    watched.sql("create table staging.shelf (title varchar, text varchar)")
    assert watched.settle(ScriptedPlanner(plain)).status == "succeeded"


@pytest.mark.parametrize(
    ("expected", "code"),
    [
        (expects("==", 1), None), (expects("==", 2), "EXPECTATION_FAILED"), (expects("<", 1), "EXPECTATION_FAILED"),
        (expects("==", 1, measure="texts"), "expectation-unknown"),
        (expects("==", 1, about="shelves"), "expectation-unknown"),
        (expects("==", 1, about="drop", measure="objects"), "expectation-unknown"),
    ],
)  # fmt: skip
def test_a_plan_may_expect_what_can_be_counted(watched: Place, expected: dict[str, Any], code: str | None) -> None:
    """Measures by their names, and nothing of a drop that there is not."""
    answer = plan_of(make("a", 3), expects=[expected])
    report = watched.settle(ScriptedPlanner(lambda request, n: answer))
    if code is None:
        assert report.status == "succeeded"
    else:
        assert (report.status, code in {f["code"] for f in report.findings}) == ("rejected", True)
        assert watched.calls == []


@pytest.mark.parametrize(
    ("meanwhile", "revision", "text"),
    [
        ("insert into staging.shelf values ('b', 'z') returning 1", 2, ""),
        ("update staging.shelf set text = 'y' returning 1", 1, "'a' was replaced"),
        ("delete from staging.shelf returning 1", 1, "'a' is gone"),
        ("drop table staging.shelf", 1, "shelf is gone"),
    ],
    ids=["joined", "replaced", "taken away", "gone"],
)
def test_a_replan_takes_in_what_joined_and_nothing_that_changed(
    watched: Place, meanwhile: str, revision: int, text: str
) -> None:
    """What is done rests on what was there."""

    def answer(_: PlanRequest, n: int) -> Plan:
        return plan_of(make("a", 3), make("b", 5 if n == 1 else 3, after=["a"]))

    done: list[str] = []

    def hear(kind: str, step: str | None) -> None:
        if (kind, step) == ("stopped", "b") and not done:
            done.append(kind)
            watched.sql(meanwhile)

    watched.work.journal._listeners = (hear,)
    planner = ScriptedPlanner(answer)
    report = watched.settle(planner)

    assert (len(planner.asked), report.status) == ((2, "succeeded") if revision == 2 else (1, "stopped"))
    assert text in report.text
    assert report.revision == revision


def test_what_is_watched_survives_the_journal(watched: Place) -> None:
    """The record that is read back is the one that was written, and an older record has none."""
    admission = admit_inputs(watched.work, PERIOD)
    written = encode_admission(admission)
    assert decode_admission(written).watched == {"shelf": {"books": 1, "texts": {"a": "x"}}}
    assert decode_admission({name: value for name, value in written.items() if name != "watched"}).watched == {}
