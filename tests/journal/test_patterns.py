"""How a task has failed before: counted once per run and step, with what helped, in words that name no id of a plan."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from dagster_planexec.contract.codes import CODES
from dagster_planexec.journal.journal import Attempt, Journal, NewEvent
from dagster_planexec.journal.lasting.proposed_rules import proposal_for, proposed_rules
from dagster_planexec.journal.patterns import note_failures, note_resolution, patterns_for, plan_shape
from dagster_planexec.journal.store import tables as t
from dagster_planexec.plan.model import Plan


def plan_of(*steps: tuple[str, str, list[str]], intent: str = "") -> Plan:
    """A plan of (id, tool, needs)."""
    made = [{"id": i, "tool": tool, "args": {}, "depends_on": needs} for i, tool, needs in steps]
    return Plan.model_validate({"task": "t", "period": "2026-03", "intent": intent, "steps": made}, strict=False)


PLAN = plan_of(("fetch", "s3.get", []), ("load", "warehouse.load", ["fetch"]))


def ended(step: str, tool: str, code: str | None, *, state: str = "failed", check: str | None = None) -> NewEvent:
    """The end of a step, as the runner journals it."""
    shut = [{"check": "passed_before", "status": "passed", "code": None}]
    shut += [{"check": check, "status": "failed", "code": code}] if check else []
    said = {"tool": tool, "state": state, "code": code, "verdicts": shut}
    return NewEvent("step-ended", step, said)


def attempt_of(journal: Journal, period: str = "2026-03", inputs: str = "i", **more: Any) -> Attempt:
    """An attempt that has the plan."""
    given_: dict[str, Any] = {"version": "1", "admission": {"objects": _objects(inputs)}, **more}
    opened, _ = journal.open_attempt(task="t", period=period, inputs_digest=inputs, **given_)
    return adopt(journal, opened, PLAN)


def adopt(journal: Journal, attempt: Attempt, plan: Plan) -> Attempt:
    """The attempt with another plan."""
    journal.adopt_plan(attempt.id, journal.save_plan(plan), {})
    return journal.attempt(attempt.id)


def _objects(inputs: str) -> list[dict[str, str]]:
    return [{"bucket": "b", "key": "k", "sha256": inputs}]


def fail(journal: Journal, attempt: Attempt, run: str, code: str = "OBJECT_GONE", **more: Any) -> int:
    """A run that fails at its first step."""
    journal.append(attempt.id, run, [ended("fetch", "s3.get", code, check="object_exists", **more)])
    journal.append(attempt.id, run, [ended("load", "warehouse.load", None, state="not-run")])
    return note_failures(journal, attempt.id, run, PLAN)


def test_a_failed_step_is_a_pattern(journal: Journal) -> None:
    """Task, tool, code, the check that shut, the plan's shape, when; a step that did not run is no failure."""
    attempt = attempt_of(journal)
    assert fail(journal, attempt, "r1") == 1

    (pattern,) = patterns_for(journal, "t")

    named = (pattern.task, pattern.tool, pattern.code, pattern.check, pattern.shape, pattern.count)
    assert named == ("t", "s3.get", "OBJECT_GONE", "object_exists", plan_shape(PLAN), 1)
    assert pattern.first_seen == pattern.last_seen == journal.events(attempt.id, kinds=["step-ended"])[0].at
    assert pattern.resolved_by is None
    assert patterns_for(journal, "other") == ()


def test_a_call_that_failed_has_no_check(journal: Journal) -> None:
    """No check shut with its code."""
    attempt = attempt_of(journal)
    journal.append(attempt.id, "r", [ended("fetch", "s3.get", "TIMEOUT")])
    note_failures(journal, attempt.id, "r", PLAN)

    assert [(p.code, p.check) for p in patterns_for(journal, "t")] == [("TIMEOUT", None)]


