"""The same call made otherwise: with arguments respelt, or by the fallback that the contract names."""

from __future__ import annotations

from typing import Any

import pytest

from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.contract.tool import Model, TableName
from dagster_planexec.recovery.decision import Retry, Stop
from tests.support.bench import BenchMaker, CopyArgs, TableResult, TableTool
from tests.support.scripted import BUSY, Scripted, decided, plan_of, removed, step, with_tools

# -- retry-corrected -------------------------------------------------------------------------------------------------


class LooseResult(Model):
    """A table, written with blanks around it."""

    table: TableName


class Loose(Scripted):
    """Reports its table with blanks around the name, as a service may."""

    def call(self, args: Any, call: Any) -> Any:
        """Make the table; say its name loosely."""
        outcome = super().call(args, call)
        return Done(LooseResult(table=f" {args.target}\n")) if isinstance(outcome, Done) else outcome

    def seal(self, args: Any, result: Any, call: Any) -> Any:
        """By its real name."""
        return super().seal(args, TableResult(table=args.target), call)


class StrictArgs(CopyArgs):
    """Takes no null."""

    label: str = "none"


def refuse_blanks(args: Any, call: Any) -> Any:
    """As a warehouse refuses a name with blanks."""
    return Failed("VALIDATION_ERROR", f"{args.source!r} is no table") if args.source != args.source.strip() else None


@pytest.mark.parametrize("more", [{}, {"label": None}], ids=["blanks", "blanks and null"])
def test_an_argument_that_only_needs_respelling_is_corrected_once(bench: BenchMaker, more) -> None:
    """What came in by a reference with blanks around it is a table's name without them; the plan is not touched."""
    b = bench()
    b = with_tools(b, Loose("make", b.calls), Scripted("copy", b.calls, [refuse_blanks] * 5, args=StrictArgs))
    copy = {"id": "b", "tool": "copy", "args": {"source": {"ref": "a.table"}, "target": "staging.b", **more}}
    made, copied = b.go(plan_of(step("a", "make"), copy))

    assert (made.state, copied.state, copied.code) == ("done", "done", None)
    assert [e.payload["decision"] for e in decided(b, "b")] == ["retry-corrected", "proceed"]
    assert b.work.journal.events(b.attempt, kinds=["calling"], step="b")[-1].payload["args"]["source"] == "staging.a"
    assert b.sql("select count(*) from staging.b") == [(3,)]


@pytest.mark.parametrize(
    ("effect", "acts", "codes"),
    [
        ("write", [Failed("VALIDATION_ERROR", "no")] * 5, ["VALIDATION_ERROR"]),
        ("irreversible", [Failed("VALIDATION_ERROR", "no")] * 5, ["VALIDATION_ERROR"]),
    ],
    ids=["still refused", "money"],
)
def test_what_no_respelling_helps_stops(bench: BenchMaker, effect, acts, codes) -> None:
    """One correction at most, and none of what cannot be undone."""
    b = bench()
    b = with_tools(b, Loose("make", b.calls), Scripted("copy", b.calls, acts, args=StrictArgs, effect=effect))
    copy = {"id": "b", "tool": "copy", "args": {"source": {"ref": "a.table"}, "target": "staging.b"}}
    _, copied = b.go(plan_of(step("a", "make"), copy))

    assert (copied.state, copied.code) == ("failed", "VALIDATION_ERROR")
    assert b.calls.count("b by copy") == (2 if effect == "write" else 1)


# -- use-fallback ----------------------------------------------------------------------------------------------------


class NarrowArgs(Model):
    """Takes no rows."""

    target: TableName


def test_the_named_fallback_makes_the_same_call_and_is_judged_as_the_step(bench: BenchMaker) -> None:
    """When the tries are used up: same arguments, the step's own postconditions, and the journal says who called."""
    b = bench()
    b = with_tools(
        b, Scripted("make", b.calls, [BUSY] * 9, max_tries=2, fallback="other", post=("has_three_rows",)),
        Scripted("other", b.calls), TableTool("copy", b.calls, args=CopyArgs),
    )  # fmt: skip
    copy = {"id": "b", "tool": "copy", "args": {"source": {"ref": "a.table"}, "target": "staging.b"}}
    plan = plan_of(step("a", "make"), copy)
    first, second = b.go(plan)[0], b.go(plan)
    calling = [e.payload for e in b.work.journal.events(b.attempt, kinds=["calling"], step="a")]

    assert isinstance(first.decision, Retry)
    assert [r.state for r in second] == ["done", "done"]
    assert b.calls == ["a by make", "a by make", "a by other", "b"]
    assert calling[-1] == {"tool": "other", "instead_of": "make", "args": {"target": "staging.a", "rows": 3}}
    assert [v.check for v in second[0].verdicts] == ["has_three_rows"]
    assert second[0].tool == "make"
    assert [r.state for r in b.go(plan, "again")] == ["reused", "reused"]


@pytest.mark.parametrize(
    ("fallback", "code", "calls"),
    [
        ({"acts": [Failed("UNAVAILABLE", "too")] * 9}, "UNAVAILABLE", 2),
        ({"acts": [Failed("FORBIDDEN", "no")]}, "FORBIDDEN", 2),
        ({"args": NarrowArgs}, "VALIDATION_ERROR", 1),
        ({"pre": ("raises",)}, "INTERNAL", 1),
    ],
    ids=["fails alike", "fails otherwise", "takes other arguments", "has a precondition that is shut"],
)
def test_a_fallback_has_one_go(bench: BenchMaker, fallback, code, calls) -> None:
    """Whatever comes of it, there is no third who is asked."""
    b = bench()
    given = {"calls": b.calls, **fallback}
    b = with_tools(b, Scripted("make", b.calls, [BUSY] * 9, max_tries=1, fallback="other"),
                   Scripted("other", given.pop("calls"), **given))  # fmt: skip
    (report,) = b.go(plan_of(step("a", "make")))

    assert (report.state, report.code, len(b.calls)) == ("failed", code, calls)
    assert [e.payload["decision"] for e in decided(b)] == ["use-fallback", "stop"]


def test_a_fallback_whose_result_is_wrong_is_not_believed(bench: BenchMaker) -> None:
    """The step's own checks judge it."""
    b = bench()

    def two_rows(args: Any, call: Any) -> Any:
        with call.ports.warehouse.session() as session:
            session.execute(f"create or replace table {args.target} as select 1 as i union all select 2")
        return Done(TableResult(table=args.target))

    b = with_tools(b, Scripted("make", b.calls, [BUSY], max_tries=1, fallback="other", post=("has_three_rows",)),
                   Scripted("other", b.calls, [two_rows]))  # fmt: skip
    (report,) = b.go(plan_of(step("a", "make")))

    assert (report.state, report.code) == ("failed", "ROWCOUNT_MISMATCH")


def test_a_fallback_that_the_task_does_not_allow_is_not_used(bench: BenchMaker) -> None:
    """A contract may name what this task has not got."""
    b = bench()
    b = with_tools(b, Scripted("make", b.calls, [BUSY], max_tries=1, fallback="elsewhere"))
    (report,) = b.go(plan_of(step("a", "make")))

    assert isinstance(report.decision, Stop)
    assert removed(decided(b)[0])["use-fallback"] == "a_fallback_is_used_once"
