"""Every step check by name. One word names the check, its binder, its file, its cases and its test."""

from __future__ import annotations

from dagster_planexec.checks.effect.bill_is_final import bill_is_final
from dagster_planexec.checks.effect.credits.credits_are_issued import credits_are_issued
from dagster_planexec.checks.effect.credits.not_already_issued import not_already_issued
from dagster_planexec.checks.effect.credits.within_approval_threshold import within_approval_threshold
from dagster_planexec.checks.effect.credits.within_cap import within_cap
from dagster_planexec.checks.effect.evidence_is_unchanged import evidence_is_unchanged
from dagster_planexec.checks.effect.period_may_have_effects import period_may_have_effects
from dagster_planexec.checks.effect.report_matches_result import report_matches_result
from dagster_planexec.checks.fetch.drop_is_complete import drop_is_complete
from dagster_planexec.checks.fetch.landed_is_intact import landed_is_intact
from dagster_planexec.checks.fetch.object_exists import object_exists
from dagster_planexec.checks.fetch.object_is_non_empty import object_is_non_empty
from dagster_planexec.checks.fetch.object_is_unchanged import object_is_unchanged
from dagster_planexec.checks.fetch.watched_is_unchanged import watched_is_unchanged
from dagster_planexec.checks.load.currency_is_declared import currency_is_declared
from dagster_planexec.checks.load.extract_has_rows import extract_has_rows
from dagster_planexec.checks.load.no_unexpected_columns import no_unexpected_columns
from dagster_planexec.checks.load.rejects_are_allowed import rejects_are_allowed
from dagster_planexec.checks.load.schema_matches_contract import schema_matches_contract
from dagster_planexec.checks.load.totals.amounts_agree import amounts_agree
from dagster_planexec.checks.load.totals.control_totals_agree import control_totals_agree
from dagster_planexec.checks.load.totals.row_counts_agree import row_counts_agree
from dagster_planexec.checks.period.keys_are_present import keys_are_present
from dagster_planexec.checks.period.keys_are_unique import keys_are_unique
from dagster_planexec.checks.period.period_is_covered import period_is_covered
from dagster_planexec.checks.period.period_is_current import period_is_current
from dagster_planexec.checks.plausible.expectations_hold import expectations_hold
from dagster_planexec.checks.plausible.match_rate_is_plausible import match_rate_is_plausible
from dagster_planexec.checks.plausible.volume_is_plausible import volume_is_plausible
from dagster_planexec.checks.reconcile.amounts_share_a_currency import amounts_share_a_currency
from dagster_planexec.checks.reconcile.both_sides_contribute import both_sides_contribute
from dagster_planexec.checks.reconcile.closing_identities_hold import closing_identities_hold
from dagster_planexec.checks.reconcile.keys_can_be_matched import keys_can_be_matched
from dagster_planexec.checks.reconcile.snapshot_is_as_admitted import snapshot_is_as_admitted
from dagster_planexec.checks.reconcile.snapshot_is_complete import snapshot_is_complete
from dagster_planexec.checks.scope import Binder

_ALL: tuple[Binder, ...] = (
    object_exists,
    object_is_non_empty,
    object_is_unchanged,
    drop_is_complete,
    watched_is_unchanged,
    landed_is_intact,
    extract_has_rows,
    no_unexpected_columns,
    period_is_current,
    row_counts_agree,
    rejects_are_allowed,
    amounts_agree,
    control_totals_agree,
    currency_is_declared,
    schema_matches_contract,
    period_is_covered,
    keys_are_present,
    keys_are_unique,
    volume_is_plausible,
    snapshot_is_complete,
    snapshot_is_as_admitted,
    keys_can_be_matched,
    amounts_share_a_currency,
    both_sides_contribute,
    closing_identities_hold,
    match_rate_is_plausible,
    expectations_hold,
    report_matches_result,
    bill_is_final,
    period_may_have_effects,
    evidence_is_unchanged,
    within_cap,
    within_approval_threshold,
    not_already_issued,
    credits_are_issued,
)

BINDERS: dict[str, Binder] = {binder.__name__: binder for binder in _ALL}
"""Check name to the function that binds it to a step."""
