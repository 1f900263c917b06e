"""Whether a run may still do what cannot be undone. Asked before every line."""

from __future__ import annotations

from dagster_planexec.contract.outcome import Failed
from dagster_planexec.contract.tool import ToolCall
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.work import Run


def why_no_longer(run: Run, call: ToolCall) -> Failed | None:
    """Why nothing more may be issued by this run, or None.

    It was ended by somebody, it was stopped on another branch, the call was given up, or another run holds the month.
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
    return None
