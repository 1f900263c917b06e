"""Ops as somebody would write them who needs the same work done and the same events shown, and nothing else."""

# No `from __future__ import annotations` here: Dagster reads the context class from the annotation itself.

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb

from bench.scene import Scene

ADMITTED_TAG = "by_hand/admitted"
"""On the run: the fingerprint of the live table when the run was asked for."""
IN_SCOPE = "select * from ledger.charges where charged_on >= date '2026-03-01' and charged_on < date '2026-04-01'"
Events = Iterator[dg.AssetCheckEvaluation | dg.Output[None]]


def fingerprint_of(query: str) -> str:
    """The statement that counts rows and adds up their hashes."""
    return f'select count(*), cast(sum(hash(hash("a row"))::hugeint) as varchar) from ({query}) "a row"'


def by_hand(on: Scene, steps: int) -> dg.JobDefinition:
    """A chain of ops, each of which copies the ledger and shows the four checks that a snapshot has."""
    snapshot = _op(on.warehouse.path)

    @dg.graph(name="by_hand")
    def chain() -> None:
        before = None
        for n in range(steps):
            step = snapshot.alias(f"snapshot_{n}")
            before = step(after=before) if before is not None else step()

    return chain.to_job(executor_def=dg.in_process_executor)


def _op(warehouse: Path) -> dg.OpDefinition:
    @dg.op(ins={"after": dg.In(dg.Nothing)}, out={"done": dg.Out(dg.Nothing)})
    def snapshot(context: dg.OpExecutionContext) -> Events:
        name = context.op_handle.name
        table = f"staging.{name}"
        with duckdb.connect(warehouse) as connection:
            connection.execute(f"create or replace table {table} as {IN_SCOPE}")
            live = connection.execute(f"select count(*), sum(amount) from ({IN_SCOPE})").fetchall()
            copy = connection.execute(f"select count(*), sum(amount) from {table}").fetchall()
            now = str(connection.execute(fingerprint_of(f"select * from {table}")).fetchall())
            keys = connection.execute(
                "select count(*) filter (key is null), count(*) filter (n > 1) from "
                f"(select trim(charge_id) as key, count(*) as n from {table} group by key)"
            ).fetchall()
        for check, expected, observed in (
            ("snapshot_is_complete", live, copy),
            ("snapshot_is_as_admitted", context.run.tags[ADMITTED_TAG], now),
            ("keys_are_present", 0, keys[0][0]),
            ("keys_are_unique", 0, keys[0][1]),
        ):
            yield _evaluation(name, check, expected, observed)
        yield dg.Output(None, "done")

    return snapshot


def _evaluation(step: str, check: str, expected: object, observed: object) -> dg.AssetCheckEvaluation:
    said = f"expected {expected}, saw {observed}"
    texts = {
        "status": "passed", "expected": str(expected), "expected_from": "warehouse:ledger.charges read by SQL",
        "observed": str(observed), "observed_from": f"warehouse:staging.{step} read by SQL", "says": said,
    }  # fmt: skip
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(["by_hand", step]),
        check_name=f"post__{check}",
        passed=expected == observed,
        severity=dg.AssetCheckSeverity.ERROR,
        blocking=True,
        description=said,
        metadata={name: dg.MetadataValue.text(text) for name, text in texts.items()},
    )
