"""Examples that need no bucket: what their worlds hold, and the control that follows their plans to the letter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.dependency_audit import world as lockfiles
from assets.dependency_audit.binding import DEPENDENCY_AUDIT
from assets.row_count_investigation import world as row_counts
from assets.row_count_investigation.binding import ROW_COUNT_INVESTIGATION
from dagster_planexec.cli.document import of_task
from dagster_planexec.contract.outcome import Done, Failed, Held
from dagster_planexec.contract.tool import Admission, ToolCall
from dagster_planexec.definitions.planned_task import PlannedTask
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.graph import edges, topological_order
from dagster_planexec.plan.reference import Reference, resolve
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Roots


def _row_counts(home: Path) -> None:
    home.mkdir(parents=True, exist_ok=True)
    row_counts.seed(DuckDbWarehouse(home / "warehouse.duckdb"))


@dataclass(frozen=True, slots=True)
class LocalData:
    """What the demo needs to put the world of one of these examples in place."""

    name: str
    """As in `planexec demo --data NAME`."""
    planned: PlannedTask
    default_period: str
    seed: Callable[[Path], None]
    """Puts in place what is missing below a home."""

    def period(self, text: str | None) -> Period:
        """The period of that name, or the one that the example is about. Raises as `Task.period`."""
        return self.planned.binding.task.period(text or self.default_period)


LOCAL_DATA: dict[str, LocalData] = {
    data.name: data
    for data in (
        LocalData("lockfiles", DEPENDENCY_AUDIT, lockfiles.PERIOD, lambda home: lockfiles.seed(home / "files")),
        LocalData(
            "row_counts", ROW_COUNT_INVESTIGATION, "2026-03",
            _row_counts,
        ),
    )
}  # fmt: skip


def follow_to_the_letter(data: LocalData, period: Period, home: Path) -> dict[str, Any]:
    """Call the tools of the recorded plan one after the other, and look at nothing in between.

    The control: the same plan, the same tools, the same world. What a step says is written down and decides nothing.

    Args:
        data: The example.
        period: Which one.
        home: Where the demo lives; the control works in a folder of its own below it.

    Returns:
        The document of a run, without checks.

    Raises:
        PlanexecError: There is no plan.
    """
    planned, binding, own = data.planned, data.planned.binding, home / "literal"
    proposal = planned.planner().propose(PlanRequest(binding.task, period, binding.registry))
    if proposal.plan is None:
        raise PlanexecError(proposal.code or "PLAN_REJECTED", proposal.message)
    data.seed(own)
    roots = Roots(own / "sql", own / "reports", own / "landing", own / "files")
    ports = replace(binding.resources.ports(), warehouse=DuckDbWarehouse(own / "warehouse.duckdb"), roots=roots)
    plan = proposal.plan
    results: dict[str, Mapping[str, Any]] = {}
    steps: list[dict[str, Any]] = []
    for step_id in topological_order(edges(plan)):
        step = plan.step(step_id)
        tool = binding.registry[step.tool]

        def look_up(reference: Reference) -> Any:  # noqa: ANN401 - a result field is any JSON
            return results.get(reference.step, {}).get(reference.field)

        try:
            args = tool.contract.args.model_validate(resolve(step.args, look_up))
            call = ToolCall(binding.task, period, step.id, ports, Admission((), {}, {}), tool.contract.deadline_s)
            outcome = tool.call(args, call)
        except (PlanexecError, ValueError) as error:
            outcome = Failed("INTERNAL", str(error)[:300])
        said = ""
        if isinstance(outcome, Done):
            results[step.id] = outcome.result.model_dump(mode="json")
            said = ", ".join(f"{name} {value}" for name, value in results[step.id].items())[:300]
        elif isinstance(outcome, Failed | Held):
            said = f"{outcome.code}: {outcome.message}"
        steps.append(
            {"id": step.id, "tool": step.tool, "outcome": "done" if isinstance(outcome, Done) else "failed",
             "code": None if isinstance(outcome, Done) else outcome.code, "reason": said, "tries": 1,
             "duration_s": 0.0, "checks": []}
        )  # fmt: skip
    return of_task(binding.task, period) | {
        "plan": {
            "digest": full_digest(plan), "planner": "recorded", "author": proposal.author, "revision": 1,
            "model_called": False,
        },
        "status": "succeeded", "code": None, "steps": steps,
        "text": "followed to the letter; " + "; ".join(f"{s['id']}: {s['reason']}" for s in steps),
        "hint": "this is the control: the same plan and world without a check between the steps",
    }  # fmt: skip
