"""A task in which every check says yes: what a hostile plan or a careless hand would have."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.check import BoundCheck, NotApplicable
from dagster_planexec.checks.scope import Binder, StepScope
from dagster_planexec.contract.verdict import Phase
from tests.support.approvals import Office


def always_passes(name: str) -> Binder:
    """What a hostile task or plan would have in a check's place."""

    def bind(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
        return (NotApplicable(name, phase, "disabled", scope.stated_by_task("nothing is judged")),)

    return bind


def every_check_is_off(office: Office) -> None:
    """And there is no limit that anything would exceed."""
    office.world.checks = {name: always_passes(name) for name in BINDERS}
    huge = replace(office.world.task.limits, credit_cap=Decimal(10**12), credit_lines_threshold=10**9)
    office.world.task = replace(office.world.task, limits=huge)
