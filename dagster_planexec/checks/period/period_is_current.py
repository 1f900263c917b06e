"""What was delivered is not, byte for byte, what was delivered for an earlier period."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.history import PastPeriod
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.probes.delivery.landed_set import HashesLanded
from dagster_planexec.world.subject import Subject

NAME = "period_is_current"


def period_is_current(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The landed copies against those of the last settled earlier period. A set that differs in one file differs."""
    if scope.task.plausible is not None and scope.task.plausible.may_repeat:
        reason = "a delivery may be that of the period before, byte for byte"
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("plausible.may_repeat")),)
    before = next((one for one in reversed(scope.admission.past) if one.landed), None)
    if before is None:
        reason = f"no delivery of a period before {scope.period.text} had settled when the attempt was opened"
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("earlier periods")),)
    copies = tuple((scope.roots.landed_path(sha256), sha256) for sha256 in dict.fromkeys(scope.args.sources))
    stated = Stated(tuple(sorted(before.landed)), Source(Subject("journal", before.attempt), f"landed {before.period}"))
    return (Check(NAME, phase, HashesLanded(copies), stated, _judge(before), absent_code="OBJECT_GONE"),)


def _judge(before: PastPeriod) -> Judge:
    def judge(seen: Observation, _: Observation | Stated) -> Finding:
        found = seen["sha256"]
        assert isinstance(found, tuple)  # noqa: S101 - what the probe promises
        expected = f"not the bytes of {before.period}"
        shown = ", ".join(str(sha256)[:12] for sha256 in found)
        if set(found) == before.landed:
            text = f"the bytes delivered are those of {before.period} again ({shown})"
            return Finding("failed", expected, shown, text, "STALE_PERIOD")
        return Finding("passed", expected, shown, f"other bytes than those of {before.period}")

    return judge
