"""What cannot be undone, recorded on its external asset: it has happened, it waits, or nothing was due."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import dagster as dg

from dagster_planexec.compiler.markup import escaped
from dagster_planexec.contract.task import Deliverable
from dagster_planexec.definitions.shown.ending import hold_metadata
from dagster_planexec.journal.run_report import RunReport, StepEntry, credits_of

_NOTHING: Mapping[str, dg.MetadataValue[Any]] = MappingProxyType({})
Context = dg.AssetExecutionContext | dg.OpExecutionContext


def log_effects(context: Context, report: RunReport, more: Mapping[str, dg.MetadataValue[Any]] = _NOTHING) -> None:
    """One event per irreversible deliverable that this run reached; `more` is shown of what it issued."""
    for deliverable in report.task.deliverables:
        if deliverable.repeatable:
            continue
        for step in report.steps:
            if step.tool in deliverable.tools:
                event = _event(context, report, deliverable, step, more)
                if event is not None:
                    context.log_event(event)


def _event(
    context: Context,
    report: RunReport,
    deliverable: Deliverable,
    step: StepEntry,
    more: Mapping[str, dg.MetadataValue[Any]],
) -> dg.AssetMaterialization | dg.AssetObservation | None:
    key, partition = dg.AssetKey(deliverable.name), report.period.key
    links = {"plan_run": dg.MetadataValue.dagster_run(report.plan_run_id)} if report.plan_run_id else {}
    match step.outcome:
        case "done" | "reused":
            standing = credits_of(report)
            issued = int(standing["issued_count"])
            metadata = {
                "dagster/row_count": dg.MetadataValue.int(issued),
                "amount": dg.MetadataValue.text(str(standing["issued_amount"])),
                **links,
                **more,
            }
            if issued == 0:
                return dg.AssetObservation(
                    key, description="Nothing is issued for the period", partition=partition, metadata=metadata
                )
            # An earlier run may have issued and died before it could say so.
            if step.outcome == "reused" and partition in context.instance.get_materialized_partitions(key):
                return None
            return dg.AssetMaterialization(key, description="Issued", partition=partition, metadata=metadata)
        case "held":
            return dg.AssetObservation(
                key, description="Waits for a person; nothing was issued", partition=partition,
                metadata={**hold_metadata(report), **links},
            )  # fmt: skip
        case "not-run" if step.code == "EFFECTS_NOT_DUE":
            return dg.AssetObservation(
                key, description=f"Not due: {escaped(step.reason, 500)}", partition=partition, metadata=links
            )
        case _:
            return None
