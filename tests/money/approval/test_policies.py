"""When a person is asked although no limit is passed, and that nothing to do asks nobody."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from dagster_planexec.planner.planner import Proposal
from tests.support.approvals import Office, asking_task, policy
from tests.support.months import Counted

NO_LIMIT = {"credit_cap": Decimal(10**9), "credit_lines_threshold": 10**6}


def test_always_asks_however_little_it_is(office: Office) -> None:
    """Nothing exceeds a limit; still nobody is credited before a person has looked, and each once after that."""
    office.world.task = asking_task(approval=policy(always=True), **NO_LIMIT)
    held = office.held()

    assert held.code == "APPROVAL_REQUIRED"
    assert office.world.credits() == ()
    office.decide(held.id, "grace")
    assert office.go_on(held.id).status == "succeeded"
    assert len(office.world.credits()) == held.bound["preview"]["count"]
    assert office.settle().status == "succeeded"
    assert [hold.state for hold in office.holds()] == ["used"]


def test_nothing_to_credit_asks_nobody(office: Office) -> None:
    """The healthy extreme: both sides agree, so there is nothing to look at."""
    month = "charged_on >= date '2026-02-01' and charged_on < date '2026-03-01'"
    path = office.demo.home / "vendor.csv"
    path.write_bytes(office.demo.read(office.demo.export_key))
    office.sql(f"delete from ledger.charges where {month}")
    office.sql(
        'insert into ledger.charges select "Charge Ref", "Account", cast("Service Date" as date), '
        '"Line Description", cast("Net Amount" as decimal(18,2)), \'USD\' '
        f"from read_csv('{path}', all_varchar = true)"
    )
    office.world.task = asking_task(approval=policy(always=True, plan_review="on-change"))
    report = office.settle()

    assert (report.status, report.code) == ("succeeded", None), report.text
    assert (office.holds(), office.world.credits()) == ((), ())


class Otherwise(Counted):
    """The recorded planner, that writes one report more than last time."""

    def propose(self, request) -> Proposal:
        answer = super().propose(request)
        assert answer.plan is not None
        steps = list(answer.plan.steps)
        report = next(step for step in steps if step.tool == "write_report")
        more = report.model_copy(update={"id": "second_report", "args": {**report.args, "name": "2026-02-again"}})
        steps.insert(steps.index(report) + 1, more)
        pays = steps[-1]
        steps[-1] = pays.model_copy(update={"depends_on": (*pays.depends_on, more.id)})
        return replace(answer, plan=answer.plan.model_copy(update={"steps": tuple(steps)}))


def test_a_plan_is_reviewed_when_it_changed_and_not_again(office: Office) -> None:
    """The first month's plan is new to everybody; the second month's is the same; another one asks, and says how."""
    office.world.task = asking_task(approval=policy(plan_review="on-change"), **NO_LIMIT)
    office.world.period = "2026-01"
    first = office.held()
    assert first.code == "APPROVAL_REQUIRED"
    assert "no earlier period" in first.shown["reason"]
    office.decide(first.id, "ada")
    assert office.go_on(first.id).status == "succeeded"
    office.world.period = "2026-02"
    office.world.planner = Otherwise()
    other = office.held()
    assert "not that of 2026-01" in other.shown["reason"]
    assert "second_report" in other.shown["reason"]
    assert any("second_report" in edit for edit in other.shown["compared"]["edits"])
    office.world.planner = Counted()
    with_the_same = office.settle(replan=True)

    assert with_the_same.status == "succeeded", with_the_same.text
    assert {hold.period: hold.state for hold in office.holds()} == {"2026-01": "used", "2026-02": "superseded"}
