"""Text of attackers where SQL is made of it: every door either refuses it or takes it as a value, and nothing else moves.

Proved by what the database holds afterwards: no table gone, none made, no row more or less.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dagster_planexec.contract.file_contract import Column
from dagster_planexec.contract.outcome import Failed
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.journal.journal import Journal, NewEvent
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.tools.run_sql import RunSql, RunSqlArgs
from dagster_planexec.tools.warehouse.create_table import CreateTableArgs, WarehouseCreateTable
from dagster_planexec.tools.warehouse.snapshot import SnapshotArgs, WarehouseSnapshot
from dagster_planexec.world.ingest import FileFormat, NumberStyle, TextColumn, TextIngest
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Credit
from dagster_planexec.world.probes.table.tables import CountTable
from tests.support.hostile import CLASSICS, contents, hostile
from tests.support.reconciling import Bench, WallClock, bench, make_world, task

FEW = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = "select l.charge_id, l.amount as a, v.amount as b from ledger l full join vendor v using (charge_id)\n"


@pytest.fixture
def on(tmp_path: Path) -> Bench:
    """A month of two sides, a query, and credits that were issued."""
    out = bench(tmp_path)
    make_world(out, "normal")
    (out.sql / "q.sql").write_text(TEXT)
    DuckDbCredits(out.ports.warehouse, WallClock()).issue(Credit("s", "2026-03", "A", 1, Decimal("1.00"), "USD"))
    return out


def unmoved(on: Bench, attack: Callable[[], Any]) -> Any:
    """What an attack answers; whatever it is, the warehouse holds what it held."""
    before, answer = contents(on.ports.warehouse), None
    with suppress(PlanexecError, ValidationError):
        answer = attack()
    assert contents(on.ports.warehouse) == before
    return answer


TOOLS: dict[str, Callable[[str], tuple[Any, Any]]] = {
    "target of a query": lambda text: (
        RunSql(), RunSqlArgs(file="q.sql", inputs={"ledger": "staging.ledger", "vendor": "staging.vendor"}, target=text),  # noqa: E501
    ),
    "input of a query": lambda text: (
        RunSql(), RunSqlArgs(file="q.sql", inputs={"ledger": text, "vendor": "staging.vendor"}, target="recon.z"),
    ),
    "name of an input": lambda text: (
        RunSql(), RunSqlArgs(file="q.sql", inputs={text: "staging.ledger", "vendor": "staging.vendor"}, target="recon.z"),  # noqa: E501
    ),
    "file of a query": lambda text: (
        RunSql(), RunSqlArgs(file=text, inputs={"ledger": "staging.ledger", "vendor": "staging.vendor"}, target="recon.z"),  # noqa: E501
    ),
    "source of a snapshot": lambda text: (WarehouseSnapshot(), SnapshotArgs(source=text, target="staging.z")),
    "target of a snapshot": lambda text: (WarehouseSnapshot(), SnapshotArgs(source="books.charges", target=text)),
    "target of a table": lambda text: (WarehouseCreateTable(), CreateTableArgs(target=text, contract="charges")),
    "contract of a table": lambda text: (WarehouseCreateTable(), CreateTableArgs(target="staging.z", contract=text)),
}  # fmt: skip


@pytest.mark.parametrize("door", TOOLS)
def test_arguments_of_tools(on: Bench, door: str) -> None:
    """Called without the static check, which would have refused most of them before."""
    before = contents(on.ports.warehouse)
    for text in CLASSICS:

        def attack(text: str = text) -> Any:
            tool, args = TOOLS[door](text)
            return on.call(tool, args)

        with suppress(PlanexecError, ValidationError):
            assert isinstance(attack(), Failed), text
    assert contents(on.ports.warehouse) == before


@given(text=hostile)
@FEW
def test_names_of_tables_at_the_port(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    """Quoting, describing, counting, binding: a name is plain or refused."""
    warehouse = DuckDbWarehouse(tmp_path_factory.mktemp("w") / "w.duckdb")
    with warehouse.session() as session:
        session.execute("create schema books")
        session.execute("create table books.charges as select 1 as a")
        for attack in (
            lambda: session.describe(text),
            lambda: session.quote(text),
            lambda: session.bind_view(text, "select 1 as a"),
            lambda: session.execute(f"create table {session.quote(text)} as select 1 as a"),
        ):
            with suppress(PortError):
                attack()
        made = session.rows("select schema_name, table_name from duckdb_tables() where not temporary")
        assert ("books", "charges") in made
        assert session.rows("select * from books.charges") == [(1,)]
        # What was made bears the attacker's own name, letter for letter, or nothing was made at all.
        assert all(
            text in {name, f"{schema}.{name}"} for schema, name in made if (schema, name) != ("books", "charges")
        )


@given(scope=hostile, period=hostile, key=hostile)
@settings(FEW, max_examples=12)
def test_scope_period_and_line_key_of_an_effect(
    tmp_path_factory: pytest.TempPathFactory, scope: str, period: str, key: str
) -> None:
    """They are values: what was issued under them, and only that, is found under them again."""
    warehouse = DuckDbWarehouse(tmp_path_factory.mktemp("w") / "w.duckdb")  # a file each: examples do not add up
    api = DuckDbCredits(warehouse, WallClock())
    api.issue(Credit("s", "2026-03", "A", 1, Decimal("1.00"), "USD"))
    with suppress(PortError):
        api.issue(Credit(scope, period, key, 1, Decimal("2.00"), "U'S;--"))
    found = dict(api.issued(scope, period))
    assert found in ({}, {key: Decimal("2.00")})
    assert dict(api.issued("s", "2026-03")) == {"A": Decimal("1.00")}
    with warehouse.session() as session:
        assert session.rows("select count(*) from credits.issued") == [(1 + len(found),)]


@given(text=hostile)
@FEW
def test_partition_keys(text: str) -> None:
    """A period is parsed, never pasted: what comes out is built of its own numbers."""
    for granularity in ("month", "quarter"):
        with suppress(PlanexecError):
            period = Period.parse(text, granularity)  # type: ignore[arg-type]
            assert period.text.replace("-", "").replace("Q", "").isdigit()
            assert period.compact.replace("q", "").isdigit() or period.compact.isalnum()


# ------------------------------------------------------------------------------------------- contracts and files


@given(text=hostile)
@FEW
def test_columns_of_a_contract(text: str) -> None:
    """A column's name is plain; its headers may be anything that is not too long, as they never reach SQL."""
    with suppress(ValidationError):
        column = Column(name=text, type="text")
        assert column.name.replace("_", "").isalnum()
    if len(text) <= 200:
        assert Column(name="a", headers=(text,), type="text").aliases == (text,)
    else:
        with pytest.raises(ValidationError, match="at most 200 characters"):
            Column(name="a", headers=(text,), type="text")


