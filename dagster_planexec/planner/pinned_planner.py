"""Reads a plan that was promoted to a reviewed file in git: where a stable monthly task should end up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dagster_planexec.errors import PlanexecError
from dagster_planexec.planner.planner import Planner, Proposal
from dagster_planexec.planner.recorded_planner import recipe_of
from dagster_planexec.planner.recording import fill, read_file
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.world.period import Period

PARAMETERS = ("period", "compact")
"""The closed names of `{"param": name}` in a pinned plan."""


class PinnedPlanner(Planner):
    """Answers with a reviewed plan file. Its arguments may say `{"param": "period"}` or `{period}` inside a string.

    Args:
        path: A plan as JSON.
    """

    name = "pinned"

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def recipe(self) -> str:
        """The file's name and content."""
        return recipe_of(self.name, self._path)

    def examine(self, request: PlanRequest) -> Proposal | None:
        """The proposal itself: reading a file asks nobody."""
        return self.propose(request)

    def propose(self, request: PlanRequest) -> Proposal:
        """The file's plan for this period; PLAN_REJECTED if the file is not a plan or names an unknown parameter."""
        author = f"reviewed file {self._path.name}"
        try:
            plan = fill(_bind(read_file(self._path), request.period), request.period)
        except PlanexecError as error:
            return Proposal(None, self.name, author, model_called=False, code=error.code, message=error.message,
                            hint=error.hint)  # fmt: skip
        return Proposal(plan, self.name, author, model_called=False)


def _bind(value: Any, period: Period) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        if set(value) == {"param"}:
            name = value["param"]
            if name not in PARAMETERS:
                known = ", ".join(PARAMETERS)
                raise PlanexecError("PLAN_REJECTED", f"unknown parameter {str(name)[:40]!r}", hint=f"there are {known}")
            return getattr(period, "text" if name == "period" else "compact")
        return {key: _bind(child, period) for key, child in value.items()}
    if isinstance(value, list):
        return [_bind(child, period) for child in value]
    return value
