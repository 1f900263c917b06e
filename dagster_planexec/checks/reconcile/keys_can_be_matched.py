"""Every row of both sides has a key, and no key repeats where the reconciliation matches one line with one."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.reconcile.views import compared_views
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import comparison
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probes.table.side_keys import KeysOfSides
from dagster_planexec.world.sides.comparison.shape import Comparison

NAME = "keys_can_be_matched"
BOTH = "both"


def keys_can_be_matched(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Bind the check to a step that compared the task's sides."""
    views = compared_views(scope.task, scope.period, scope.args.inputs)
    single = single_sides(comparison(scope.task, scope.period))
    stated = Stated(_asked(single), scope.stated_by_task("reconciliation.match"))
    return (Check(NAME, phase, KeysOfSides(views), stated, judge_with(single), absent_code="TABLE_GONE"),)


def single_sides(compared: Comparison) -> tuple[str, ...]:
    """The sides on which a key may stand once only."""
    if compared.match == "multiset":
        return ()
    return tuple(name for at, name in enumerate(compared.names) if at != compared.many)


def judge_with(single: tuple[str, ...]) -> Judge:
    """The judge, for the sides on which no key may repeat."""

    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        expected = against.value if isinstance(against, Stated) else _asked(single)
        nulls: Mapping[str, Any] = seen["null_rows"]  # type: ignore[assignment]
        repeated: Mapping[str, Any] = seen["repeated_keys"]  # type: ignore[assignment]
        twice = [side for side in single if repeated[side]]
        observed: dict[str, Fact] = {}
        texts = []
        if any(nulls.values()):
            texts.append(_without_key(seen, observed))
        if twice:
            texts.append(_repeating(seen, twice, observed))
        if texts:
            code = "NULL_KEY" if any(nulls.values()) else "DUPLICATE_KEY"
            return Finding("failed", expected, observed, "; ".join(texts), code)
        rows: Mapping[str, Any] = seen["rows"]  # type: ignore[assignment]
        changed: Mapping[str, Any] = seen["changed"]  # type: ignore[assignment]
        counts = ", ".join(f"{side} {count} rows, {changed[side]} keys normalised" for side, count in rows.items())
        return Finding("passed", expected, dict(changed), f"{expected} ({counts})")

    return judge


def _asked(single: tuple[str, ...]) -> str:
    return "each row has a key" + (f", and no key of {' or '.join(single)} repeats" if single else "")


def _without_key(seen: Observation, observed: dict[str, Fact]) -> str:
    rows, amounts = _of(seen, "null_rows"), _of(seen, "null_amount")
    observed |= {f"{side}_null_rows": count for side, count in rows.items()}
    observed |= {f"{side}_null_amount": amount for side, amount in amounts.items()}
    return "rows without a key: " + ", ".join(f"{side} {rows[side]} worth {amounts[side]}" for side in rows)


def _repeating(seen: Observation, twice: list[str], observed: dict[str, Fact]) -> str:
    rows, amounts, keys = _of(seen, "repeated_rows"), _of(seen, "repeated_amount"), _of(seen, "keys")
    where = BOTH if len(twice) > 1 else twice[0]
    named: list[str] = sorted({key for side in twice for key in keys[side]})
    total = sum((Decimal(str(amounts[side])) for side in twice), Decimal(0))
    observed |= {"side": where, "keys": tuple(named), "amount": total}
    observed |= {f"{side}_repeated_rows": rows[side] for side in twice}
    counts = ", ".join(f"{rows[side]} rows of {side} worth {amounts[side]}" for side in twice)
    return f"keys repeat on {where}: {counts}, e.g. {', '.join(repr(key) for key in named[:3])}"


def _of(seen: Observation, fact: str) -> Mapping[str, Any]:
    found = seen[fact]
    assert isinstance(found, Mapping)  # noqa: S101 - what the probe promises
    return found
