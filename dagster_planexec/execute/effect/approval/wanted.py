"""Whether a run may still do what cannot be undone. Asked before every line."""

from __future__ import annotations

from dagster_planexec.contract.outcome import Failed
from dagster_planexec.contract.tool import ToolCall
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.approvals.decisions import code_of_closed
from dagster_planexec.journal.money.approvals.holds import hold, state_of


def why_no_longer(run: Run, call: ToolCall) -> Failed | None:
    """Why nothing more may be issued by this run, or None.

    It was ended by somebody, it was stopped on another branch, the call was given up, another run holds the month, or
    what people have approved is approved no longer.
    """
    if call.given_up.is_set():
        return Failed("TIMEOUT", "the call was given up")
    because = run.ended_by()
    if because is not None:
        return Failed("CANCELLED", because)
    journal = run.work.journal
    stops = journal.events(run.attempt, run_id=run.run_id, kinds=["stopped"])
    if stops:
        return Failed("CANCELLED", f"the run stopped at {stops[0].step or 'the run'}: {stops[0].payload['code']}")
    if journal.fence is not None:
        try:
            with journal.reader.connect() as db:
                journal.fence(db)
        except PlanexecError as error:
            return Failed(error.code, error.message)
    return _why_not_approved(journal, call.hold_id)


def _why_not_approved(journal: Journal, hold_id: str | None) -> Failed | None:
    if hold_id is None or state_of(journal, hold_id) == "approved":
        return None
    held = hold(journal, hold_id)
    if held is None:
        return Failed("DECISION_REFUSED", f"{hold_id} is not in the journal any more")
    because = f" ({held.closed_because})" if held.closed_because else ""
    return Failed(code_of_closed(held), f"{hold_id} is {held.state}{because}")
