"""`planexec doctor`: what the first run of a task needs is missed here, and not by the run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from assets.council_spend.binding import COUNCIL_SPEND
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from assets.stage import environment, settings_of
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import PinnedPlanner, PlannedTask, RecordedPlanner
from dagster_planexec.cli.examined.examined import Examined
from dagster_planexec.cli.examined.task import examined_task
from dagster_planexec.cli.main import main
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.request import PlanRequest
from tests.support.approving import with_keys
from tests.support.planexec import PROJECT, planexec

TASK = "vendor_reconciliation"
PLANS = PROJECT / "assets" / TASK / "plans"


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoWorld]:
    """A seeded world in which nothing has run."""
    with LocalS3() as s3:
        made = DemoWorld(tmp_path_factory.mktemp("doctor") / "home", s3.endpoint)
        made.seed()
        with environment(settings_of(made, None)):
            yield made


def examined(planned: PlannedTask = VENDOR_RECONCILIATION) -> dict[str, Examined]:
    """What was looked at, by its name behind the task's."""
    return {line.what.partition(": ")[2]: line for line in examined_task(planned.name, planned)}


def test_all_of_a_seeded_world_is_ok(seeded: DemoWorld) -> None:
    """Each line says what it saw; nothing was made or run by looking."""
    before = sorted(seeded.home.rglob("*"))
    found = examined()

    assert {name for name, line in found.items() if line.status != "ok"} == {"approvals"}  # nobody has a key yet
    assert " ".join(found) == "binding resources drop warehouse sql effects approvals folders planner"
    assert found["sql"].seen.startswith("1 .sql file in ")
    assert "ledger.charges" in found["warehouse"].seen
    assert "breaks no rule" in found["planner"].seen
    assert sorted(seeded.home.rglob("*")) == before


