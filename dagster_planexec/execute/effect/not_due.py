"""Periods before `effects_from`: nothing that cannot be undone is begun for them, whoever asks and whoever approves."""

from __future__ import annotations

from dagster_planexec.contract.tool import ToolContract
from dagster_planexec.execute.work import Run
from dagster_planexec.world.period import Period


def why_not_due(run: Run, contract: ToolContract) -> str | None:
    """Why a step with this tool is not even begun; None if it may be."""
    made = run.work.task.irreversible
    if contract.effect != "irreversible" or made is None or not made.effects_from:
        return None
    first = Period.parse(made.effects_from, run.work.task.granularity)
    if not run.period < first:
        return None
    return f"{run.period.text} is before {first.text}, from which the task's effects count; nothing is issued for it"
