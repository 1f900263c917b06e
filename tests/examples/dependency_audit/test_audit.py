"""The audit from its plan to its report: 310 packages, where the plan to the letter finds 214."""

from __future__ import annotations

import json
import shutil

import pytest

from assets.demo.local import LOCAL_DATA, follow_to_the_letter
from assets.dependency_audit.world import FIRST, SECOND, uv_lock
from dagster_planexec.planner.planner import Planner
from dagster_planexec.planner.request import PlanRequest
from tests.support.local_tasks import LocalPlace, outcomes
from tests.support.settled import ScriptedPlanner

UNFIXED = "PYSEC-2026-0004"
THIRD = "lockfiles/2026-03/services/mail/uv.lock"


def figures(place: LocalPlace) -> dict[str, int]:
    """What the written report counts."""
    return json.loads((place.home / "reports" / "2026-03-dependency-audit.json").read_text())["figures"]


def read(name: str, path: str) -> dict[str, object]:
    """A step that reads a lockfile."""
    return {"id": name, "tool": "read_lockfile", "args": {"path": path, "target": f"audit.{name}_202603"}}


def whole(place: LocalPlace, *reads: dict[str, object], tag: str = "") -> object:
    """A plan that reads these lockfiles and does the rest."""
    names = [str(step["id"]) for step in reads]
    return place.plan(
        *reads,
        {"id": "look", "tool": "lookup_advisories", "depends_on": names,
         "args": {"packages": [{"ref": f"{n}.table"} for n in names], "target": f"audit.look{tag}_202603"}},
        {"id": "fix", "tool": "find_fixed_versions", "depends_on": ["look"],
         "args": {"source": {"ref": "look.table"}, "target": f"audit.fix{tag}_202603"}},
        {"id": "write", "tool": "write_audit", "depends_on": ["fix"],
         "args": {"looked_up": {"ref": "look.table"}, "fixes": {"ref": "fix.table"}, "name": "2026-03-audit"}},
    )  # fmt: skip


def test_the_second_lockfile_is_a_surprise_that_another_plan_takes_in(audit: LocalPlace) -> None:
    """Nothing failed at step 1: it returned more than the plan expected, and the rest was planned anew."""
    report = audit.settle()

    assert (report.status, report.revision) == ("succeeded", 2)
    assert outcomes(report) == {
        "read_root": "reused", "read_billing": "done", "look_up": "done", "find_fixes": "done", "write": "done",
    }  # fmt: skip
    [first] = report.as_json()["revisions"]
    assert (first["trigger"], first["step"], first["code"]) == ("surprise", "read_root", "INPUT_UNREAD")
    assert SECOND.rpartition("/")[2] in first["text"]
    assert figures(audit) == {"packages": 310, "matches": 4, "undecided": 0, "fixed": 3, "absent": 1}
    assert audit.sql("select count(*) from audit.packages_root_202603") == [(214,)]
    assert audit.sql("select count(*) from audit.packages_billing_202603") == [(96,)]
    assert audit.sql("select advisory, fix, fixed_version from audit.fixes_202603 where fix = 'absent'") == [
        (UNFIXED, "absent", None)
    ]
    assert (audit.home / "reports" / "2026-03-dependency-audit.md").read_text().count("no released fix") == 1


def test_the_first_plan_to_the_letter_reports_on_214_and_says_that_all_is_fixed(audit: LocalPlace) -> None:
    """The control: the same plan, tools and world. It ends well, and misses the one that has no fix."""
    report = audit.settle()
    document = follow_to_the_letter(LOCAL_DATA["lockfiles"], audit.period(), audit.home)
    literal = json.loads((audit.home / "literal" / "reports" / "2026-03-dependency-audit.json").read_text())

    assert (report.status, document["status"]) == ("succeeded", "succeeded")
    assert literal["figures"] == {"packages": 214, "matches": 3, "undecided": 0, "fixed": 3, "absent": 0}
    found = {row[0] for row in audit.sql("select advisory from audit.fixes_202603")}
    assert found - {row["advisory"] for row in literal["rows"]} == {UNFIXED}


def test_a_second_run_reuses_everything_and_asks_nobody(audit: LocalPlace) -> None:
    """An unchanged world is no news."""
    audit.settle()
    asked = len(audit.events("proposed"))
    report = audit.settle()

    assert (report.status, report.revision, asked) == ("succeeded", 2, 2)
    assert set(outcomes(report).values()) == {"reused"}
    assert len(audit.events("proposed")) == asked


@pytest.mark.parametrize("changed", [FIRST, SECOND, "advisories/2026-03/PYSEC-2026-0009.json"])
def test_a_changed_file_is_news(audit: LocalPlace, changed: str) -> None:
    """Also the workspace's lockfile, which no step of the first plan reads."""
    before = audit.settle()
    place = audit.files / changed
    place.write_text(place.read_text() + "\n")
    after = audit.settle()

    assert (after.status, after.attempt != before.attempt) == ("succeeded", True)
    assert set(outcomes(after).values()) != {"reused"}


