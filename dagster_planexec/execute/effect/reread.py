"""What credits rest on, read again right before the money moves, from where it comes from.

No plan, no tool's contract and no catalogue of checks has a part in this: every name here is imported. Whatever a plan
leaves out and whatever a check was replaced by, an empty file, an empty side, or a result that does not close against
the raw sides issues nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dagster_planexec.checks.check import Check, Finding, Judge, Stated, equal
from dagster_planexec.checks.effect.bill_is_final import NAME as BILL
from dagster_planexec.checks.effect.bill_is_final import conditions_of, estimable, none_estimated
from dagster_planexec.checks.effect.bill_is_final import judge as judge_final
from dagster_planexec.checks.manifest.final import bill_is_final as final_by_manifest
from dagster_planexec.checks.reconcile.closing_identities_hold import figures_of, judge_with, lines_of
from dagster_planexec.contract.layout import live_view, min_matched_share_of, result_layout
from dagster_planexec.contract.task import ResultShape
from dagster_planexec.contract.verdict import Phase, Verdict
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.observer import observe
from dagster_planexec.execute.resolve import Resolved, scope_of
from dagster_planexec.execute.work import Run
from dagster_planexec.plan.model import Step
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract
from dagster_planexec.world.probes.delivery.figures.final import FinalInExtract
from dagster_planexec.world.probes.delivery.landed import HashLanded
from dagster_planexec.world.probes.result.raw_sides import RawSides
from dagster_planexec.world.probes.table.contents.final import FinalInTable
from dagster_planexec.world.subject import Subject

PHASE: Phase = "pre"


def reread(run: Run, step: Step, resolved: Resolved) -> list[Verdict]:
    """The verdicts of the gate on the evidence itself; none for a task that compares nothing.

    Raises:
        PlanexecError: BAD_CONTRACT if the task does not say where a side comes from, or how its result is closed.
    """
    if not run.work.task.sides:
        return []
    checks = [*_copies_are_admitted(run), *_sides_and_result(run, resolved), *_bills_are_final(run)]
    checks += _by_manifest(run, step, resolved)
    probes = [probe for check in checks for probe in check.probes]
    seen = observe(probes, run.work.ports)
    return [check.verdict(seen) for check in checks]


def _copies_are_admitted(run: Run) -> list[Check]:
    """Each landed copy is, byte for byte, the object that was admitted."""
    checks = []
    for admitted in run.admission.objects:
        stated = Stated(
            admitted.sha256, Source(Subject("admission", admitted.sha256[:12]), "SHA-256", run.admission.at)
        )

        def judge(seen: Observation, against: Observation | Stated) -> Finding:
            due = against.value if isinstance(against, Stated) else None
            return equal("OBJECT_CHANGED", due, seen["sha256"], what="SHA-256 of the landed copy, hashed again")

        probe = HashLanded(run.work.ports.roots.landed_path(admitted.sha256), admitted.sha256)
        checks.append(Check("landed_bytes_are_admitted", PHASE, probe, stated, judge, absent_code="EMPTY_EXTRACT"))
    return checks


def _sides_and_result(run: Run, resolved: Resolved) -> list[Check]:
    task, shape = run.work.task, run.work.task.result
    source = getattr(resolved.args, "source", None)
    if shape is None or not isinstance(source, str):
        raise PlanexecError(
            "BAD_CONTRACT",
            f"task {task.name!r} compares sides, and nothing says which result is closed before it pays",
            hint="give one deliverable a ResultShape, and the tool an argument `source` that names the result",
        )  # fmt: skip
    result_layout(task)  # BAD_CONTRACT if a side is not in the shape: its rows would close against nothing
    raw = raw_sides(run)
    figures = figures_of(source, shape)
    currencies = {side: task.contracts[task.input(side).contract].in_words for side in shape.only}
    share = min_matched_share_of(task)
    rows = Stated("more than none", Source(Subject("task", f"{task.name} v{task.version}"), "sides"))
    delivered: list[Check] = []
    if raw.delivered is not None:
        if task.contracts[task.input(raw.delivered).contract].allowed_rejects is not None:
            kept = _none_refused(shape, raw.delivered)
            delivered.append(Check("no_delivered_row_was_refused", PHASE, figures, raw, kept, absent_code="TABLE_GONE"))
        delivered.append(Check("landed_bytes_have_rows", PHASE, raw, _floor(run), _has_rows_of(raw.delivered)))
    return [
        *delivered,
        Check("sides_have_rows", PHASE, raw, rows, _sides_have_rows, absent_code="EMPTY_SIDE"),
        Check("result_closes_against_raw_sides", PHASE, figures, raw, judge_with(shape, currencies),
              absent_code="TABLE_GONE"),
        Check("raw_sides_match", PHASE, figures, raw, _match(run, share), absent_code="TABLE_GONE"),
    ]  # fmt: skip


def raw_sides(run: Run) -> RawSides:
    """The probe of the task's sides where they come from.

    Raises:
        PlanexecError: BAD_CONTRACT if a side is neither a live table nor delivered.
    """
    task = run.work.task
    live, delivered = [], None
    for side in task.sides:
        view = live_view(task, run.period, side.name)
        if view is not None:
            live.append(view)
        elif task.drop is not None and side.name == task.drop.input:
            delivered = side.name
        else:
            raise PlanexecError(
                "BAD_CONTRACT", f"side {side.name!r} of task {task.name!r} is no live table and not delivered",
                hint="name its source, or make it the input of the drop: nothing else can be read again before it pays",
            )  # fmt: skip
    return RawSides(tuple(live), delivered, _copies(run, delivered) if delivered is not None else ())


def _copies(run: Run, side: str) -> tuple[CountExtract, ...]:
    task = run.work.task
    contract = task.contracts[task.input(side).contract]
    return tuple(
        CountExtract(
            run.work.ports.roots.landed_path(one.sha256), contract.format_of(one.facts.key), contract.counted,
            broken=contract.broken_may_be_refused,
        )
        for one in {one.sha256: one for one in run.admission.objects}.values()
    )  # fmt: skip


def _bills_are_final(run: Run) -> list[Check]:
    """Where a line may be an estimate: in the live table, or in the bytes that were delivered."""
    task, checks = run.work.task, []
    for side in estimable(task):
        contract = task.contracts[side.contract]
        view, conditions = live_view(task, run.period, side.name), conditions_of(contract)
        probe: Probe = (
            FinalInTable(view, conditions)
            if view is not None
            else FinalInExtract(tuple((copy.path, copy.format) for copy in _copies(run, side.name)), conditions)
        )
        checks.append(Check(BILL, PHASE, probe, none_estimated(contract), judge_final, absent_code="EMPTY_EXTRACT"))
    return checks


def _by_manifest(run: Run, step: Step, resolved: Resolved) -> list[Check]:
    """Where the vendor's manifest says whether the bill is final: its landed copy, read once more."""
    found = final_by_manifest(BILL, scope_of(run, step, resolved), PHASE)
    return [check for check in found if isinstance(check, Check)]


