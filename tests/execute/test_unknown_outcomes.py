"""Calls of unknown outcome, and results that change under the checks: never taken for done, never paid twice."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.errors import PortError
from tests.support.bench import BenchMaker, TableResult
from tests.support.meddler import Meddler
from tests.support.scripted import Scripted, decided, plan_of, step, with_tools

# -- what cannot be undone -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "act",
    [
        PortError("TIMEOUT", "no answer"), PortError("UNAVAILABLE", "reset"), PortError("EFFECT_UNKNOWN", "?"),
        PortError("INTERNAL", "?"), RuntimeError("broke"), Failed("TIMEOUT", "late"), Failed("UNAVAILABLE", "reset"),
        Failed("EFFECT_UNKNOWN", "?"), lambda *_: 5,
    ],
    ids=["timeout", "reset", "unknown", "internal", "raises", "says late", "says reset", "says unknown", "no outcome"],
)  # fmt: skip
def test_an_irreversible_call_of_unknown_outcome_is_made_once_and_looked_up(bench: BenchMaker, act) -> None:
    """However often the run is tried: nothing calls it again in this run, and the reason says to look it up."""
    b = bench()
    b = with_tools(b, Scripted("pay", b.calls, [act], effect="irreversible", max_tries=9))
    plan = plan_of(step("a", "pay"))
    reports = [b.go(plan)[0] for _ in range(3)]

    assert b.calls == ["a by pay"]
    assert [r.state for r in reports] == ["failed", "not-run", "not-run"]
    assert "look it up" in reports[0].reason
    assert decided(b)[0].payload["rule"] == "stop_when_an_irreversible_outcome_is_unknown"


@pytest.mark.parametrize("code", ["AUTH_FAILED", "LOCKED", "VALIDATION_ERROR"])
def test_an_irreversible_call_that_was_refused_before_it_did_anything_is_not_called_unknown(
    bench: BenchMaker, code
) -> None:
    """It stops all the same, but nobody is sent to look for what never happened."""
    b = bench()
    b = with_tools(b, Scripted("pay", b.calls, [Failed(code, "no")], effect="irreversible"))
    (report,) = b.go(plan_of(step("a", "pay")))

    assert (report.state, b.calls) == ("failed", ["a by pay"])
    assert "look it up" not in report.reason
    assert decided(b)[0].payload["situation"]["call_may_have_happened"] is False


def test_a_call_that_acted_and_did_not_come_back_may_have_happened(bench: BenchMaker, monkeypatch) -> None:
    """It is given up after its deadline; what it did before stands, and a second call is never made."""
    from dagster_planexec.execute.step import call as calling

    monkeypatch.setattr(calling, "GRACE_S", 0.1)
    b = bench()
    over = threading.Event()
    late: list[str] = []

    def act_then_hang(args: Any, call: Any) -> Any:
        with call.ports.warehouse.session() as session:
            session.execute("create table staging.paid as select 1 as i")
        over.wait(10)
        try:
            call.require_wanted("a second payment")
            late.append("paid")
        except PortError as error:
            late.append(error.code)
        return Done(TableResult(table="staging.paid"))

    b = with_tools(b, Scripted("pay", b.calls, [act_then_hang], effect="irreversible", deadline_s=0.3))
    (report,) = b.go(plan_of(step("a", "pay")))
    over.set()
    for thread in threading.enumerate():
        if thread.name == "planexec-call":
            thread.join(10)

    assert (report.state, report.code) == ("failed", "EFFECT_UNKNOWN")
    assert "may have happened" in report.reason
    assert "TIMEOUT" in report.reason
    assert b.sql("select count(*) from staging.paid") == [(1,)]
    assert late == ["TIMEOUT"]
    assert [e.kind for e in b.work.journal.events(b.attempt, kinds=["step-done"])] == []


@pytest.mark.parametrize("effect", ["write", "irreversible"])
def test_a_result_that_changes_while_it_is_judged_is_not_handed_on(bench: BenchMaker, effect) -> None:
    """The seal is of what was judged: taken before and after the checks, and compared."""
    b = bench()

    def meddles(scope, phase):
        from dagster_planexec.checks.check import Check, Stated
        from dagster_planexec.checks.check import equal as same

        return (Check("meddles", phase, Meddler(scope.args.target), Stated(3, scope.stated_by_contract("three")),
                      lambda seen, _: same("ROWCOUNT_MISMATCH", 3, seen["rows"], what="rows")),)  # fmt: skip

    b = with_tools(b, Scripted("make", b.calls, effect=effect, post=("meddles",)),
                   checks={**b.work.checks, "meddles": meddles})  # fmt: skip
    (report,) = b.go(plan_of(step("a", "make")))

    assert (report.state, report.code) == ("failed", "EXPECTATION_FAILED")
    assert ("changed while it was judged" in report.reason) is True
    assert b.work.journal.events(b.attempt, kinds=["step-done"]) == ()
    assert decided(b)[0].payload["situation"]["call_may_have_happened"] is True


def test_a_postcondition_that_is_shut_says_that_the_call_happened(bench: BenchMaker) -> None:
    """It has: an irreversible step is then looked up, not tried again."""
    b = bench()
    b = with_tools(b, Scripted("pay", b.calls, effect="irreversible", post=("has_three_rows",)))
    (report,) = b.go(plan_of(step("a", "pay", rows=2)))

    assert (report.state, report.code) == ("failed", "ROWCOUNT_MISMATCH")
    assert decided(b)[0].payload["rule"] == "stop_when_an_irreversible_outcome_is_unknown"


def test_a_seal_that_cannot_be_had_is_no_result(bench: BenchMaker) -> None:
    """What was judged and then dropped is not done, and the call happened."""
    b = bench()

    def drops(scope, phase):
        from dagster_planexec.checks.check import Check, Stated
        from dagster_planexec.checks.check import equal as same

        probe = Meddler(scope.args.target, "drop table")
        return (Check("drops", phase, probe, Stated(3, scope.stated_by_contract("x")),
                      lambda seen, _: same("ROWCOUNT_MISMATCH", 3, seen["rows"], what="rows")),)  # fmt: skip

    b = with_tools(b, Scripted("make", b.calls, post=("drops",)), checks={**b.work.checks, "drops": drops})
    (report,) = b.go(plan_of(step("a", "make")))

    assert (report.state, report.code) == ("failed", "EXPECTATION_FAILED")
    assert decided(b)[0].payload["situation"]["call_may_have_happened"] is True
    assert b.work.journal.events(b.attempt, kinds=["step-done"]) == ()


@pytest.mark.parametrize("effect", ["write", "irreversible"])
def test_a_step_that_breaks_after_its_call_may_have_happened(bench: BenchMaker, effect) -> None:
    """Whoever seals or judges may raise; the call is made all the same."""

    class Unsealed(Scripted):
        def seal(self, args: Any, result: Any, call: Any) -> Any:
            raise RuntimeError("no seal")

    b = bench()
    b = with_tools(b, Unsealed("pay", b.calls, effect=effect))
    (report,) = b.go(plan_of(step("a", "pay")))

    assert (report.state, report.code, b.calls) == ("failed", "INTERNAL", ["a by pay"])
    assert decided(b)[0].payload["situation"]["call_may_have_happened"] is True
    assert ("look it up" in report.reason) == (effect == "irreversible")


def test_a_step_that_breaks_before_its_call_did_not_happen(bench: BenchMaker) -> None:
    """Nobody is sent to look for what was never begun."""

    def breaks(scope, phase):
        raise RuntimeError("the binder broke")

    b = bench()
    b = with_tools(b, Scripted("pay", b.calls, effect="irreversible", pre=("breaks",)),
                   checks={**b.work.checks, "breaks": breaks})  # fmt: skip
    (report,) = b.go(plan_of(step("a", "pay")))

    assert (report.state, report.code, b.calls) == ("failed", "INTERNAL", [])
    assert decided(b)[0].payload["situation"]["call_may_have_happened"] is False
    assert "look it up" not in report.reason
