"""Every row of every side is counted once in the result: lines close against rows, amounts against amounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.reconcile.views import query_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import comparison, result_layout
from dagster_planexec.contract.task import ResultShape, Task
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probes.result.identities import OTHER, ResultFigures, SideFigures

NAME = "closing_identities_hold"
_PAIR = 2


def closing_identities_hold(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Bind the check to a step that wrote a reconciliation's result."""
    task = scope.task
    shape = task.result
    if shape is None:
        reason = f"no deliverable of task {task.name} declares how its result is closed"
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("deliverables.result")),)
    result_layout(task)  # BAD_CONTRACT if a side is not in the shape: its rows would close against nothing
    views = {view.name: view for view in query_of(scope)[1]}
    result = figures_of(scope.args.target, shape)
    said = currencies_of(task) if shape.currencies else ()
    sides = SideFigures(tuple(views[side] for side in shape.only), said)
    currencies = {side: task.contracts[task.input(side).contract].in_words for side in shape.only}
    return (Check(NAME, phase, result, sides, judge_with(shape, currencies), absent_code="TABLE_GONE"),)


def figures_of(table: str, shape: ResultShape) -> ResultFigures:
    """The probe of a result of that shape."""
    sides = [side for side in shape.amounts if side in shape.only]
    return ResultFigures(
        table,
        shape.status,
        _words(shape),
        tuple((side, shape.amounts[side]) for side in sides),
        tuple((side, shape.rows[side]) for side in sides if side in shape.rows),
        tuple((side, shape.currencies[side]) for side in sides if side in shape.currencies),
    )


def currencies_of(task: Task) -> tuple[tuple[str, str, bool], ...]:
    """Side, its currency, and whether that is a column."""
    return tuple(
        (side.name, side.currency_column or side.currency or "", side.currency_column is not None)
        for side in comparison(task).sides
    )


def judge_with(shape: ResultShape, currencies: Mapping[str, str]) -> Judge:
    """The judge for one shape of result, whose sides have these currencies."""

    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        if isinstance(against, Stated) or against.state != "seen":
            table = against.source.subject
            return Finding("failed", "rows of every side", "absent", f"{table} is not there", "TABLE_GONE")
        statuses: Mapping[str, Any] = seen["statuses"]  # type: ignore[assignment]
        rows: Mapping[str, Any] = against["rows"]  # type: ignore[assignment]
        sums: Mapping[str, Any] = against["sums"]  # type: ignore[assignment]
        lines = {side: lines_of(shape, statuses, side) for side in shape.only}
        totals = {side: _total(statuses, side) for side in shape.amounts if side in shape.only}
        text_of_sides = _in_words(rows, {side: sums[side] for side in totals}, currencies)
        expected: Fact = _figures(rows, sums)
        observed: Fact = {**_figures(lines, totals), "lines": {w: _count(statuses, w) for w in _words(shape)}}
        broken = list(_broken(shape, statuses, (lines, rows), (totals, sums), currencies))
        broken += _broken_currencies(seen, against)
        notice = _all_of_one_side(shape, statuses, rows)
        if broken:
            text = "; ".join([*broken, *notice])
            return Finding("failed", expected, observed, f"{text} ({text_of_sides})", "IDENTITY_BROKEN")
        text = "; ".join([f"closed: {_by_status(shape, statuses)}", *notice])
        return Finding("passed", expected, observed, f"{text} ({text_of_sides})")

    return judge


def _broken(
    shape: ResultShape,
    statuses: Mapping[str, Any],
    counts: tuple[Mapping[str, int], Mapping[str, int]],
    amounts: tuple[Mapping[str, Decimal], Mapping[str, Decimal]],
    currencies: Mapping[str, str],
) -> Iterator[str]:
    if OTHER in statuses:
        words = ", ".join(repr(word) for word in _words(shape))
        yield f"{statuses[OTHER]['lines']} lines have a status that is none of {words}"
    lines, rows = counts
    yield from _misplaced(shape, statuses)
    for side, only in shape.only.items():
        if lines[side] != rows[side] and shape.rows:
            stood = [(word, int(figures["rows"][side])) for word, figures in statuses.items()]
            parts = " + ".join(f"{count} {word}" for word, count in stood if count) or "no line"
            yield f"{parts} = {lines[side]} rows of {side} in the result, which has {rows[side]} rows"
        elif lines[side] != rows[side]:
            parts = " + ".join(f"{_count(statuses, word)} {word}" for word in (shape.identical, shape.differs, only))
            yield f"{parts} = {lines[side]} lines of {side}, which has {rows[side]} rows"
    totals, sums = amounts
    for side, total in totals.items():
        if total != sums[side]:
            currency = currencies[side]
            in_result, in_rows = f"{total} {currency}", f"{sums[side]} {currency}"
            yield f"amounts of {side} add up to {in_result} in the result and to {in_rows} in its rows"


