"""Issues the credits of a result, each line key at most once; larger sums than the task allows wait for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated

from pydantic import Field

from dagster_planexec.contract.effects.tally import Tally
from dagster_planexec.contract.layout import (
    credit_lines_threshold_of,
    credit_shape,
    currency_of,
    lower_cap,
)
from dagster_planexec.contract.outcome import Held
from dagster_planexec.contract.tool import EffectTool, Model, TableName, ToolCall, ToolContract
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.ports import Credit, CreditLine, Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.credits import CreditsIssued, digest_of_lines, fetch_credit_lines
from dagster_planexec.world.probes.result.to_issue import CreditsToIssue


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
    elsewhere: int = 0
    """Lines that another system has issued, as the ledger says; they are among those that are there already."""
    currency: str


CONTRACT = ToolContract(
    name="issue_credit",
    description="Issue the credits that the task's rule finds in a reconciliation result. Cannot be undone.",
    args=IssueCreditArgs,
    result=IssueCreditResult,
    effect="irreversible",
    preconditions=(
        "bill_is_final",
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
        "EFFECT_DIFFERS": "a line was credited before with another amount; a person decides about the difference",
        "EFFECT_UNKNOWN": "run the month again: it is looked up first, and nothing is issued twice",
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


class IssueCredit(EffectTool):
    """The tool `issue_credit`."""

    contract = CONTRACT

    def target(self, ports: Ports) -> str:
        """The credit system."""
        return ports.credits.target

    def due(self, args: IssueCreditArgs, call: ToolCall) -> Sequence[CreditLine]:
        """The credit lines of the result, row by row."""
        with call.ports.warehouse.session(deadline_s=call.left_s) as session:
            return fetch_credit_lines(session, args.source, credit_shape(call.task))

    def held(self, args: IssueCreditArgs, call: ToolCall, tally: Tally) -> Held | None:
        """The cap is for everything of the period, the threshold for the lines that are issued at one go."""
        # The preconditions have judged this on their own reading. A table can change between two readings.
        if not tally.count:
            return None
        cap, threshold = lower_cap(call.task, args.cap), credit_lines_threshold_of(call.task)
        currency, total = currency_of(call.task), tally.known_amount + tally.amount
        facts: dict[str, Fact] = {"count": tally.count, "amount": tally.amount, "issued_amount": tally.known_amount}
        if total > cap and "CAP_EXCEEDED" not in call.released:
            before = f", with {tally.known_amount:,} issued before" if tally.known_amount else ""
            text = f"{tally.count} credits of {tally.amount:,} {currency}{before}, exceed the cap of {cap:,}"
            return Held("CAP_EXCEEDED", text, facts)
        if tally.count > threshold and "APPROVAL_REQUIRED" not in call.released:
            text = f"{tally.count} credit lines are more than the {threshold} that need no approval"
            return Held("APPROVAL_REQUIRED", text, facts)
        return None

    def listed(self, call: ToolCall) -> Sequence[Credit]:
        """What the credit system holds."""
        return call.ports.credits.listed(self.scope(call), call.period.text)

    def find(self, credit: Credit, call: ToolCall) -> Credit | None:
        """What it holds under one key."""
        return call.ports.credits.find(credit)

    def issue(self, credit: Credit, call: ToolCall) -> None:
        """Issue one credit."""
        call.require_wanted("issuing")
        call.ports.credits.issue(credit)

    def result(self, args: IssueCreditArgs, call: ToolCall, tally: Tally) -> IssueCreditResult:  # noqa: ARG002
        """What was issued, in the task's currency."""
        return IssueCreditResult(
            issued_count=tally.count, issued_amount=f"{tally.amount:.2f}", already_there=tally.already,
            elsewhere=tally.elsewhere, currency=currency_of(call.task),
        )  # fmt: skip

    def digest(self, lines: Mapping[str, Decimal], call: ToolCall) -> str:
        """By the scale of the result."""
        return digest_of_lines(lines.items(), credit_shape(call.task).scale)

    def seal(self, args: IssueCreditArgs, result: IssueCreditResult, call: ToolCall) -> Probe:  # noqa: ARG002
        """What the credit system holds for the period."""
        return CreditsIssued(self.scope(call), call.period.text, credit_shape(call.task).scale)

    def preview(self, args: IssueCreditArgs, call: ToolCall) -> Probe:
        """What is due, what is issued, and the exact lines that would be issued now."""
        shape = credit_shape(call.task)
        return CreditsToIssue(args.source, shape, self.scope(call), call.period.text, call.elsewhere)
