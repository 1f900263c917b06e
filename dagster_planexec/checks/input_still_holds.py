"""Inherited precondition: what an earlier step left is still what was judged, or holds when it is judged again."""

from __future__ import annotations

from collections.abc import Sequence

from dagster_planexec.checks.check import Check, Finding, Stated
from dagster_planexec.contract.verdict import Side, Verdict, first_shut
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probe import Probe

_GONE = {"warehouse": "TABLE_GONE", "landing": "OBJECT_GONE", "files": "FILE_GONE"}


def input_still_holds(seal_now: Probe, sealed: Observation, *, shown: Fact) -> Check:
    """The seal that was taken after the producing step was judged, against the same look now.

    Args:
        seal_now: The producing tool's seal probe.
        sealed: What that probe saw when the step was judged; `shown` is its facts in words.
        shown: The sealed facts, in the form in which a verdict shows them.
    """

    def judge(now: Observation, _: Observation | Stated) -> Finding:
        if now.facts == sealed.facts:
            return Finding("passed", shown, shown, "unchanged since it was judged")
        return Finding("failed", shown, dict(now.facts), "changed since it was judged", "EXPECTATION_FAILED")

    return Check(
        "input_still_holds", "pre", seal_now, Stated(shown, sealed.source), judge,
        by_time=True, absent_code=_GONE.get(seal_now.subject.system, "EXPECTATION_FAILED"),
    )  # fmt: skip


def judged_again(changed: Verdict, again: Sequence[Verdict]) -> Verdict:
    """The verdict of an input that changed, after its producer's postconditions were judged again.

    It passes only if every one of them does; otherwise its code is the first that does not. A query that gives another
    result than the stored one says nothing of the query here: it gave that one when it was judged, and the stored one
    has changed since.
    """
    shut = first_shut(again)
    if shut is None and again:
        text = f"changed since it was judged; judged again, all {len(again)} checks of its step hold"
        return Verdict(changed.check, changed.phase, "passed", changed.expected, changed.observed, None, text)
    if shut is None:
        return changed
    altered = shut.code == "NONDETERMINISTIC"
    return Verdict(
        changed.check, changed.phase, "failed" if altered else shut.status,
        Side(changed.expected.value, changed.expected.source), Side(changed.observed.value, changed.observed.source),
        "EXPECTATION_FAILED" if altered else shut.code,
        f"changed since it was judged; judged again, {shut.check} says: {shut.text}",
    )  # fmt: skip