def test_a_surprise_and_a_hold_are_learnt_from_and_a_success_is_not(journal: Journal) -> None:
    """A step that is done can have a code: what it showed spoke against the rest of the plan."""
    attempt = attempt_of(journal)
    journal.append(attempt.id, "r", [
        ended("a", "s3.get", "DROP_INCOMPLETE", state="done", check="drop_is_complete"),
        ended("b", "issue_credit", "CAP_EXCEEDED", state="held", check="within_cap"),
        ended("c", "run_sql", None, state="done"),
    ])  # fmt: skip
    note_failures(journal, attempt.id, "r", PLAN)

    assert {p.code for p in patterns_for(journal, "t")} == {"DROP_INCOMPLETE", "CAP_EXCEEDED"}


def test_a_run_that_is_looked_at_twice_counts_once(journal: Journal) -> None:
    """Two runs are two."""
    attempt = attempt_of(journal)
    assert [fail(journal, attempt, "r1"), note_failures(journal, attempt.id, "r1", PLAN)] == [1, 0]
    fail(journal, attempt, "r2")

    assert [p.count for p in patterns_for(journal, "t")] == [2]
    with journal.reader.connect() as db:
        assert db.scalar(sa.select(sa.func.count()).select_from(t.runs_noted)) == 2


def test_what_is_frequent_comes_first_then_what_is_recent(journal: Journal) -> None:
    """And no more than were asked for."""
    attempt = attempt_of(journal)
    for run, code in [("1", "TIMEOUT"), ("2", "BAD_DATE"), ("3", "TIMEOUT"), ("4", "OBJECT_GONE")]:
        fail(journal, attempt, run, code)

    assert [p.code for p in patterns_for(journal, "t")] == ["TIMEOUT", "OBJECT_GONE", "BAD_DATE"]
    assert [p.code for p in patterns_for(journal, "t", limit=2)] == ["TIMEOUT", "OBJECT_GONE"]


def settle(journal: Journal, attempt: Attempt, run: str = "good") -> str | None:
    """A run that settles."""
    note_failures(journal, attempt.id, run, PLAN)
    journal.close_run(attempt.id, run, "settled", None)
    return note_resolution(journal, attempt.id, run)


@pytest.mark.parametrize(
    ("later", "remedy"),
    [
        ({"inputs": "j"}, "new inputs"),
        ({"version": "2"}, "task version"),
        ({"inputs": "j", "version": "2"}, "new inputs and task version"),
        ({"inputs": "j", "admission": {"objects": _objects("i"), "sql_sha256": {"q": "x"}}}, "new SQL"),
        ({"inputs": "j", "admission": {"objects": _objects("i")}}, "other contracts or planner"),
        ({"anew": True}, "the same plan again"),
    ],
    ids=["inputs", "version", "both", "sql", "contracts", "replanned the same"],
)
def test_what_a_later_attempt_did_differently(journal: Journal, later: dict[str, Any], remedy: str) -> None:
    """Read from both attempts' admission records, versions and plans."""
    fail(journal, attempt_of(journal), "r1")

    assert settle(journal, attempt_of(journal, **later)) == remedy
    assert [p.resolved_by for p in patterns_for(journal, "t")] == [remedy]


def test_another_plan_of_a_later_attempt(journal: Journal) -> None:
    """The inputs are the same."""
    fail(journal, attempt_of(journal), "r1")
    later = adopt(journal, attempt_of(journal, anew=True), plan_of(("a", "run_sql", [])))

    assert settle(journal, later) == "another plan"


def test_what_a_later_run_of_the_same_attempt_did_differently(journal: Journal) -> None:
    """Nothing, or a person released it, or another revision of the plan did it."""
    attempt = attempt_of(journal)
    fail(journal, attempt, "r1")
    assert settle(journal, attempt, "r2") == "the same plan again"

    fail(journal, attempt, "r3", "CAP_EXCEEDED", state="held")
    assert settle(journal, attempt, "r4") == "released by a person"

    fail(journal, attempt, "r5", "DROP_INCOMPLETE")
    revised = adopt(journal, attempt, plan_of(("a", "s3.get", []), ("b", "s3.get", [])))
    assert settle(journal, revised, "r6") == "revision 2"
    assert settle(journal, revised, "r7") is None  # nothing is left to be resolved


