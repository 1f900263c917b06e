"""`<task>__decide`: a form in Dagster for a decision that was signed elsewhere.

Whoever reaches Dagster's pages can fill in the form, with any name. So the form alone decides nothing: what counts is
the signature, which needs the approver's key, is bound to what was shown, and is worthless for anything else.
"""

# No `from __future__ import annotations` here: Dagster reads the config class from the annotation itself.
from enum import Enum

import dagster as dg
from pydantic import Field

from dagster_planexec.compiler.events import failure
from dagster_planexec.compiler.plan_run import CODE_TAG, HOLD_TAG, STATUS_TAG
from dagster_planexec.definitions.planned_task import PlannedTask, decide_name
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.decisions import record
from dagster_planexec.journal.money.approvals.holds import HoldRecord
from dagster_planexec.journal.money.approvals.keys import keys_for
from dagster_planexec.journal.money.approvals.signing import SignedDecision, parse_signed
from dagster_planexec.journal.told.line import one_line

_LONGEST = 1_000


BLANK = {"hold": "hold_", "decision": "approve", "by": "", "reason": "", "signed": "planexec1:"}
"""The form before it is filled in; as it is, it is refused."""


class Choice(Enum):
    """What can be decided."""

    approve = "approve"
    reject = "reject"


class DecisionForm(dg.Config):
    """The launchpad's form. Everything in it may be seen by everybody."""

    hold: str = Field(description="The hold, e.g. hold_0a1b2c3d4e5f.")
    decision: Choice = Field(description="approve: do exactly what was shown. reject: do not.")
    by: str = Field(description="Your name, as the task lists its approvers.")
    reason: str = Field(description="Why, in your words. It is kept with the decision.")
    signed: str = Field(
        description="The line that `planexec approve HOLD --by NAME --reason TEXT --sign-only` (or `reject`) printed "
        "where your key is. It covers everything above and what was shown, and is of no use for anything else."
    )


def decide_job(planned: PlannedTask) -> dg.JobDefinition:
    """The job of a task that takes one signed decision. It runs nothing of a plan; the approval sensor goes on."""
    task = planned.binding.task

    @dg.op(
        name=f"{task.name}__take_decision",
        description="Verifies the signature and records the decision. Whoever has no key can start it, and is refused.",
        out=dg.Out(dg.Nothing),
    )
    def take_decision(context: dg.OpExecutionContext, config: DecisionForm) -> None:
        _take(planned, context, config)

    @dg.job(
        name=decide_name(task),
        description=f"Approve or reject what is held of {task.name}, with a signature.",
        config={"ops": {f"{task.name}__take_decision": {"config": dict(BLANK)}}},  # what the launchpad begins with
    )
    def decide() -> None:
        take_decision()

    return decide


def _take(planned: PlannedTask, context: dg.OpExecutionContext, form: DecisionForm) -> None:
    binding = planned.binding
    try:
        signed = _as_typed(parse_signed(form.signed), form)
        keys = keys_for(binding.task.approval.approvers)
        journal = Journal(binding.journal)
        try:
            held = record(journal, binding.task, signed, keys, binding.resources.clock.now())
        finally:
            journal.close()
    except PlanexecError as error:
        context.instance.add_run_tags(context.run_id, {STATUS_TAG: "refused", CODE_TAG: error.code})
        text = one_line(f"{error.code}: {error.message}; {error.hint or 'nothing was recorded'}", _LONGEST)
        hint = dg.MetadataValue.text(one_line(error.hint or "nothing was recorded", _LONGEST))
        raise failure(text, code=error.code, step=None, verdict=None, more={"hint": hint}) from error
    tags = {STATUS_TAG: held.state, CODE_TAG: "none", HOLD_TAG: held.id, "dagster/max_retries": "0"}
    context.instance.add_run_tags(context.run_id, tags)
    context.log.info("%s", said_of(held, signed))


def _as_typed(signed: SignedDecision, form: DecisionForm) -> SignedDecision:
    """The decision, if the form says the same: what people read in the run is what was signed.

    Raises:
        PlanexecError: DECISION_REFUSED.
    """
    typed = {"hold": form.hold.strip(), "decision": form.decision.value, "by": form.by.strip(),
             "reason": " ".join(form.reason.split())}  # fmt: skip
    other = next((name for name, value in typed.items() if getattr(signed, name) != value), None)
    if other is not None:
        raise PlanexecError(
            "DECISION_REFUSED",
            f"the form's {other} is {typed[other][:80]!r}, and what was signed says {getattr(signed, other)[:80]!r}",
            hint="type what you signed, or sign what you want",
        )
    return signed


def said_of(held: HoldRecord, signed: SignedDecision) -> str:
    """How the hold stands after a decision, and what comes next."""
    said = one_line(f"{signed.decision} by {signed.by}: {signed.reason}", _LONGEST)
    follows = {
        "open": "another approver is needed",
        "approved": "the approval sensor continues the period",
        "rejected": "nothing is done; the period stays as it is until it is run again",
    }
    return f"{held.id} of {held.task} {held.period}: {said}. It is {held.state}: {follows.get(held.state, 'see there')}"
