"""Why did a table's row count drop? Each step depends on what the last one saw, so the plan ends at checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assets.row_count_investigation.places import landed, load_log, orders
from dagster_planexec.contract.task import Deliverable, Limits, Scope, Task, Watch
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Roots
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import FingerprintTable

FOLDER = Path(__file__).parent
MEASURING = ("compare_days", "read_load_log", "compare_values", "compare_view", "compare_repeats")


def _table(name: Callable[[Period], str]) -> Callable[[Task, Period, Roots], Probe]:
    return lambda _task, period, _roots: FingerprintTable(name(period))


TASK = Task(
    name="row_count_investigation",
    version="1",
    goal="Find out why the orders of the month have fewer rows than usual, and say what that rests on; if nothing "
    "carries a cause, say that none was found.",
    granularity="month",
    first_period="2026-01",
    last_period="2026-07",
    zone="UTC",
    tools=(*MEASURING, "conclude"),
    deliverables=(Deliverable("row_count_finding", ("conclude",)),),
    limits=Limits(max_steps=8, max_replans=6),
    scope=Scope(schemas_read=frozenset({"shop"}), schemas_write=frozenset({"findings"})),
    watches=tuple(
        Watch(word, _table(name), {"rows": "its rows"}, gone="TABLE_GONE", changed="EXPECTATION_FAILED")
        for word, name in (("orders", orders), ("landed", landed), ("load_log", load_log))
    ),
    checkpoints=True,
)
