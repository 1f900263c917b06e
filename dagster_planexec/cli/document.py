"""The one JSON document, where no run came to write it: a bad request, a plan that is only checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dagster_planexec.contract.codes import meaning
from dagster_planexec.errors import PlanexecError

if TYPE_CHECKING:
    from dagster_planexec.contract.task import Task
    from dagster_planexec.journal.run_report import RunStatus
    from dagster_planexec.world.period import Period

EXIT = {"succeeded": 0, "held": 3, "waiting": 6, "stood-back": 7, "stopped": 4, "rejected": 5, "error": 1}
"""Status to exit code."""


def blank(
    *, task: str | None = None, partition: str | None = None, status: RunStatus = "error", code: str | None = None,
    text: str | None = None, hint: str | None = None, findings: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:  # fmt: skip
    """A document in which nothing happened yet: every part is there, counts are 0 and unknown values null."""
    return {
        "version": 1, "task": task, "partition": partition,
        "plan": {"digest": None, "planner": None, "author": None, "revision": 0, "model_called": False,
                 "usage": None},
        "status": status, "code": code, "cause": None, "text": text,
        "hint": hint or (meaning(code).hint if code else None),
        "task_run_id": None, "plan_run_id": None, "ended_at": None,
        "findings": [dict(finding) for finding in findings], "revisions": [], "steps": [],
        "reconciliation": {
            "ledger_rows": 0, "vendor_rows": 0, "identical": 0, "amount_differs": 0, "vendor_only": 0, "ledger_only": 0,
            "sums": {},
        },
        "credits": {
            "issued_count": 0, "issued_amount": "0.00", "held_count": 0, "held_amount": "0.00", "hold_id": None,
            "currency": None,
        },
        "report": {"md": None, "html": None, "json": None},
    }  # fmt: skip


def of_task(task: Task, period: Period) -> dict[str, Any]:
    """A blank document of a known task and period, with the names of its own sides."""
    from dagster_planexec.journal.run_report import RunReport  # noqa: PLC0415 - SQLAlchemy, which `--help` does not pay

    return RunReport.blank(task, period, task_run_id=None).as_json()


def of_error(error: PlanexecError, *, task: str | None = None, partition: str | None = None) -> dict[str, Any]:
    """The document of a request that could not be carried out."""
    status: RunStatus = "rejected" if error.code == "PLAN_REJECTED" else "error"
    return blank(task=task, partition=partition, status=status, code=error.code, text=error.message, hint=error.hint)