def lines_of(shape: ResultShape, statuses: Mapping[str, Any], side: str) -> int:
    """Lines that stand for a row of this side; where the result says for how many, so many, whatever the status.

    A line that differs has both of two sides. Of three, one may lack it: its amount says whether it is there.
    """
    if shape.rows:
        return sum(int(figures["rows"][side]) for figures in statuses.values())
    if len(shape.only) > _PAIR and shape.differs in statuses:
        differs = int(statuses[shape.differs]["present"][side])
    else:
        differs = _count(statuses, shape.differs)
    return _count(statuses, shape.identical) + differs + _count(statuses, shape.only[side])


def _count(statuses: Mapping[str, Any], word: str) -> int:
    return int(statuses[word]["lines"]) if word in statuses else 0


def _total(statuses: Mapping[str, Any], side: str) -> Decimal:
    """Over every status: an amount on a line that only another side has would be counted, and break the sum."""
    return sum((figures["sums"][side] for figures in statuses.values()), Decimal(0))


def _all_of_one_side(shape: ResultShape, statuses: Mapping[str, Any], rows: Mapping[str, int]) -> list[str]:
    """The sign of a side that was not really there: as many discrepancies as another side has rows."""
    words = (shape.differs, *shape.only.values(), *shape.further)
    found = sum(_count(statuses, word) for word in words)
    return [f"discrepancies = rows of {side} ({found})" for side, count in rows.items() if found and found == count]


def _words(shape: ResultShape) -> tuple[str, ...]:
    return (shape.identical, shape.differs, *shape.only.values(), *shape.further)


def _misplaced(shape: ResultShape, statuses: Mapping[str, Any]) -> Iterator[str]:
    """Where a line says whose rows it stands for, its status may not say something else."""
    if not shape.rows:
        return
    for word in (*shape.paired, *shape.only.values()):
        if word not in statuses:
            continue
        for side, lines in statuses[word]["standing"].items():
            due = statuses[word]["lines"] if word not in shape.only.values() or word == shape.only[side] else 0
            if lines != due:
                yield f"{lines} of {statuses[word]['lines']} lines that are {word} stand for a row of {side}, not {due}"


def _broken_currencies(seen: Observation, against: Observation) -> Iterator[str]:
    """By currency, where both sides of the check know it: bytes that were counted again do not."""
    if "by_currency" not in seen.facts or "by_currency" not in against.facts:
        return
    found: Mapping[str, Any] = seen["by_currency"]  # type: ignore[assignment]
    due: Mapping[str, Any] = against["by_currency"]  # type: ignore[assignment]
    for side, currencies in due.items():
        for code in sorted({*currencies, *found[side]}):
            here, there = found[side].get(code), currencies.get(code)
            if here != there:
                name = code or "no currency"
                yield f"{side} in {name}: {_of_currency(here)} in the result, {_of_currency(there)} in its rows"


def _of_currency(figures: Mapping[str, Any] | None) -> str:
    return "nothing" if figures is None else f"{figures['rows']} rows of {figures['sum']}"


def _figures(rows: Mapping[str, int], sums: Mapping[str, Decimal]) -> dict[str, Fact]:
    """Rows and sums by side: what a run's document takes its counts from."""
    return {"rows": dict(rows), "sums": {side: sums[side] for side in sums if side in rows}}


def _in_words(rows: Mapping[str, int], sums: Mapping[str, Decimal], currencies: Mapping[str, str]) -> str:
    return ", ".join(
        f"{side} {count} rows" + (f" {sums[side]} {currencies[side]}" if side in sums else "")
        for side, count in rows.items()
    )


def _by_status(shape: ResultShape, statuses: Mapping[str, Any]) -> str:
    return ", ".join(f"{_count(statuses, word)} {word}" for word in _words(shape))
