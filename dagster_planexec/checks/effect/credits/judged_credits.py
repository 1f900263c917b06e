"""The one look that all checks before a credit share: what is due, what is issued, what would be issued now."""

from __future__ import annotations

from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import credit_shape, effect_scope
from dagster_planexec.world.probes.result.to_issue import CreditsToIssue


def credits_to_issue(scope: StepScope) -> CreditsToIssue:
    """The probe, for one step; equal for each of its checks, so it is asked once."""
    issued_in, _ = effect_scope(scope.task)
    return CreditsToIssue(scope.args.source, credit_shape(scope.task), issued_in, scope.period.text, scope.elsewhere)
