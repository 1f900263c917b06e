"""What the trailers of files state: each against the part that it ends, and all of them against the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.load.contract_of import contract_of, format_of, target_of
from dagster_planexec.checks.load.totals.figures import exact
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probes.delivery.figures.stated import ROWS, FoundTotals, StatedTotals, alone
from dagster_planexec.world.probes.table.totals import TotalsOfTable

_Totals = tuple[Mapping[str, Fact], ...]


def totals_of_trailers(name: str, scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The checks of one load; none if the contract declares no trailer.

    Args:
        name: The check's name.
        scope: The load.
        phase: When it is judged.
    """
    contract = contract_of(scope.task, scope.args)
    if not contract.trailers:
        return ()
    names = tuple(dict.fromkeys(column for trailer in contract.trailers for column in trailer.sums))
    columns = tuple(contract.column(one).in_file(None, contract.nulls) for one in names)
    files = tuple(
        (scope.roots.landed_path(sha256), format_of(contract, scope.admission, sha256)) for sha256 in scope.args.sources
    )
    checks: list[BoundCheck] = []
    if contract.allowed_rejects is None:  # else the table may rightly hold less than its files
        in_table = TotalsOfTable(target_of(scope), names)
        checks.append(Check(name, phase, in_table, StatedTotals(files, columns), _table, absent_code="TABLE_GONE"))
    if len(files) > 1 or contract.allowed_rejects is not None or any(form.compression == "zip" for _, form in files):
        counted = tuple(
            (column.name, contract.counted if column.name == contract.amount else alone(column)) for column in columns
        )
        for path, form in files:
            found, said = FoundTotals(path, form, counted), StatedTotals(((path, form),), columns)
            checks.append(Check(name, phase, found, said, _parts, absent_code="OBJECT_GONE"))
    return tuple(checks)


def _table(observed: Observation, against: Observation | Stated) -> Finding:
    """The totals of all parts together. What some part does not state cannot be held against the table."""
    if (wrong := _unusable(against)) is not None:
        return wrong
    assert isinstance(against, Observation)  # noqa: S101 - asked above
    sums = observed["sums"]
    assert isinstance(sums, Mapping)  # noqa: S101 - what the probe promises
    got: dict[str, Fact] = {ROWS: observed["rows"], **sums}
    by_rule: dict[tuple[str, str], list[int | Decimal]] = {}
    for total in _totals(against):
        value = total["value"]
        assert isinstance(value, int | Decimal)  # noqa: S101 - asked above
        by_rule.setdefault((str(total["trailer"]), str(total["of"])), []).append(value)
    want = {key: _sum(values) for key, values in by_rule.items() if len(values) == against["parts"]}
    wrong_ones = [(trailer, of, value) for (trailer, of), value in want.items() if value != got[of]]
    expected, seen = _in_words((of, value) for (_, of), value in want.items()), _in_words(got.items())
    if wrong_ones:
        trailer = wrong_ones[0][0]
        said = [(of, value) for (mark, of), value in want.items() if mark == trailer]
        there = _in_words((of, got[of]) for of, _ in said)
        # All that it states: a count that is wrong is best understood beside its sum.
        text = f"the trailer {trailer} states {_in_words(said)}; the table has {there}"
        return Finding("failed", expected, seen, text, "CONTROL_TOTAL_MISMATCH")
    return Finding("passed", expected, seen, f"the trailers state {expected}, and the table has {seen}")


def _parts(observed: Observation, against: Observation | Stated) -> Finding:
    """Each total against the part that it stands in: what one part has too much, another may have too little."""
    if (wrong := _unusable(against)) is not None:
        return wrong
    assert isinstance(against, Observation)  # noqa: S101 - asked above
    raw = observed["parts"]
    assert isinstance(raw, Mapping)  # noqa: S101 - what the probe promises
    parts = {name: found for name, found in raw.items() if isinstance(found, Mapping)}
    totals = _totals(against)
    expected = "; ".join(f"{total['part']}: {_one(total['of'], total['value'])}" for total in totals) or "no total"
    seen = "; ".join(f"{name}: {_in_words(found.items())}" for name, found in parts.items())
    for total in totals:
        found, of = parts[str(total["part"])], str(total["of"])
        if found[of] != total["value"]:
            text = (
                f"the trailer {total['trailer']} of {total['part']} states {_one(of, total['value'])}; "
                f"found {_one(of, found[of])} ({_other(found, of)})"
            )
            return Finding("failed", expected[:500], seen[:500], text, "CONTROL_TOTAL_MISMATCH")
    return Finding("passed", expected[:500], seen[:500], f"each of {len(parts)} parts is as its trailers state")


def _unusable(against: Observation | Stated) -> Finding | None:
    """Why the trailers cannot be held against anything; None if they can."""
    if isinstance(against, Stated) or against.state != "seen":
        return Finding("failed", "a landed copy", "absent", f"{against.source.subject} is not there", "OBJECT_GONE")
    missing = against["missing"]
    if isinstance(missing, tuple) and missing:
        text = f"{missing[0]}, which its contract requires: it may have been cut off"
        return Finding("failed", "every required trailer", f"{len(missing)} missing", text, "CONTROL_TOTAL_MISMATCH")
    for total in _totals(against):
        if total["value"] is None:
            text = (
                f"the trailer {total['trailer']} of {total['part']} states {total['text']} for {total['of']}, "
                "which cannot be read"
            )
            return Finding("failed", "a number", total["text"], text, "CONTROL_TOTAL_MISMATCH")
    return None


def _totals(against: Observation) -> _Totals:
    totals = against["totals"]
    assert isinstance(totals, tuple)  # noqa: S101 - what the probe promises
    return tuple(total for total in totals if isinstance(total, Mapping))


def _sum(values: Sequence[int | Decimal]) -> int | Decimal:
    return sum(values) if all(isinstance(value, int) for value in values) else exact(map(Decimal, values))


def _one(of: Fact, value: Fact) -> str:
    return f"{value} rows" if of == ROWS else f"{of} {value}"


def _in_words(totals: Iterable[tuple[str, Fact]]) -> str:
    return ", ".join(_one(of, value) for of, value in totals) or "no total"


def _other(found: Mapping[str, Fact], of: str) -> str:
    """What else was found, beside the one that is wrong."""
    return _in_words((name, value) for name, value in found.items() if name != of) if len(found) > 1 else of