@pytest.fixture
def loads(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Loads a file through the port, and checks that nothing else of the warehouse moved."""
    warehouse = DuckDbWarehouse(tmp_path / "w.duckdb")
    with warehouse.session() as session:
        session.execute("create schema books")
        session.execute("create schema staging")
        session.execute("create table books.charges as select 1 as a")

    def load(columns: tuple[TextColumn, ...], content: str, form: FileFormat, name: str = "in.csv") -> Any:
        path = tmp_path / name
        path.write_text(content, encoding="utf-8", newline="")
        table = ", ".join(f'"{c.name.replace(chr(34), chr(34) * 2)}" {c.sql_type}' for c in columns)
        with warehouse.session() as session:
            session.execute(f"create or replace table staging.t ({table})")
        with suppress(PortError):
            warehouse.ingest(TextIngest((path,), form, columns, "staging.t", "staging.t__rejects"))
        found = contents(warehouse)
        assert set(found) <= {"more", "books.charges", "staging.t", "staging.t__rejects"}
        assert [kind for kind, _ in found["more"]] == ["database"]
        with warehouse.session() as session:
            assert session.rows("select * from books.charges") == [(1,)]
            return session.rows("select * from staging.t")

    return load


@pytest.mark.parametrize("text", [CLASSICS[1], CLASSICS[2], CLASSICS[11], CLASSICS[16], CLASSICS[23]])
def test_everything_a_contract_declares_at_the_loader(loads: Callable[..., Any], text: str) -> None:
    """Names, headers, formats, marks and cells, even where no contract could declare them: the loader quotes for itself."""  # noqa: E501
    name = text.replace("\x00", "")[:200]
    header = '"' + name.replace('"', '""') + '"' if "," in name or '"' in name or "\n" in name or "\r" in name else name
    loads((TextColumn("a", name, "text"), TextColumn("b", "b", "text")), f"{header},b\n{header},1\n", FileFormat())
    loads((TextColumn(name, "a", "text"), TextColumn("b", "b", "text")), "a,b\nx,1\n", FileFormat())
    loads((TextColumn("a", "a", "date", formats=(text, "%Y-%m-%d")), TextColumn("b", "b", "text")),
          "a,b\n2026-03-01,1\n", FileFormat())  # fmt: skip


def test_marks_of_a_contract_at_the_loader(loads: Callable[..., Any]) -> None:
    """Each is one character, and none of them ends a literal."""
    for mark in ("'", '"', ";", "\\", "]", ")"):
        loads((TextColumn("a", "a", "decimal", number=NumberStyle(mark)), TextColumn("b", "b", "text")),
              f"a;b\n1{mark}000.00;1\n", FileFormat(delimiter=";"))  # fmt: skip
        loads((TextColumn("a", "a", "text"), TextColumn("b", "b", "text")), f"a{mark}b\nx{mark}1\n",
              FileFormat(delimiter=mark))  # fmt: skip


def test_a_cell_is_a_value(loads: Callable[..., Any]) -> None:
    """What stands in a cell is what the table holds."""
    cells = [text for text in CLASSICS if "\x00" not in text and "\r" not in text and len(text) < 1_000]
    lines = "".join('"' + text.replace('"', '""') + '",1\n' for text in cells)
    rows = loads((TextColumn("a", "a", "text"), TextColumn("b", "b", "text")), f"a,b\n{lines}", FileFormat())
    assert [row[0] for row in rows] == cells


def test_the_name_of_a_file(loads: Callable[..., Any]) -> None:
    """A landed copy is named by its digest; a loader that is given another name takes it as one."""
    for name in ("x'); drop table books.charges; --.csv", "*.csv", 'a"b.csv', "a[b].csv"):
        rows = loads((TextColumn("a", "a", "text"), TextColumn("b", "b", "text")), "a,b\nx,1\n", FileFormat(), name)
        assert rows == [("x", "1")], name


@pytest.mark.parametrize("word", [text for text in CLASSICS if "\x00" not in text])
def test_status_words(on: Bench, word: str) -> None:
    """The words of a result are bound: a word that is SQL counts the lines that bear it."""
    shape = on.task.deliverables[0].result
    assert shape is not None
    named = replace(shape, identical=word, only={side: f"{word} {side}" for side in shape.only})
    on.task = replace(on.task, deliverables=(replace(on.task.deliverables[0], result=named),))
    from dagster_planexec.contract.layout import result_layout
    from dagster_planexec.world.probes.result.report import FiguresOfResult

    with on.ports.warehouse.session() as session:
        session.execute("create schema if not exists recon")
        session.execute(
            "create table recon.r as select 'k' as charge_id, ? as status, 1.00::decimal(18,2) as ledger_amount, "
            "1.00::decimal(18,2) as vendor_amount", [word],
        )  # fmt: skip
    before = contents(on.ports.warehouse)
    seen = FiguresOfResult("recon.r", result_layout(on.task)).observe(on.ports)
    figures = seen["figures"]
    assert isinstance(figures, dict)
    assert (figures[f"lines:{word}"], figures["lines:all"]) == (1, 1)
    assert contents(on.ports.warehouse) == before


# ------------------------------------------------------------------------------------------- the journal


@given(task_name=hostile, period=hostile, step=hostile)
@FEW
def test_the_journal_binds_everything(
    tmp_path_factory: pytest.TempPathFactory, task_name: str, period: str, step: str
) -> None:
    """Tasks, periods, steps, kinds: found again under what they are, and nothing under what they are not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PLANEXEC_HOME", str(tmp_path_factory.mktemp("j")))
        journal = Journal()
    try:
        own, _ = journal.open_attempt(task="t", version="1", period="2026-03", inputs_digest="i", admission={})
        journal.append(own.id, "r", [NewEvent("stopped", "a", {"code": "X", "reason": ""})])
        other, _ = journal.open_attempt(task=task_name, version=step, period=period, inputs_digest=step, admission={})
        journal.append(other.id, period, [NewEvent("judged", step, {"x": step})])
        found = journal.events(other.id, run_id=period, kinds=["judged"], step=step)
        assert [event.step for event in found] == [step]
        assert journal.full_digest_of("%") is None
        assert [a.id for a in journal.newest_attempts("t")] == [own.id]
        assert [e.kind for e in journal.events(own.id)] == ["attempt-opened", "stopped"]
    finally:
        journal.close()


def test_the_count_of_a_table_that_is_no_table(on: Bench) -> None:
    """A probe that is handed such a name ends in an error, not in an answer."""

    def attack() -> None:
        for text in CLASSICS:
            with suppress(PortError):
                CountTable(text).observe(on.ports)

    unmoved(on, attack)


@given(st.sampled_from(CLASSICS))
@FEW
def test_names_of_inputs_and_sides_are_plain(text: str) -> None:
    """A task whose side bears such a name cannot compare anything: the name is refused where it is bound."""
    with suppress(PlanexecError, ValueError):
        named = task((text, "vendor"))
        assert named.sides[0].name == text
