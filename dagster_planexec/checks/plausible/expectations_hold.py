"""A table is what its deliverable's expectation suite states, row by row and as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import target_of
from dagster_planexec.checks.reconcile.both_sides_contribute import both_sides_contribute
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.task import Deliverable
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.expectations.suite import read_suite
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probes.table.contents.expectations import ExpectationsOfTable
from dagster_planexec.world.probes.table.tables import CountTable

NAME = "expectations_hold"
CODE = "SUITE_FAILED"
FOLDER = "expectations"
"""Below the report root: where the pages are."""
_NAMED = 5


def expectations_hold(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The suite of every deliverable that the step's tool makes a table of.

    An empty table is a question of its own: of no row, anything holds. It passes where the deliverable may be empty,
    and, if it is a result, both sides contribute to it.
    """
    made = [deliverable for deliverable in made_by(scope) if deliverable.suite is not None]
    if not made:
        reason = f"no deliverable that {scope.contract.name} makes has a suite"
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("deliverables.suite")),)
    return tuple(check for deliverable in made for check in _bound(scope, phase, deliverable))


def made_by(scope: StepScope) -> tuple[Deliverable, ...]:
    """The deliverables whose table this step writes: known from the task, whatever the tool is called."""
    task, tool = scope.task, scope.contract.name
    return tuple(
        made
        for made in task.deliverables
        if tool in made.tools
        # What is loaded is the delivery, and no other input.
        and not (hasattr(scope.args, "sources") and task.drop is not None and made.input not in {None, task.drop.input})
        # A tool beside the one that makes a result only prepares it, e.g. by a snapshot of a side.
        and (made.result is None or {"both_sides_contribute", "closing_identities_hold"} & _judged_after(scope))
    )


def _judged_after(scope: StepScope) -> set[str]:
    return {*scope.contract.postconditions, *scope.task.required_claims.get(scope.contract.name, ())}


def _bound(scope: StepScope, phase: Phase, made: Deliverable) -> Iterator[BoundCheck]:
    assert made.suite is not None  # noqa: S101 - asked above
    table = target_of(scope)
    # Without an admitted digest the probe finds none equal, so the gate stays shut.
    sha256 = scope.admission.suites.get(made.name, "not admitted")
    page = (FOLDER, scope.task.name, scope.period.text, f"{made.name}.html")
    stated = Stated(_in_words(made), scope.stated_by_task(f"suite of {made.name}, SHA-256 {sha256[:12]}"))
    probe = ExpectationsOfTable(table, made.suite, sha256, page)
    yield Check(NAME, phase, probe, stated, _judge(made), absent_code="TABLE_GONE")
    if made.may_be_empty and made.result is not None:
        for sides in both_sides_contribute(scope, phase):
            if isinstance(sides, Check):
                yield Check(NAME, phase, CountTable(table), sides.observes, _empty(sides), absent_code="TABLE_GONE")


def _in_words(made: Deliverable) -> Fact:
    assert made.suite is not None  # noqa: S101 - as above
    # As the file is now; the probe reads it again and holds it against what was admitted.
    stated = tuple(str(one) for one in read_suite(made.suite).expectations)
    return (*stated, "may have no row" if made.may_be_empty else "at least one row")


def _judge(made: Deliverable) -> Judge:
    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        expected = against.value if isinstance(against, Stated) else None
        results: Any = seen["results"]
        rows, stated = int(str(seen["rows"])), int(str(seen["stated"]))
        observed: Fact = {"rows": rows, "results": results, "page": seen["page"]}

        def found(status: Any, text: str, code: str | None = CODE) -> Finding:  # noqa: ANN401 - a status
            return Finding(status, expected, observed, f"{text}{_page(seen)}", code)

        raised = [one for one in results if one["raised"]]
        if raised:
            text = "; ".join(f"{one['expectation']} raised {one['raised']!r}" for one in raised[:_NAMED])
            return found("errored", f"{len(raised)} of {stated} expectations could not be evaluated: {text}")
        if len(results) != stated or not stated:
            return found("not-evaluated", f"{len(results)} of {stated} expectations were answered")
        broken = [one for one in results if not one["success"]]
        if broken:
            text = "; ".join(_told(one) for one in broken[:_NAMED])
            more = f"; and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
            return found("failed", f"{len(broken)} of {stated} expectations do not hold of {rows} rows: {text}{more}")
        if rows == 0 and not made.may_be_empty:
            return found("failed", f"the table has no row, so whatever is expected of each holds; {made.name} must have"
                         " rows, for it does not say `may_be_empty`")  # fmt: skip
        return found("passed", f"{stated} of {stated} expectations hold of {rows} rows", None)

    return judge


def _told(one: Mapping[str, Any]) -> str:
    examples = ", ".join(repr(value) for value in one["examples"])
    return f"{one['expectation']}: {one['observed']}" + (f", e.g. {examples}" if examples else "")


def _page(seen: Observation) -> str:
    return f" ({seen['page']})" if seen["page"] else ""


def _empty(sides: Check) -> Judge:
    """No row is a result only if both sides contribute: else nothing was compared."""

    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        rows = seen["rows"]
        if rows:
            return Finding("passed", "both sides contribute, or rows", rows, f"{rows} rows")
        assert isinstance(against, Observation)  # noqa: S101 - bound above
        if against.state != "seen":
            return Finding("failed", "both sides contribute", "no row", "no row, and the sides are not there", CODE)
        said = sides.judge(against, sides.against if isinstance(sides.against, Stated) else against)
        if said.status != "passed":
            return Finding(said.status, "both sides contribute", "no row", f"no row, and {said.text}", said.code)
        return Finding("passed", "both sides contribute", "no row", f"no row, and {said.text}")

    return judge
