"""What was credited for the period before can be read: without that, nothing irreversible may be planned on top."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.contract.layout import effect_scope
from dagster_planexec.contract.task import Task
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.result.credits import CreditsIssued
from dagster_planexec.world.subject import Subject

NAME = "earlier_effects_are_known"


def earlier_effects_are_known(task: Task, period: Period) -> tuple[BoundCheck, ...]:
    """Asks the credit system, before any side effect. Any answer passes; none shuts the gate."""
    if task.irreversible is None:
        return ()
    scope, _ = effect_scope(task)
    stated = Stated("an answer", Source(Subject("task", task.name), "effect_scope"))
    return (Check(NAME, "live", CreditsIssued(scope, period.text), stated, _judge, absent_code="EFFECT_UNKNOWN"),)


def _judge(observed: Observation, _: Observation | Stated) -> Finding:
    count, amount = observed["count"], observed["amount"]
    return Finding("passed", "an answer", count, f"{count} credits of {amount} are issued for the period so far")
