"""A delivery as the harness takes it: landed, judged before the load, loaded, judged after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.errors import PortError
from dagster_planexec.tools.warehouse.load import WarehouseLoad
from tests.support.loading import TARGET, Loading

SKIPPED = {"period_is_covered"}
"""Judged by tests of its own: the files here are of any month."""


@dataclass(frozen=True)
class Judged:
    """What came of it."""

    outcome: str
    code: str | None
    rows: int = 0
    total: Decimal = Decimal(0)
    text: str = field(default="", compare=False)


def judged(folder: Path, contract: FileContract, files: Sequence[tuple[str, bytes]]) -> Judged:
    """Land, judge, load and judge again; the first refusal, or what is in the table."""
    loading = Loading(folder, contract)
    for name, raw in files:
        loading.land(raw, f"vendor/{name}")
    with loading.warehouse.together():
        return _judged(loading)


def _judged(loading: Loading) -> Judged:
    pre = _first(loading, WarehouseLoad.contract.preconditions, "pre")
    if pre is not None:
        return pre
    try:
        outcome = loading.load()
    except PortError as error:
        return Judged("refuse", error.code, text=error.message)
    if isinstance(outcome, Failed):
        return Judged("refuse", outcome.code, text=outcome.message)
    assert isinstance(outcome, Done)
    post = _first(loading, WarehouseLoad.contract.postconditions, "post")
    if post is not None:
        return post
    ((rows, total),) = loading.sql(f"select count(*), coalesce(sum(amount), 0) from {TARGET}")
    assert isinstance(rows, int)
    assert isinstance(total, Decimal)
    return Judged("accept", None, rows, total)


def _first(loading: Loading, names: Sequence[str], phase: Phase) -> Judged | None:
    for name in names:
        for verdict in () if name in SKIPPED else loading.judge(name, phase=phase):
            if not verdict.opens:
                return Judged("refuse", verdict.code, text=verdict.text)
    return None
