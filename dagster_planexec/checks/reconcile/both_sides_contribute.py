"""A reconciliation's result depends on every side it compares, or it is not one.

The order of the questions is part of the rule: an empty side, a query that contradicts itself, a side that the result
does not depend on, keys that nobody shares, too few shared keys, and last a side of which nothing can be said.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.reconcile.views import query_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import min_matched_share_of
from dagster_planexec.contract.verdict import Phase, Status
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.result.sides import ContributionOfSides

NAME = "both_sides_contribute"


def both_sides_contribute(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Bind the check to a step that ran SQL over named inputs into a target."""
    task = scope.task
    if not task.sides:
        reason = f"task {task.name} compares no sides"
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("inputs")),)
    share, source = min_matched_share_of(task), scope.stated_by_task("min_matched_share")
    claimed = scope.claimed_decimal(NAME, "min_matched_share")
    if claimed is not None and claimed > share:
        share, source = claimed, scope.stated_by_claim(NAME, "min_matched_share")
    query, views = query_of(scope)
    probe = ContributionOfSides(query, views, scope.args.target)
    expected = Stated(f"every side contributes, and at least {share} of its keys match", source)
    return (Check(NAME, phase, probe, expected, judge_with(share), absent_code="TABLE_GONE"),)


def judge_with(share: Decimal) -> Judge:
    """The judge for one bound on the matched share."""

    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        expected = against.value if isinstance(against, Stated) else f"a matched share of {share}"
        status, code, text = _rule(seen.facts, share)
        counts = _counts(seen.facts)
        return Finding(status, expected, counts, f"{text} ({counts})", code)

    return judge


def _rule(facts: Mapping[str, Any], share: Decimal) -> tuple[Status, str | None, str]:
    for side, rows in facts["rows"].items():
        if rows == 0:
            return "failed", "EMPTY_SIDE", f"EMPTY_SIDE({side}): {side} has no row in scope{_sign(facts)}"
    stored = facts["stored"]
    if facts["rerun"] != stored:
        text = f"the query was run again on the same rows and gave {facts['rerun']}, not {stored}"
        return "not-evaluated", "NONDETERMINISTIC", f"NONDETERMINISTIC: {text}"
    silent = [side for side, without in facts["without"].items() if without == stored]
    found_something = bool(silent) and facts["without_any"] != stored
    blind = [side for side in silent if not facts["sees"][side]]
    # An equal result alone proves nothing: `coalesce(v.amount, l.amount)`, a count of overcharges per region or a UNION
    # of keys gives the same without the vendor in a perfect month. Unused is a side of which no change shows.
    if found_something and blind:
        text = f"without {blind[0]} the result is the same, and no change of its rows changes it"
        return "failed", "ONE_SIDED", f"ONE_SIDED({blind[0]}): {text}"
    shut = _overlap(facts, share)
    if shut is not None:
        return "failed", *shut
    if blind:
        untried = "; ".join(facts["untried"][blind[0]])
        text = f"nothing was found, and no change of the rows of {blind[0]} changes that"
        text += f"; not tried: {untried}" if untried else ""
        return "not-evaluated", "INDETERMINATE_SIDE", f"INDETERMINATE_SIDE({blind[0]}): {text}"
    if silent:
        sees = ", ".join(f"{side}: {facts['sees'][side]}" for side in silent)
        return "passed", None, f"nothing found; sees {sees}"
    return "passed", None, "every side contributes"


def _sign(facts: Mapping[str, Any]) -> str:
    """With a side empty no line can agree, so as many lines as another side has rows are all of them discrepancies."""
    found = facts["lines"]
    others = [side for side, rows in facts["rows"].items() if rows and rows == found]
    return "".join(f"; discrepancies = rows of {side} ({found})" for side in others)


def _overlap(facts: Mapping[str, Any], share: Decimal) -> tuple[str, str] | None:
    """The independent look at keys, for each pair of sides: in common at all, and enough of them."""
    for pair in facts["overlaps"]:
        if pair["in_both"] == 0:
            one, other = pair["sides"]
            return "NOTHING_MATCHED", f"NOTHING_MATCHED: {one} and {other} have no key in common"
    for pair in facts["overlaps"]:
        for side in pair["sides"]:
            keys = facts["keys"][side]
            if pair["in_both"] < share * keys:
                text = f"{pair['in_both']} of {keys} keys of {side} are matched, fewer than {share} of them"
                return "COVERAGE_LOW", f"COVERAGE_LOW({side}): {text}"
    return None


def _counts(facts: Mapping[str, Any]) -> str:
    """The plain pair of side counts, whatever the verdict, and what they share."""
    rows = ", ".join(f"{side} {count} rows" for side, count in facts["rows"].items())
    overlaps = facts["overlaps"]
    if len(overlaps) == 1:
        return f"{rows}, {overlaps[0]['in_both']} keys in both"
    return f"{rows}, " + ", ".join(f"{pair['in_both']} keys in {' and '.join(pair['sides'])}" for pair in overlaps)
