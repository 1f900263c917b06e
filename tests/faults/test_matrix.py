"""Every step of the flagship's plan, every fault of the design: what becomes of the month, and what does not happen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import pytest

from assets.demo.saturday import month
from dagster_planexec.contract.codes import CODES, meaning
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.run_report import RunReport, newest_report
from tests.faults.case import FAULTS, STEPS, Case, NotApplicable
from tests.faults.conftest import MakeScene
from tests.faults.deeds import STAGED
from tests.faults.matrix import CASES, EXCLUDED
from tests.faults.scene import Scene
from tests.support.flagship import SMALL, TASK
from tests.support.killed import Point, struck
from tests.support.months import World

DUE = sorted((key, str(amount)) for key, amount in month(SMALL).truth.credits.items())


def numbered(cases: Sequence[Case]) -> list[str]:
    return [f"{n:03}-{case.name}" for n, case in enumerate(cases)]


LIVED = [case for case in CASES if not case.killed]
KILLED = [case for case in CASES if case.killed]


# ---------------------------------------------------------------------- the table


def test_no_cell_is_left_out_and_none_is_two_things():
    happens = {(case.step, case.fault) for case in CASES}
    cannot = {(cell.step, cell.fault) for cell in EXCLUDED}

    assert happens | cannot == set(product(STEPS, FAULTS))
    assert happens & cannot == set()
    assert len(cannot) == len(EXCLUDED)


def test_every_cell_says_what_is_done_and_what_follows():
    for case in CASES:
        assert case.killed or (case.deed is None) != (case.trouble is None), case.name
        assert (case.trouble is not None) == (case.when == "during the call"), case.name
        assert case.ends.code is None or case.ends.code in CODES, case.name
        assert bool(case.mend) <= bool(case.mended), case.name
        assert case.heals == (case.ends.code is None) == case.ends.issued, case.name
    said = [(case.step, case.fault, case.does, case.when) for case in CASES]
    assert len(set(said)) == len(said)


# ---------------------------------------------------------------------- what happens


@pytest.mark.parametrize("case", LIVED, ids=numbered(LIVED))
def test_the_month_ends_as_the_table_says(case: Case, make_scene: MakeScene, tmp_path: Path):
    """Then the trouble has passed, a person has put right what the table names, and the month is run again."""
    with make_scene(tmp_path, case) as scene:
        report = scene.run(case)
        calls = [step for kind, step in scene.kinds if kind == "calling"]

        assert_it_ended_as_said(case, report)
        assert_nothing_after_it_ran(case, report, calls)
        assert_it_is_told(case, scene, report)
        assert sorted(scene.credits()) == (DUE if case.ends.issued else [])
        if case.heals and case.step != "issue_credit":
            return
        if case.mend is not None:
            case.mend(scene)
        again = scene.run()

        assert (again.status, again.code) == ("succeeded", None), again.text
        assert sorted(scene.credits()) == DUE
        assert not case.heals or [step for kind, step in scene.kinds if kind == "calling"] == []


def assert_it_ended_as_said(case: Case, report: RunReport) -> None:
    step, ends = report.step(case.step), case.ends
    assert (report.status, report.code) == (ends.status, ends.code), report.text
    assert step is not None
    shut = [v for v in step.checks if not v.opens]
    assert (step.outcome, step.code, step.tries) == (ends.outcome, ends.code, ends.tries), step.reason
    assert [v.check for v in shut[:1]] == ([ends.check] if ends.check else []), step.reason
    assert [v.code for v in shut[:1]] == ([ends.code] if ends.check else [])


def assert_nothing_after_it_ran(case: Case, report: RunReport, calls: Sequence[str | None]) -> None:
    at = STEPS.index(case.step)
    outcomes = {s.id: s.outcome for s in report.steps}
    assert list(outcomes) == list(STEPS)
    assert {outcomes[step] for step in STEPS[:at]} <= {"done"}
    assert {outcomes[step] for step in STEPS[at + 1 :]} <= ({"done"} if case.heals else {"not-run"})
    assert set(calls) <= set(STEPS if case.heals else STEPS[: at + 1])
    assert calls.count("issue_credit") <= 1
    written = [path for path in report.report.values() if path]
    assert bool(written) == (case.heals or case.step == "issue_credit")


def assert_it_is_told(case: Case, scene: Scene, report: RunReport) -> None:
    """By the report, and by what the journal keeps of it: code, step, both sides, what to do."""
    journal = Journal(looking=True)
    kept = newest_report(journal, TASK, SMALL)
    journal.close()
    assert kept is not None
    assert (kept["status"], kept["code"]) == (report.status, report.code)
    if case.heals:
        return
    code = str(case.ends.code)
    assert all(word in kept["text"] for word in (code, case.step, "expected ", "saw ")), kept["text"]
    assert kept["hint"] == meaning(code).hint
    (failed,) = [step for step in kept["steps"] if step["outcome"] == "failed"]
    assert (failed["id"], failed["code"]) == (case.step, code)
    for check in failed["checks"]:
        assert None not in (check["expected"]["value"], check["observed"]["value"]), check
        assert check["expected"]["source"] != check["observed"]["source"], check


# ---------------------------------------------------------------------- what cannot happen, and when things happen


@dataclass
class Healthy:
    """What a month in which nothing goes wrong has done."""

    scene: Scene
    kinds: list[tuple[str, str | None]]
    methods: set[str]
    staged: list[int] = field(default_factory=list)


@pytest.fixture(scope="module")
def healthy(make_scene: MakeScene, tmp_path_factory: pytest.TempPathFactory) -> Healthy:
    """One such month; the rows of the new table are counted when its step has called."""
    staged: list[int] = []

    def count(scene: Scene) -> None:
        with scene.demo.connection() as warehouse:
            staged.extend(warehouse.execute(f"select count(*) from {STAGED}").fetchone() or ())

    looks = Case("stage_table", "vanish", "", "after the call", CASES[0].ends, count)
    with make_scene(tmp_path_factory.mktemp("healthy")) as scene:
        scene.busy.methods.clear()
        report = scene.run(looks)
        assert report.status == "succeeded", report.text
        return Healthy(scene, list(scene.kinds), set(scene.busy.methods), staged)


@pytest.mark.parametrize("cell", EXCLUDED, ids=lambda cell: f"{cell.step}-{cell.fault}".replace(" ", "_"))
def test_what_does_not_apply_cannot_happen(cell: NotApplicable, healthy: Healthy):
    """A port that a step never uses cannot strike it; the ports it does use are noted, so the note is not empty."""
    touched = healthy.scene.touched
    assert set(touched) >= set(STEPS)
    assert touched[cell.step] & set(cell.untouched) == set()
    assert cell.untouched or cell.without_rows
    if cell.without_rows:
        assert healthy.staged == [0]


def test_the_notes_know_who_uses_what(healthy: Healthy):
    touched = healthy.scene.touched
    assert [step for step in STEPS if "objects" in touched[step]] == ["fetch_export"]
    assert [step for step in STEPS if "credits" in touched[step]] == ["issue_credit"]
    assert [step for step in STEPS if "warehouse" not in touched[step]] == ["fetch_export"]
    assert healthy.methods == {"GET", "HEAD"}


@pytest.mark.parametrize("case", KILLED, ids=numbered(KILLED))
def test_a_killed_month_ends_like_any_other(case: Case, healthy: Healthy, make_scene: MakeScene, tmp_path: Path):
    """A process of its own, killed for real. Run again: nothing done is done twice, and no credit is lost."""
    event = {"between judgement and call": "calling", "after the call": "called"}[case.when]
    point = Point(1 + healthy.kinds.index((event, case.step)), name=f"{event} {case.step}")
    with make_scene(tmp_path) as scene:
        world = World(scene.home, scene.endpoint, scene.period)
        assert struck(world, TASK, point) == []
        assert sorted(world.credits()) == DUE