def test_only_failures_of_the_same_period_are_resolved(journal: Journal) -> None:
    """April says nothing about March."""
    fail(journal, attempt_of(journal), "r1")

    assert settle(journal, attempt_of(journal, "2026-04")) is None
    assert [p.resolved_by for p in patterns_for(journal, "t")] == [None]


def test_a_failure_in_three_periods_is_proposed_as_a_rule_with_its_facts(journal: Journal) -> None:
    """Twice is chance; three times in one period is one bad month. It is told, and nothing is applied."""
    months = ["2026-01", "2026-02", "2026-03", "2026-04"]
    for month in months[:2]:
        fail(journal, attempt_of(journal, month), f"r{month}")
    for n in range(3):
        fail(journal, attempt_of(journal, "2026-05"), f"once{n}", "BAD_DATE")
    settle(journal, attempt_of(journal, "2026-06"))
    assert proposed_rules(journal, "t") == ()

    fail(journal, attempt_of(journal, months[2]), "r3")
    (rule,) = proposed_rules(journal, "t")

    assert (rule.code, rule.tool, rule.check, rule.count, rule.runs) == (
        "OBJECT_GONE", "s3.get", "object_exists", 3, 7,
    )  # fmt: skip
    assert rule.periods == ("2026-01", "2026-02", "2026-03")
    assert rule.text.startswith(
        "OBJECT_GONE at s3.get by object_exists in 3 of 7 runs (42 %), in periods 2026-01, 2026-02, 2026-03: "
    )
    assert "perishable-read-late" in rule.text


@pytest.mark.parametrize("code", [*CODES, "NEVER_HEARD_OF"])
def test_every_code_has_a_proposal(code: str) -> None:
    """Whatever fails often, something can be said about it."""
    assert len(proposal_for("run_sql", code)) > 20


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Plans of a few tools, with any dependence: circles, unknown needs, shared ids."""
    ids = draw(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=6))
    needs = st.lists(st.sampled_from("abcdefz"), max_size=3, unique=True)
    tools = st.sampled_from(["s3.get", "run_sql"])
    return plan_of(*((name, draw(tools), draw(needs)) for name in ids))


@given(plans(), st.randoms(use_true_random=False))
def test_the_shape_of_a_plan_knows_no_ids_and_no_order(plan: Plan, random: Any) -> None:
    """Renamed, shuffled and told in other words it is the same; and every plan has one."""
    shape = plan_shape(plan)
    ids = [step.id for step in plan.steps]
    if len(set(ids)) == len(ids):
        names = {name: f"renamed_{n}" for n, name in enumerate(random.sample(ids, len(ids)))}
        steps = [(names[s.id], s.tool, [names.get(need, need) for need in s.depends_on]) for s in plan.steps]
        random.shuffle(steps)
        assert plan_shape(plan_of(*steps, intent="other words")) == shape
    assert len(shape) == 12


@pytest.mark.parametrize(
    "other",
    [
        plan_of(("fetch", "s3.get", []), ("load", "warehouse.load", [])),
        plan_of(("fetch", "s3.get", []), ("load", "run_sql", ["fetch"])),
        plan_of(("fetch", "s3.get", []), ("f2", "s3.get", []), ("load", "warehouse.load", ["fetch"])),
        plan_of(("fetch", "s3.get", ["load"]), ("load", "warehouse.load", [])),
    ],
    ids=["no dependence", "another tool", "one step more", "the other way round"],
)
def test_another_structure_is_another_shape(other: Plan) -> None:
    """Tools and dependence are what is compared."""
    assert plan_shape(other) != plan_shape(PLAN)
