"""The object will still be there when the plan comes to read it, by what the store announces."""

from __future__ import annotations

from datetime import datetime, timedelta

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.probes.delivery.objects import HeadObject
from dagster_planexec.world.subject import Subject

NAME = "outlives_its_read"

_FORM = "%Y-%m-%d %H:%M:%S UTC"


def outlives_its_read(scope: StepScope, *, wait_s: float) -> tuple[BoundCheck, ...]:
    """The announced expiry against the longest time until the read: the deadlines of every step before it.

    The expiry comes with the HEAD (`x-amz-expiration`) and needs no further permission. An object that announces none
    is kept. A rule that "never mattered because the run always came within hours" matters here.
    """
    admitted = scope.admission.object(scope.args.bucket, scope.args.key)
    if admitted is not None and admitted.from_landing:
        return (NotApplicable(NAME, "live", "read from its landed copy", scope.stated_by_task("landing")),)
    seconds = round(wait_s + scope.contract.deadline_s)
    stated = Stated(
        f"at least {seconds} s from now", Source(Subject("task", scope.task.name), "deadlines of the steps")
    )
    return (Check(NAME, "live", HeadObject(scope.args.bucket, scope.args.key), stated, _judge(seconds)),)


def _judge(seconds: int) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        expected = f"at least {seconds} s from now"
        if observed.state == "absent":
            return Finding("not-evaluated", expected, "no object", "there is no object to expire", "OBJECT_GONE")
        expires, now = observed["expires_at"], observed.source.at
        if expires is None or now is None:
            return Finding("passed", expected, "no expiry announced", "no lifecycle rule is announced for the object")
        assert isinstance(expires, datetime)  # noqa: S101 - the probe's own fact
        needed = now + timedelta(seconds=seconds)
        text = f"a lifecycle rule deletes it at {expires:{_FORM}}; the plan may need it until {needed:{_FORM}}"
        if expires < needed:
            return Finding("failed", expected, expires, text, "EXPIRES_TOO_SOON")
        return Finding("passed", expected, expires, text)

    return judge
