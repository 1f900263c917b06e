"""A fingerprint is of values and of the names under which they stand."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.ports import Ports, Roots
from dagster_planexec.world.probes.table.evidence import FingerprintOfView
from dagster_planexec.world.probes.table.tables import FingerprintTable
from dagster_planexec.world.sides.relation import InputView

TABLE = "s.t"
VIEW = InputView("t", "side", TABLE, ("k",), "ours", "day", date(2026, 2, 1), date(2026, 3, 1))


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    warehouse = DuckDbWarehouse(tmp_path / "w.duckdb")
    with warehouse.session() as session:
        session.execute("create schema s")
        session.execute(
            "create table s.t as select 'a' as k, 1.00 as ours, 2.00 as theirs, date '2026-02-03' as day"
            " union all select 'b', 3.00, 4.00, date '2026-03-03'"
        )
    roots = Roots(tmp_path / "sql", tmp_path / "reports", tmp_path / "landing")
    return Ports(None, warehouse, None, SystemClock(), roots)  # type: ignore[arg-type]


def change(ports: Ports, *statements: str) -> None:
    with ports.warehouse.session() as session:
        for statement in statements:
            session.execute(f"alter table {TABLE} {statement}" if "update" not in statement else statement)


SWAPPED = ("rename ours to other", "rename theirs to ours", "rename other to theirs")


@pytest.mark.parametrize("probe", [FingerprintTable(TABLE), FingerprintOfView(VIEW)], ids=["table", "view"])
@pytest.mark.parametrize(
    "statements",
    [("rename ours to mine",), SWAPPED, ("drop column theirs",), ("update s.t set ours = ours + 1",)],
    ids=["renamed", "swapped", "dropped", "updated"],
)
def test_a_change_of_values_or_names_shows(ports: Ports, probe, statements):
    before = probe.observe(ports)
    assert probe.observe(ports).facts == before.facts

    change(ports, *statements)

    assert probe.observe(ports).facts != before.facts
    assert probe.observe(ports)["rows"] == before["rows"]


def test_a_copy_has_the_fingerprint_of_what_it_is_a_copy_of(ports: Ports):
    """The view in scope, and a table made of it."""
    with ports.warehouse.session() as session:
        session.execute(f"create table s.copy as {VIEW.query(session.quote)}")

    copy = FingerprintTable("s.copy").observe(ports)

    assert copy["digest"] == FingerprintOfView(VIEW).observe(ports)["digest"]
    assert copy["rows"] == 1
