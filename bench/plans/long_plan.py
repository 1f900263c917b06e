"""A plan of any length: the flagship's first five steps, over and over, one block after another.

It is well formed and asks for nothing that is not allowed. It only does too much, and never gets to the report.
"""

from __future__ import annotations

from typing import Any

from dagster_planexec.plan.model import Plan


def long_plan(steps: int) -> Plan:
    """Snapshot, table, fetch, load, query; each block starts when the one before has ended."""
    made: list[dict[str, Any]] = []
    for block in range(-(-steps // 5)):
        made += _block(block)
    return Plan.model_validate(
        {"task": "vendor_reconciliation", "period": "2026-03", "intent": "A long plan", "steps": made[:steps]}
    )


def _block(n: int) -> list[dict[str, Any]]:
    before = [f"query_{n - 1}"] if n else []
    inputs = {"ledger": {"ref": f"snapshot_{n}.table"}, "vendor": {"ref": f"load_{n}.table"}}
    sources = [{"ref": f"fetch_{n}.landed"}]
    return [
        _step(
            f"snapshot_{n}", "warehouse.snapshot", before, source="ledger.charges", target=f"staging.ledger_{n}_202603"
        ),
        _step(
            f"table_{n}",
            "warehouse.create_table",
            before,
            target=f"staging.invoice_{n}_202603",
            contract="vendor_invoice",
        ),
        _step(f"fetch_{n}", "s3.get", before, bucket="vendor-drops", key="vendor/exports/2026-03-invoice.csv"),
        _step(
            f"load_{n}",
            "warehouse.load",
            [f"fetch_{n}", f"table_{n}"],
            sources=sources,
            target={"ref": f"table_{n}.table"},
        ),
        _step(
            f"query_{n}",
            "run_sql",
            [f"load_{n}", f"snapshot_{n}"],
            file="reconcile.sql",
            inputs=inputs,
            target=f"recon.lines_{n}_202603",
        ),
    ]


def _step(name: str, tool: str, after: list[str], **args: object) -> dict[str, Any]:
    return {"id": name, "tool": tool, "args": args, "depends_on": after, "claims": [], "rationale": "to be measured"}