def _none_refused(shape: ResultShape, delivered: str) -> Judge:
    """Where a load may refuse rows: a line that was refused was billed all the same, and looks as if it were not."""

    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        if isinstance(against, Stated) or against.state != "seen":
            return Finding("failed", "records", "absent", f"{against.source.subject} is not there", "EMPTY_SIDE")
        statuses: Mapping[str, Any] = seen["statuses"]  # type: ignore[assignment]
        due, found = int(str(_by_side(against, "rows")[delivered])), lines_of(shape, statuses, delivered)
        if found < due:
            text = (
                f"{due - found} of {due} delivered records of {delivered} are in no line of the result: a load may "
                "refuse rows for a report; what they bill is not known, so no credit rests on their absence"
            )
            return Finding("failed", due, found, text, "ROWS_REFUSED")
        return Finding("passed", due, found, f"each of {due} delivered records is in a line of the result")

    return judge


def _floor(run: Run) -> Stated:
    task = run.work.task
    assert task.drop is not None  # noqa: S101 - something is delivered
    contract = task.contracts[task.input(task.drop.input).contract]
    clause = Source(Subject("contract", f"{contract.name} v{contract.version}"), "min_rows, and more than none")
    return Stated(max(1, contract.min_rows), clause)


def _has_rows_of(delivered: str) -> Any:  # noqa: ANN401 - a judge
    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        assert isinstance(against, Stated)  # noqa: S101 - bound above
        floor = int(str(against.value))
        if seen.state == "absent":
            return Finding("failed", floor, "not counted", seen.message, "EMPTY_SIDE")
        rows = int(str(_by_side(seen, "rows")[delivered]))
        missing = int(str(seen["missing"]))
        if missing:
            text = f"{missing} of the admitted objects never landed: what they hold is in no result"
            return Finding("failed", floor, f"{missing} copies missing", text, "EMPTY_EXTRACT")
        if rows < floor:
            text = f"the landed bytes have {rows} records, counted again; expected at least {floor}"
            return Finding("failed", floor, rows, text, "EMPTY_EXTRACT")
        if seen["unreadable"]:
            text = f"{seen['unreadable']} amounts of the landed bytes cannot be read"
            return Finding("failed", 0, seen["unreadable"], text, "CONTROL_TOTAL_MISMATCH")
        return Finding("passed", floor, rows, f"the landed bytes have {rows} records, counted again")

    return judge


