"""Counts and sums that a delivery states about itself are those that are found in it."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, NotApplicable
from dagster_planexec.checks.load.contract_of import contract_of, stated
from dagster_planexec.checks.load.totals.by_manifest import totals_of_manifest
from dagster_planexec.checks.load.totals.by_record import totals_of_records
from dagster_planexec.checks.load.totals.by_trailer import totals_of_trailers
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase

NAME = "control_totals_agree"


def control_totals_agree(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """What a manifest, a control file, trailers or control records state. Not applicable where nothing is declared."""
    bound = (
        *totals_of_manifest(NAME, scope, phase),
        *totals_of_trailers(NAME, scope, phase),
        *totals_of_records(NAME, scope, phase),
    )
    if bound:
        return bound
    contract = contract_of(scope.task, scope.args)
    return (NotApplicable(NAME, phase, "control_totals: none declared", stated(contract, "control_totals")),)
