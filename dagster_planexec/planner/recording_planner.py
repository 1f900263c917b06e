"""Writes down what another planner answers, as a recording that `RecordedPlanner` replays without asking anybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.model import Plan, as_json
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.recording import (
    contract_version,
    facts_seen,
    fill,
    leave_out_period,
    read_recording,
)
from dagster_planexec.planner.request import PlanRequest


class RecordingPlanner(Planner):
    """Asks another planner, and keeps its plans in a file.

    The first answer is the recording's; those to a re-plan become its revisions, each with the situation it was
    written for. Asked again in the same situation, and for a repair, the newer answer takes the older one's place.
    Each first answer begins the file anew: revisions belong to the plan that they revise.

    Args:
        inner: Who is asked.
        path: The recording.
    """

    def __init__(self, inner: Planner, path: Path) -> None:
        self.name = inner.name
        self.calls_model, self.revises = inner.calls_model, inner.revises
        self.deadline_s = inner.deadline_s
        self._inner, self._path = inner, path

    @property
    def recipe(self) -> str:
        """The other planner's: that an answer is written down changes nothing about it."""
        return self._inner.recipe

    def examine(self, request: PlanRequest) -> Proposal | None:
        """What the other planner says of itself; nothing is recorded."""
        return self._inner.examine(request)

    def propose(self, request: PlanRequest) -> Proposal:
        """The other planner's proposal, written down if it is a plan; without a plan if that cannot be done."""
        proposal = self._inner.propose(request)
        if proposal.plan is None:
            return proposal
        try:
            self._write(self._recorded(request, proposal, proposal.plan))
        except (OSError, PlanexecError) as error:
            said = error.message if isinstance(error, PlanexecError) else str(error.strerror)
            return Proposal(
                None, proposal.planner, proposal.author, model_called=proposal.model_called, code="PLAN_REJECTED",
                message=f"the answer could not be recorded in {self._path.name}: {said}",
                hint="name a file that can be written, or ask the planner without recording it",
                more=proposal.more, usage=proposal.usage,
            )  # fmt: skip
        return proposal

    def _recorded(self, request: PlanRequest, proposal: Proposal, plan: Plan) -> dict[str, Any]:
        answer = leave_out_period(as_json(plan), request.period)
        if fill(answer, request.period) != plan:
            raise PlanexecError("PLAN_REJECTED", "it holds {period} or {compact} itself, which would be replaced")
        head = {"task": request.task.name, "contract_version": contract_version(request)}
        by = {"author": proposal.author} | {name: proposal.more[name] for name in ("prompt",) if name in proposal.more}
        if request.revising is None:
            return {**head, **by, "answer": answer}
        before = read_recording(self._path)
        if (before["task"], before["contract_version"]) != (head["task"], head["contract_version"]):
            raise PlanexecError("PLAN_REJECTED", "its first answer is of another task or another contract")
        after = {
            "trigger": request.revising.trigger, "code": request.revising.code, "step": request.revising.step,
            "facts": next(iter(facts_seen(request.revising)), {}),
        }  # fmt: skip
        after = leave_out_period(after, request.period)
        kept = [one.model_dump(mode="json", exclude_unset=True) for one in before["revisions"]]
        kept = [one for one in kept if one["after"] != after]
        return {**before, "revisions": [*kept, {"after": after, **by, "answer": answer}]}

    def _write(self, recording: dict[str, Any]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_name(f"{self._path.name}.new")
        new.write_text(json.dumps(recording, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        new.replace(self._path)  # a reader finds the old recording or the new one, never half of one