def _sides_have_rows(seen: Observation, against: Observation | Stated) -> Finding:
    expected = against.value if isinstance(against, Stated) else None
    rows = _by_side(seen, "rows")
    empty = [side for side, count in rows.items() if not count]
    shown = {side: int(str(count)) for side, count in rows.items()}
    if empty:
        text = f"side {empty[0]} has no row in scope where it comes from: every row of the other would be credited"
        return Finding("failed", expected, shown, text, "EMPTY_SIDE")
    return Finding("passed", expected, shown, ", ".join(f"{side} {count} rows" for side, count in shown.items()))


def _match(run: Run, share: Decimal) -> Any:  # noqa: ANN401 - a judge
    shape = run.work.task.result
    assert shape is not None  # noqa: S101 - asked before

    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        expected = f"at least {share} of each side"
        if isinstance(against, Stated) or against.state != "seen":
            return Finding("failed", expected, "absent", f"{against.source.subject} is not there", "EMPTY_SIDE")
        statuses: Mapping[str, Any] = seen["statuses"]  # type: ignore[assignment]
        rows = _by_side(against, "rows")
        shares: dict[str, Decimal] = {}
        for side in shape.only:
            count = int(str(rows[side]))
            shares[side] = Decimal(_matched(shape, statuses, side)) / count if count else Decimal(0)
        observed = ", ".join(f"{side} {value:.4f}" for side, value in shares.items())
        low = [side for side, value in shares.items() if value < share]
        if low:
            code = "NOTHING_MATCHED" if not any(shares.values()) else "COVERAGE_LOW"
            text = f"of side {low[0]} only {shares[low[0]]:.4f} was found on the other side; the task demands {share}"
            return Finding("failed", expected, observed, text, code)
        return Finding("passed", expected, observed, f"matched: {observed}")

    return judge


def _matched(shape: ResultShape, statuses: Mapping[str, Any], side: str) -> int:
    """Rows of a side that were found on the other, whatever became of their amounts."""
    if shape.rows:
        return sum(int(statuses[word]["rows"][side]) for word in shape.paired if word in statuses)
    same = int(statuses[shape.identical]["lines"]) if shape.identical in statuses else 0
    other = int(statuses[shape.differs]["present"][side]) if shape.differs in statuses else 0
    return same + other


def _by_side(seen: Observation, fact: str) -> Mapping[str, object]:
    found = seen[fact]
    assert isinstance(found, Mapping)  # noqa: S101 - what the probe promises
    return found
