"""Issues the credits of a result, each line key at most once; larger sums than the task allows wait for a person."""

from __future__ import annotations

from collections.abc import Collection
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from dagster_planexec.contract.layout import (
    credit_lines_threshold_of,
    credit_shape,
    currency_of,
    effect_scope,
    lower_cap,
)
from dagster_planexec.contract.outcome import Done, Failed, Held, Outcome
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.ports import CreditLine
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.credits import CreditLines, CreditsIssued, digest_of_lines, fetch_credit_lines

_NOTHING_HAPPENED = frozenset(
    {"LOCKED", "EFFECT_DIFFERS", "AUTH_FAILED", "FORBIDDEN", "DUPLICATE_KEY", "SCALE_OVERFLOW"}
)
"""Codes with which a credit system refuses before it does anything. After any other the outcome is looked up."""


class IssueCreditArgs(Model):
    """Which result is credited. Which of its lines, and for how much, is the task's rule and not the plan's."""

    source: TableName
    cap: Annotated[str, Field(pattern=r"^[0-9]{1,15}(\.[0-9]{1,2})?$")] | None = None
    """A decimal string. It counts only where it is lower than the task's cap."""


class IssueCreditResult(Model):
    """What was issued by this call; lines that were issued before are not counted again."""

    issued_count: int
    issued_amount: str
    already_there: int
    currency: str


CONTRACT = ToolContract(
    name="issue_credit",
    description="Issue the credits that the task's rule finds in a reconciliation result. Cannot be undone.",
    args=IssueCreditArgs,
    result=IssueCreditResult,
    effect="irreversible",
    preconditions=(
        "evidence_is_unchanged",
        "within_cap",
        "within_approval_threshold",
        "not_already_issued",
        "period_may_have_effects",
    ),
    postconditions=("credits_are_issued",),
    errors={
        "CAP_EXCEEDED": "look at the credits of the report; a person decides about them",
        "APPROVAL_REQUIRED": "look at the credits of the report; a person decides about them",
        "EFFECT_DIFFERS": "a line was credited before with another amount; settle the difference by hand",
        "EFFECT_UNKNOWN": "look the period up in the credit system before anything else",
        "DUPLICATE_KEY": "two lines of the result have one line key; correct the query",
        "NULL_KEY": "a line to be credited has no key; correct the query",
        "IDENTITY_BROKEN": "a line to be credited has no amount; correct the query",
        "SCALE_OVERFLOW": "an amount has more decimals than the currency; correct the query",
        "SCHEMA_DRIFT": "cast amounts to DECIMAL in the query",
        "TABLE_GONE": "the result was dropped before its credits were issued; run the month again",
    },
    # The port issues each (scope, period, line key) at most once, so a second call does nothing twice. That the call
    # is not repeated blindly all the same follows from `effect`, not from this: its outcome is looked up by key.
    idempotent=True,
    lookup="by-key",
    max_tries=1,
    writes=None,
)


class IssueCredit(Tool):
    """The tool `issue_credit`."""

    contract = CONTRACT

    def call(self, args: IssueCreditArgs, call: ToolCall) -> Outcome:
        """Fetch the lines, look at the limits once more on exactly these lines, and issue them."""
        task, period = call.task, call.period.text
        scope, _ = effect_scope(task)
        with call.ports.warehouse.session(deadline_s=call.left_s) as session:
            lines = fetch_credit_lines(session, args.source, credit_shape(task))
        currency = currency_of(task)
        if not lines:
            return Done(_result(0, Decimal(0), 0, currency))
        judged = call.preview.facts.get("digest") if call.preview is not None else None
        if judged is not None and judged != digest_of_lines(
            ((line.key, line.amount) for line in lines), credit_shape(task).scale
        ):
            return Failed("APPROVAL_STALE", f"the credit lines of {args.source!r} changed after they were judged")
        held = _held(args, call, lines)
        if held is not None:
            return held
        known = call.ports.credits.issued(scope, period).keys()
        call.require_wanted("issuing")  # it may have waited long for the answers above
        try:
            report = call.ports.credits.issue(scope, period, lines, currency)
        except PortError as error:
            if error.code in _NOTHING_HAPPENED:
                return Failed(error.code, error.message)
            return _look_up(call, scope, lines, known, error)
        return Done(_result(report.issued, report.amount, report.already_there, currency))

    def seal(self, args: IssueCreditArgs, result: IssueCreditResult, call: ToolCall) -> Probe:  # noqa: ARG002
        """What the credit system holds for the period."""
        scope, _ = effect_scope(call.task)
        return CreditsIssued(scope, call.period.text, credit_shape(call.task).scale)

    def preview(self, args: IssueCreditArgs, call: ToolCall) -> Probe:
        """The exact credit lines, counted and summed by SQL."""
        return CreditLines(args.source, credit_shape(call.task))


def _held(args: IssueCreditArgs, call: ToolCall, lines: list[CreditLine]) -> Held | None:
    # The preconditions have judged this on their own reading. A table can change between two readings.
    amount = sum((line.amount for line in lines), Decimal(0))
    threshold = credit_lines_threshold_of(call.task)
    cap = lower_cap(call.task, args.cap)
    facts: dict[str, Fact] = {"count": len(lines), "amount": amount}
    if amount > cap and "CAP_EXCEEDED" not in call.released:
        text = f"{len(lines)} credits of {amount:,} {currency_of(call.task)} exceed the cap of {cap:,}"
        return Held("CAP_EXCEEDED", text, facts)
    if len(lines) > threshold and "APPROVAL_REQUIRED" not in call.released:
        text = f"{len(lines)} credit lines are more than the {threshold} that need no approval"
        return Held("APPROVAL_REQUIRED", text, facts)
    return None


def _look_up(call: ToolCall, scope: str, lines: list[CreditLine], known: Collection[str], error: PortError) -> Outcome:
    """The call broke off: what the credit system holds now decides, and never a second call."""
    said = f"issuing broke off with {error.code}: {error.message[:200]}"
    try:
        issued = call.ports.credits.issued(scope, call.period.text)
    except PortError as second:
        return Failed("EFFECT_UNKNOWN", f"{said}; looking it up failed with {second.code}: {second.message[:200]}")
    there = [line for line in lines if issued.get(line.key) == line.amount]
    if len(there) < len(lines):
        text = f"{said}; {len(there)} of {len(lines)} lines are there now"
        return Failed("EFFECT_UNKNOWN", text, {"count": len(lines), "there": len(there)})
    fresh = [line for line in lines if line.key not in known]
    amount = sum((line.amount for line in fresh), Decimal(0))
    return Done(_result(len(fresh), amount, len(lines) - len(fresh), currency_of(call.task)))


def _result(count: int, amount: Decimal, already_there: int, currency: str) -> IssueCreditResult:
    return IssueCreditResult(
        issued_count=count, issued_amount=f"{amount:.2f}", already_there=already_there, currency=currency
    )
