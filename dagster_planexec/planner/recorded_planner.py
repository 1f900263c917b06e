"""Replays a committed answer. No model is called; the run says so, and says who wrote the answer."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from dagster_planexec.errors import PlanexecError
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.recording import Revision, contract_version, fill, read_recording
from dagster_planexec.planner.request import PlanRequest

_RECORD = "record an answer for it with RecordingPlanner, or write one into the recording's `revisions`"


class RecordedPlanner(Planner):
    """Answers from a JSON file; only the period varies.

    The file is `{"task", "contract_version", "author", "answer": <plan>}`, and where the task re-plans also
    `"revisions": [{"after": {"trigger", "code", "step", "facts"}, "answer": <plan>}]`: the first revision whose `after`
    matches what was seen is the answer. Each part of `after` may be left out.

    Args:
        path: The recording. `{period}` and `{compact}` in its strings become `2026-03` and `202603`.
    """

    name = "recorded"

    def __init__(self, path: Path) -> None:
        self._path = path
        self.revises = _has_revisions(path)

    @property
    def recipe(self) -> str:
        """The recording's name and content."""
        return recipe_of(self.name, self._path)

    def examine(self, request: PlanRequest) -> Proposal | None:
        """The proposal itself: reading a file asks nobody."""
        return self.propose(request)

    def propose(self, request: PlanRequest) -> Proposal:
        """The recorded answer for this period; PLAN_REJECTED if none was recorded for this task or this situation."""
        name = self._path.name
        try:
            recording = read_recording(self._path)
            _expect_same_contract(recording, request, name)
            answer, author = _answer(recording, request, name)
            plan = fill(answer, request.period)
        except PlanexecError as error:
            return Proposal(None, self.name, name, model_called=False, code=error.code, message=error.message,
                            hint=error.hint)  # fmt: skip
        return Proposal(plan, self.name, f"{author} (recording {name})", model_called=False)


def _has_revisions(path: Path) -> bool:
    try:
        return bool(read_recording(path)["revisions"])
    except PlanexecError:
        return False  # what is wrong with the file is said where it is asked for a plan


def _answer(recording: dict[str, Any], request: PlanRequest, name: str) -> tuple[Any, str]:
    """The answer to this request, and who wrote it."""
    revisions: tuple[Revision, ...] = recording["revisions"]
    if request.repair is not None:
        found = {str(finding.get("code")) for finding in request.repair.findings}
        for revision in revisions if request.revising is None else ():
            if revision.after.answers_a_refusal(found):
                return revision.answer, revision.author or str(recording["author"])
        raise PlanexecError(
            "PLAN_REJECTED", f"the plan recorded in {name} was refused, and there is no other for this situation",
            hint="see the findings; correct the recording, or record a new answer",
        )  # fmt: skip
    revising = request.revising
    if revising is None:
        return recording["answer"], str(recording["author"])
    for revision in revisions:
        if revision.after.matches(revising, request.period):
            return revision.answer, revision.author or str(recording["author"])
    code = f" with {revising.code}" if revising.code else ""
    raise PlanexecError(
        "PLAN_REJECTED",
        f"nothing was recorded in {name} for this situation: {revising.trigger}{code} at step {revising.step[:80]!r}",
        hint=_RECORD,
    )


def _expect_same_contract(recording: dict[str, Any], request: PlanRequest, name: str) -> None:
    wanted = contract_version(request)
    if (recording["task"], recording["contract_version"]) != (request.task.name, wanted):
        raise PlanexecError(
            "PLAN_REJECTED",
            f"{name} was recorded for task {recording['task']!r} with contracts "
            f"{recording['contract_version']!r}; this is {request.task.name!r} with {wanted!r}",
            hint="record a new answer: the old one was written for another contract",
        )


def recipe_of(planner: str, path: Path) -> str:
    """What identifies a planner that answers from a file: its name, the file's, and the file's content."""
    try:
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
    except OSError:
        content = "unreadable"  # why, is said where it is asked for a plan
    return f"{planner}:{path.name}:{content}"
