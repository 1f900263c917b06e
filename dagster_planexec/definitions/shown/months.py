"""One line per period: settled, held, stopped, rejected, as the journal knows it."""

from __future__ import annotations

from typing import Any

import dagster as dg

from dagster_planexec.compiler.markup import escaped, table
from dagster_planexec.contract.task import Task
from dagster_planexec.journal.journal import Attempt, Journal

MOST_MONTHS = 60
"""Lines shown; the newest."""


def months_card(journal: Journal, task: Task) -> dict[str, dg.MetadataValue[Any]]:
    """The task's periods as metadata of an observation, newest first."""
    attempts = list(reversed(journal.newest_attempts(task.name)))[:MOST_MONTHS]
    header = {"period": "period", "status": "status", "plan": "plan", "opened": "opened"}
    rows = [
        {
            "period": escaped(a.period),
            "status": said(a),
            "plan": escaped((a.plan_digest or "none")[:8]),
            "opened": escaped(a.opened_at[:19]),
        }
        for a in attempts
    ]
    return {
        "months": dg.MetadataValue.md(table(header, rows)),
        "settled": dg.MetadataValue.int(sum(1 for a in attempts if a.status == "settled")),
        "not_settled": dg.MetadataValue.int(sum(1 for a in attempts if a.status != "settled")),
    }


def said(attempt: Attempt) -> str:
    """`settled`, `held (CAP_EXCEEDED)`, `stopped (OBJECT_GONE)`."""
    return escaped(attempt.status + (f" ({attempt.code})" if attempt.code else ""))