def test_without_its_advisories_nothing_is_looked_up(audit: LocalPlace) -> None:
    """The live check names the folder before any step runs."""
    shutil.rmtree(audit.files / "advisories")
    report = audit.settle()

    assert (report.status, report.code) == ("rejected", "FILE_GONE")
    assert "advisories/2026-03" in report.text
    assert audit.events("calling") == []


def test_a_lockfile_that_changes_under_the_run_stops_it(audit: LocalPlace) -> None:
    """What was read is no longer what is there; nothing is reported on either."""
    audit.when("step-done", "read_billing", lambda: (audit.files / FIRST).write_text("{}"))
    report = audit.settle()

    # Judged again, by the other reader: the table holds what is not in the file.
    assert (report.status, report.code) == ("stopped", "ROWCOUNT_MISMATCH")
    assert "changed since it was judged" in report.text
    assert outcomes(report)["look_up"] == "failed"
    assert not (audit.home / "reports").exists()


def test_advisories_that_change_under_the_run_stop_it(audit: LocalPlace) -> None:
    """The step that would use them is not called."""
    name = "advisories/2026-03/PYSEC-2026-0004.json"
    audit.when("step-done", "read_billing", (audit.files / name).unlink)
    report = audit.settle()

    assert (report.status, report.code) == ("stopped", "FILE_CHANGED")
    assert "PYSEC-2026-0004" in report.text
    assert outcomes(report)["look_up"] == "failed"
    assert "look_up" not in [event.step for event in audit.events("calling")]


def test_a_lockfile_that_joins_under_the_run_is_read_by_another_plan(audit: LocalPlace) -> None:
    """What was there is as it was, so what is done stays done; the new file is taken in."""

    def join() -> None:
        (audit.files / THIRD).parent.mkdir(parents=True)
        (audit.files / THIRD).write_text(uv_lock([("later", "1.0")]))

    def answer(_: PlanRequest, n: int) -> object:
        reads = [read("root", FIRST), read("billing", SECOND), *([read("mail", THIRD)] if n > 1 else [])]
        return whole(audit, *reads)

    audit.when("step-done", "billing", join)
    report = audit.settle(planner=ScriptedPlanner(answer))

    assert (report.status, report.revision) == ("succeeded", 2)
    assert [entry["code"] for entry in report.as_json()["revisions"]] == ["INPUT_UNREAD"]
    assert [outcomes(report)[name] for name in ("root", "billing", "mail")] == ["reused", "reused", "done"]
    assert audit.sql("select count(*) from audit.look_202603") == [(311,)]


def test_no_plan_is_asked_for_when_a_file_was_replaced_as_well(audit: LocalPlace) -> None:
    """Something joined, and something that a done step rests on changed: that is another attempt."""

    def join_and_replace() -> None:
        (audit.files / THIRD).parent.mkdir(parents=True)
        (audit.files / THIRD).write_text(uv_lock([("later", "1.0")]))

    def answer(_: PlanRequest, n: int) -> object:
        return whole(audit, read("root", FIRST), read("billing", SECOND))

    audit.when("step-done", "billing", join_and_replace)
    audit.when("stopped", "look", lambda: (audit.files / FIRST).write_text("{}"))
    planner = ScriptedPlanner(answer)
    report = audit.settle(planner=planner)

    assert (report.status, report.code, len(planner.asked)) == ("stopped", "INPUT_UNREAD", 1)
    assert "was replaced" in report.text


@pytest.mark.parametrize("fresh", [True, False], ids=["other names each time", "the same each time"])
def test_a_planner_that_never_reads_the_second_lockfile_comes_to_an_end(audit: LocalPlace, fresh: bool) -> None:
    """Within the cap, and without a report on 214 packages."""

    def answer(_: PlanRequest, n: int) -> object:
        name = f"root{n if fresh else ''}"
        return whole(audit, read(name, FIRST), tag=str(n) if fresh else "")

    planner: Planner = ScriptedPlanner(answer)
    report = audit.settle(planner=planner)

    assert report.status == "stopped"
    assert report.code in {"REPLAN_EXHAUSTED", "REPLAN_UNCHANGED"}
    assert report.cause == "INPUT_UNREAD"
    assert len(planner.asked) <= 1 + 3
    assert not (audit.home / "reports").exists()


def test_a_plan_may_expect_how_many_lockfiles_there_are(audit: LocalPlace) -> None:
    """Then the second one is met before anything runs, and a plan with an eye on it is asked for at once."""

    def answer(_: PlanRequest, n: int) -> object:
        plan = whole(audit, read("root", FIRST), *([read("billing", SECOND)] if n > 1 else []))
        expected = {"about": "lockfiles", "measure": "files", "op": "==", "value": n}
        return type(plan).model_validate(plan.model_dump(mode="json") | {"expects": [expected]})

    planner = ScriptedPlanner(answer)
    report = audit.settle(planner=planner)

    assert (report.status, report.revision) == ("succeeded", 1)
    repair = planner.asked[1].repair
    assert repair is not None
    assert [finding["code"] for finding in repair.findings] == ["EXPECTATION_FAILED"]
