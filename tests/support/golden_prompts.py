"""The prompts that the golden tests hold: a first one, and one for a re-plan whose plan was refused.

`python -m tests.support.golden_prompts` writes them anew; read the diff before it is committed.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.journal.patterns import FailurePattern
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.prompt.prompt import Prompt, prompt_of
from dagster_planexec.planner.request import PlanRequest, Repair, Revising, Seen, StepOutcome
from dagster_planexec.world.observation import Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.subject import Subject
from tests.support.toolbox import REGISTRY, TASK, flagship, flagship_json

FOLDER = Path(__file__).resolve().parents[1] / "planner" / "golden"
AT = datetime(2026, 4, 2, 9, 2, tzinfo=UTC)

_SEEN = (
    Seen("drop", "s3:vendor-drops/vendor/exports/* read by LIST at 2026-04-02T09:02:00.000Z",
         {"objects": 1, "bytes": 4_321, "listed": ({"key": "vendor/exports/2026-03-invoice.csv", "bytes": 4_321,
                                                    "last_modified": AT},)}),
    Seen("input:ledger", "warehouse:ledger.charges read by catalogue at 2026-04-02T09:02:00.100Z",
         {"columns": {"charge_id": "VARCHAR", "charged_on": "DATE", "amount": "DECIMAL(18,2)"}}),
    Seen("input:ledger in 2026-03", "warehouse:ledger.charges read by SQL at 2026-04-02T09:02:00.200Z",
         {"rows": 61_400}),
    Seen("sql:reconcile.sql", "files:reconcile.sql read by sqlglot at 2026-04-02T09:02:00.300Z",
         {"file": "reconcile.sql", "reads": ("ledger", "vendor")}),
    Seen("effects", "credits:vendor-invoice-credits/2026-03 read by credits issued", None,
         "UNAVAILABLE: the credit system did not answer"),
)  # fmt: skip
_PATTERNS = (
    FailurePattern("vendor_reconciliation", "s3.get", "OBJECT_GONE", "object_exists", "a1b2c3d4e5f6", 2, "2026-01-09",
                   "2026-02-09", "new inputs"),
    FailurePattern("vendor_reconciliation", "warehouse.load", "UNKNOWN_COLUMN", None, "a1b2c3d4e5f6", 5, "2025-11-02",
                   "2026-03-02", None),
)  # fmt: skip


def first() -> PlanRequest:
    """A request as a month's first plan is asked for."""
    return PlanRequest(TASK, Period.parse("2026-03", "month"), REGISTRY, _SEEN, _PATTERNS)


def revising() -> PlanRequest:
    """A request after a surprise, whose first answer was refused."""
    plan = flagship()
    fetch = StepOutcome(plan.step("fetch_export"), "done", None, {"landed": "ab" * 32, "bytes": 4_321})
    load = StepOutcome(plan.step("load_staging"), "failed", "DROP_INCOMPLETE")
    broken = Verdict(
        "drop_is_complete", "pre", "failed",
        Side(1, Source(Subject("plan", "recorded"), "objects that steps read")),
        Side(2, Source(Subject("s3", "vendor-drops/vendor/exports/*"), "LIST", AT)),
        "DROP_INCOMPLETE", "'vendor/exports/2026-03-invoice-b.csv' is read by no step",
    )  # fmt: skip
    why = Revising(
        2,
        "surprise",
        "load_staging",
        "DROP_INCOMPLETE",
        (broken,),
        (fetch,),
        plan.steps[2:5],
        (fetch, load),
        (plan,),
        1,
    )
    refused = flagship_json()
    refused["steps"][6]["args"]["cap"] = "900.00"
    finding = {
        "code": "cap-above-policy", "step": "issue_credit", "field": "args.cap", "expected": "at most 500.00",
        "seen": "'900.00'", "hint": "name a lower cap, or none", "severity": "error",
    }  # fmt: skip
    return replace(first(), revising=why, repair=Repair(Plan.model_validate(refused), (finding,)))


def text_of(prompt: Prompt) -> str:
    """A prompt as the golden files show it."""
    return "".join(f"===== {message['role']}\n{message['content']}\n" for message in prompt.messages)


GOLDEN = {"first.txt": first, "revising.txt": revising}

if __name__ == "__main__":
    for name, request in GOLDEN.items():
        (FOLDER / name).write_text(text_of(prompt_of(request())), encoding="utf-8")
        sys.stdout.write(f"tests/planner/golden/{name} is written\n")
