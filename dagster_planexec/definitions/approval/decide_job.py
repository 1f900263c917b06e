"""`<task>__decide`: a form in Dagster for a decision that was signed elsewhere.

Whoever reaches Dagster's pages can fill in the form, with any name. So the form alone decides nothing: what counts is
the signature, which needs the approver's key, is bound to what was shown, and is worthless for anything else.
"""

# No `from __future__ import annotations` here: Dagster reads the config class from the annotation itself.
from enum import Enum

import dagster as dg
from pydantic import Field

from dagster_planexec.compiler.events import failure
from dagster_planexec.compiler.plan_run import CODE_TAG, STATUS_TAG
from dagster_planexec.definitions.approval.notices import hold_page
from dagster_planexec.definitions.planned_task import PlannedTask, decide_name
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.decisions import Decided, Entered, record_entered
from dagster_planexec.journal.money.keys import keys_of_environment
from dagster_planexec.journal.told.line import one_line


class Choice(Enum):
    """What can be decided."""

    approve = "approve"
    reject = "reject"


class DecisionForm(dg.Config):
    """The launchpad's form."""

    hold: str = Field(description="The hold, e.g. hold_0a1b2c3d4e5f.")
    decision: Choice = Field(description="approve: do exactly what was shown. reject: do not.")
    by: str = Field(description="Your name, as the task lists its approvers.")
    reason: str = Field(description="Why, in your words. It is kept with the decision.")
    signature: str = Field(
        description="What `planexec approve HOLD --by NAME --reason TEXT --sign-only` printed where your key is. It "
        "covers everything above and what was shown; it is of no use for anything else, so it may be seen."
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

    @dg.job(name=decide_name(task), description=f"Approve or reject what is held of {task.name}, with a signature.")
    def decide() -> None:
        take_decision()

    return decide


def _take(planned: PlannedTask, context: dg.OpExecutionContext, form: DecisionForm) -> None:
    binding = planned.binding
    entered = Entered(form.hold, form.decision.value, form.by, form.reason, form.signature)
    journal = Journal(binding.journal)
    try:
        decided: Decided = record_entered(
            journal, binding.task, entered, keys=keys_of_environment(), now=binding.resources.clock.now()
        )
    except PlanexecError as error:
        context.instance.add_run_tags(context.run_id, {STATUS_TAG: "refused", CODE_TAG: error.code})
        text = one_line(f"{error.code}: {error.message}; {error.hint or 'ask for a new signature'}", 1_000)
        raise failure(text, code=error.code, step=None, verdict=None) from error
    finally:
        journal.close()
    context.instance.add_run_tags(context.run_id, {STATUS_TAG: decided.state, CODE_TAG: "none"})
    context.log.info("%s", hold_page(decided))