def test_who_could_release_a_hold_is_said(seeded: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key of everybody it is a warning that names whose; a key file that others may read is refused."""
    lacks = examined()["approvals"]
    with with_keys("ada", "grace"):
        whole = examined()["approvals"]
    readable = seeded.home / "readable.keys"
    readable.write_text(f"ada {'k' * 64}\n", encoding="utf-8")
    readable.chmod(0o644)
    monkeypatch.setenv("PLANEXEC_APPROVAL_KEYS", str(readable))
    open_to_others = examined()["approvals"]
    readable.unlink()

    assert (lacks.status, whole.status, open_to_others.status) == ("warning", "ok", "missing")
    assert "no key of ada, grace" in lacks.seen
    assert "planexec keys new ada" in str(lacks.hint)
    assert "FORBIDDEN" in open_to_others.seen


@dataclass(frozen=True)
class Lack:
    """Something a run would miss, and the line in which it is missed."""

    name: str
    act: Callable[[DemoWorld], None]
    what: str
    says: str
    hint: str


def _sql(text: str) -> Callable[[DemoWorld], None]:
    def act(world: DemoWorld) -> None:
        (world.roots.sql / "more.sql").write_text(text, encoding="utf-8")

    return act


def _no_sql(world: DemoWorld) -> None:
    for path in world.roots.sql.glob("*.sql"):
        path.unlink()


def _no_root(world: DemoWorld) -> None:
    _no_sql(world)
    world.roots.sql.rmdir()


def _no_table(world: DemoWorld) -> None:
    with duckdb.connect(str(world.warehouse)) as warehouse:
        warehouse.execute("drop table ledger.charges")


LACKS = [
    Lack("no SQL file", _no_sql, "sql", "holds no .sql file, and run_sql is among", "copy the task's queries"),
    Lack("no SQL folder", _no_root, "sql", "is not a folder", "copy the task's queries"),
    Lack("two statements", _sql("select 1; select 2"), "sql", "more.sql: expected one statement, saw 2", "one SELECT"),
    Lack("no SQL", _sql("selec"), "sql", "more.sql: ", "one SELECT"),
    Lack("no query", _sql("drop table x"), "sql", "more.sql: expected a SELECT, saw DROP", "one SELECT"),
    Lack("no input table", _no_table, "warehouse", "TABLE_GONE: warehouse has no table ledger.charges", "seed"),
    Lack("no warehouse", lambda w: w.warehouse.unlink(), "warehouse", "has no table ledger.charges", "seed"),
]


@pytest.mark.parametrize("lack", LACKS, ids=lambda lack: lack.name)
def test_what_a_run_would_miss_is_missing(tmp_path: Path, seeded: DemoWorld, lack: Lack) -> None:
    """Its line says what and what to do; exit code 1, and a line of another thing stays as it was."""
    world = DemoWorld(tmp_path / "home", seeded.endpoint)
    world.seed()
    with environment(settings_of(world, None)):
        lack.act(world)
        found = examined()
        answer = planexec("doctor", "--home", world.home)

    assert (found[lack.what].status, found["drop"].status) == ("missing", "ok")
    assert lack.says in found[lack.what].seen
    assert lack.hint in found[lack.what].hint
    assert (answer.exit_code, answer.document["well"]) == (1, False)


def _drop(**changes: Any) -> PlannedTask:
    task = VENDOR_RECONCILIATION.binding.task
    binding = VENDOR_RECONCILIATION.binding
    return replace(
        VENDOR_RECONCILIATION, binding=replace(binding, task=replace(task, drop=replace(task.drop, **changes)))
    )


def test_a_drop_of_no_period_is_a_warning(seeded: DemoWorld) -> None:
    """The listing answers, and no key matches: how many there are, one of them, and the pattern."""
    count = len(seeded.s3.list_objects_v2(Bucket=seeded.bucket)["Contents"])
    found = examined(_drop(pattern=r"{period}_invoice.*\.csv"))["drop"]

    assert (found.status, found.well) == ("warning", True)
    assert f"{count} objects, 0 of a period of the task" in found.seen
    assert "2026-" in found.hint
    assert "{period}_invoice" in found.hint


def test_an_empty_drop_is_a_warning(seeded: DemoWorld) -> None:
    """Nothing was delivered yet: a run would wait or be refused, but nothing is broken."""
    found = examined(_drop(prefix="elsewhere/"))["drop"]

    assert (found.status, "0 objects" in found.seen) == ("warning", True)
    assert "elsewhere/{period}" in found.hint


def _with(planner: Planner) -> PlannedTask:
    return replace(VENDOR_RECONCILIATION, planner=lambda: planner)


def _recording(path: Path, **changes: Any) -> Path:
    recorded = json.loads((PLANS / "recorded_export_csv.json").read_text(encoding="utf-8"))
    path.write_text(json.dumps(recorded | changes), encoding="utf-8")
    return path


def _answer(**changes: Any) -> Mapping[str, Any]:
    recorded = json.loads((PLANS / "recorded_export_csv.json").read_text(encoding="utf-8"))
    return recorded["answer"] | changes


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task": "council_spend"}, "was recorded for task 'council_spend'"),
        ({"contract_version": "vendor_invoice@0"}, "with contracts 'vendor_invoice@0'"),
        ({"answer": {"steps": []}}, "PLAN_REJECTED"),
        ({"answer": _answer(steps=[{"id": "a", "tool": "nope", "args": {}}])}, "unknown-tool a tool"),
    ],
    ids=["another task", "another contract", "no plan", "an unknown tool"],
)
def test_a_recording_that_could_not_be_run_is_missing(
    tmp_path: Path,
    seeded: DemoWorld,
    changes: dict[str, Any],
    says: str,
) -> None:
    """Read and checked as a run would, for the first period; nothing is run."""
    found = examined(_with(RecordedPlanner(_recording(tmp_path / "recorded.json", **changes))))["planner"]

    assert found.status == "missing"
    assert says in found.seen


@pytest.mark.parametrize("kind", [RecordedPlanner, PinnedPlanner])
def test_a_plan_file_that_is_not_there_is_missing(tmp_path: Path, seeded: DemoWorld, kind: Any) -> None:
    """Its name is said."""
    found = examined(_with(kind(tmp_path / "none.json")))["planner"]

    assert (found.status, "none.json" in found.seen) == ("missing", True)


def test_a_pinned_plan_is_examined_too(tmp_path: Path, seeded: DemoWorld) -> None:
    """One of this task breaks no rule; one of another does."""
    path = tmp_path / "pinned.json"
    path.write_text(json.dumps(_answer()), encoding="utf-8")
    assert examined(_with(PinnedPlanner(path)))["planner"].status == "ok"

    path.write_text(json.dumps(_answer(task="council_spend")), encoding="utf-8")
    found = examined(_with(PinnedPlanner(path)))["planner"]
    assert (found.status, "council_spend" in found.seen) == ("missing", True)


class CostlyPlanner(Planner):
    """One that would call a model."""

    name = "costly"

    def propose(self, request: PlanRequest) -> Proposal:
        """Never from here."""
        raise AssertionError


def test_a_planner_that_calls_a_model_is_not_called(seeded: DemoWorld) -> None:
    """It does not say what it would propose, and it is not asked."""
    found = examined(_with(CostlyPlanner()))["planner"]

    assert (found.status, found.seen) == ("ok", "costly; what it proposes is known when it is asked")


def test_a_ref_that_leads_to_another_task_is_missing(seeded: DemoWorld) -> None:
    """A copied binding with the ref of the first: its workers would run the other one."""
    binding = replace(VENDOR_RECONCILIATION.binding, ref=COUNCIL_SPEND.binding.ref)
    found = examined(replace(VENDOR_RECONCILIATION, binding=binding))["binding"]

    assert (found.status, "leads to task 'council_spend'" in found.seen) == ("missing", True)


@pytest.mark.parametrize("ref", ["assets.nowhere:X", "assets.council_spend.binding:NOBODY"])
def test_a_ref_that_leads_nowhere_is_missing(seeded: DemoWorld, ref: str) -> None:
    """A worker would not find the task."""
    binding = replace(VENDOR_RECONCILIATION.binding, ref=ref)
    found = examined(replace(VENDOR_RECONCILIATION, binding=binding))["binding"]

    assert (found.status, found.seen.startswith("BAD_CONTRACT: ")) == ("missing", True)


def test_another_binding_of_the_same_task_is_a_warning(seeded: DemoWorld) -> None:
    """It would run the same task, with parts of its own."""
    binding = replace(VENDOR_RECONCILIATION.binding, journal="other")

    assert examined(replace(VENDOR_RECONCILIATION, binding=binding))["binding"].status == "warning"


def test_people_read_a_word_for_each_thing(seeded: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """ok, warning or missing, the hint below what is missing, exit 1; the same in JSON."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    result = CliRunner().invoke(main, ["--project", str(PROJECT), "doctor", "--home", str(seeded.home)])
    lines = result.stdout.splitlines()
    document = planexec("doctor", "--home", seeded.home).document

    at = next(n for n, line in enumerate(lines) if line.startswith(f"missing {TASK}: drop: UNAVAILABLE: "))
    assert result.exit_code == 1
    assert lines[at + 1].strip().startswith("hint: ")
    assert f"ok      {TASK}: binding: " in result.stdout
    assert {e["status"] for e in document["examined"]} == {"ok", "warning", "missing"}
    assert all(e["well"] == (e["status"] != "missing") for e in document["examined"])
