"""Replays a committed answer. No model is called; the run says so, and says who wrote the answer."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.model import Plan, parse_plan, read_json
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.world.period import Period


class RecordedPlanner(Planner):
    """Answers from a JSON file `{"task", "contract_version", "author", "answer": <plan>}`; only the period varies.

    Args:
        path: The recording. `{period}` and `{compact}` in its strings become `2026-03` and `202603`.
    """

    name = "recorded"

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def recipe(self) -> str:
        """The recording's name and content."""
        return recipe_of(self.name, self._path)

    def examine(self, request: PlanRequest) -> Proposal | None:
        """The proposal itself: reading a file asks nobody."""
        return self.propose(request)

    def propose(self, request: PlanRequest) -> Proposal:
        """The recorded answer for this period, or PLAN_REJECTED if it was recorded for another task or contract."""
        name = self._path.name
        try:
            recording = read_recording(self._path)
            _expect_same_contract(recording, request, name)
            plan = fill(recording["answer"], request.period)
        except PlanexecError as error:
            return Proposal(None, self.name, name, model_called=False, code=error.code, message=error.message,
                            hint=error.hint)  # fmt: skip
        return Proposal(plan, self.name, f"{recording['author']} (recording {name})", model_called=False)


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
    content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"
    return f"{planner}:{path.name}:{content}"


def read_recording(path: Path) -> dict[str, Any]:
    """The recording's fields.

    Raises:
        PlanexecError: PLAN_REJECTED if the file is not a recording.
    """
    data = read_file(path)
    if not isinstance(data, dict):
        raise PlanexecError("PLAN_REJECTED", f"recording {path.name} is a {type(data).__name__}, not an object")
    missing = [name for name in ("task", "contract_version", "author", "answer") if name not in data]
    if missing:
        raise PlanexecError("PLAN_REJECTED", f"recording {path.name} lacks {', '.join(missing)}")
    return dict(data)


def read_file(path: Path) -> Any:  # noqa: ANN401 - any JSON
    """The JSON of a file that holds a plan.

    Raises:
        PlanexecError: PLAN_REJECTED if it cannot be read, or is not such JSON.
    """
    try:
        return read_json(path.read_bytes())
    except (OSError, PlanexecError) as error:
        said = error.message if isinstance(error, PlanexecError) else str(error.strerror)
        raise PlanexecError("PLAN_REJECTED", f"{path.name}: {said}") from error


def contract_version(request: PlanRequest) -> str:
    """The versions of the task's contracts in one word, e.g. `ledger_charges@1,vendor_invoice@1`."""
    return ",".join(f"{name}@{c.version}" for name, c in sorted(request.task.contracts.items()))


def fill(answer: Any, period: Period) -> Plan:  # noqa: ANN401 - any JSON
    """The plan with the period's texts in place of its placeholders.

    Raises:
        PlanexecError: PLAN_REJECTED if what results is not a plan.
    """
    return parse_plan(json.dumps(_fill(answer, {"{period}": period.text, "{compact}": period.compact})))


def _fill(value: Any, texts: dict[str, str]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        for placeholder, text in texts.items():
            value = value.replace(placeholder, text)
        return value
    if isinstance(value, dict):
        return {key: _fill(child, texts) for key, child in value.items()}
    if isinstance(value, list):
        return [_fill(child, texts) for child in value]
    return value
