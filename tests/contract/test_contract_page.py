"""Every example of the page on file contracts: what it says a cell becomes, it becomes, to loader and counter."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from dagster_planexec.contract.file.column import Column
from dagster_planexec.contract.file.rules import Allowed, Final, Sign, TrailerRule, Window
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.resources.loading.ingest import ingest_text
from dagster_planexec.world.ingest import Counted, FileFormat, TextColumn
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract
from tests.support.loading import TARGET, Loading
from tests.support.loads import create, ingest_of

PAGE = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text(encoding="utf-8")
CELLS = [
    (kind, *row)
    for kind, table in re.findall(
        r"^\| a (\w+) that declares \|.*?\n\|[-|]+\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL
    )
    for row in re.findall(r"^\| `(.*?)` \| `(.*?)` \| (.*?) \|$", table, re.MULTILINE)
]
FILES = re.findall(
    r"^```yaml\n([^`]*)```\n\n```csv\n(.*?)```\n\n(gives|ends with) (.*?)$", PAGE, re.MULTILINE | re.DOTALL
)

COLUMNS: dict[str, dict[str, Any]] = {
    "id": {"type": "text"},
    "amount": {"type": "decimal"},
    "kind": {"type": "text"},
    "day": {"type": "date", "formats": ["%Y-%m-%d"]},
    "money": {"type": "text"},
    "note": {"type": "text"},
}
"""What the columns of the page's files are, unless an example says more of one."""


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@pytest.mark.parametrize(("kind", "declared", "text", "becomes"), CELLS)
def test_a_cell_becomes_what_the_page_says(connection, tmp_path, kind, declared, text, becomes):
    words: dict[str, Any] = yaml.safe_load(declared)
    column = Column.model_validate({"name": "cell", "type": kind, **words}).in_file("cell", ())
    cell = re.sub(r"\\u(\w{4})", lambda found: chr(int(found[1], 16)), text)
    path = tmp_path / "file.csv"
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["id", "cell"], ["a", cell]])
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    columns = (TextColumn("id", "id", "text"), column)
    create(connection, columns)

    report = ingest_text(connection, ingest_of(path, columns=columns))

    found = connection.execute("select cast(cell as varchar) from staging.t").fetchall()
    if re.fullmatch("[A-Z_]+", becomes):
        assert (report.rejects, found) == ({becomes: 1}, [])
    else:
        assert (report.rejects, found) == ({}, [(None if becomes == "nothing" else becomes.strip("`"),)])
    if column.type in {"decimal", "integer"}:
        counted = CountExtract(path, FileFormat(), Counted(column)).tally().amounts
        value = Decimal(found[0][0]) if found and found[0][0] is not None else Decimal(0)
        assert (counted.total, counted.unparsable) == (value, int(not found and not column.nulls))
        assert counted.empty == int(becomes == "nothing" or (not found and bool(column.nulls)))


@pytest.mark.parametrize(("declared", "raw", "how", "what"), FILES)
def test_a_file_ends_as_the_page_says(tmp_path, declared, raw, how, what):
    words: dict[str, Any] = yaml.safe_load(declared)
    told = {column["name"]: column for column in words.pop("columns", [])}
    there = {name: kind for name, kind in COLUMNS.items() if name in {"id", "amount"} or f",{name}" in raw}
    columns = [{"name": name, **kind, **told.get(name, {})} for name, kind in there.items()]
    base = {"name": "charges", "version": "1", "key": ["id"], "amount": "amount", "date": None, "currency": "USD"}
    loading = Loading(tmp_path, FileContract.model_validate({**base, **words, "columns": columns}))
    loading.land(raw)

    code, said = loading.ended()

    if how == "ends with":
        assert code == what, said
        return
    rows, total = re.fullmatch(r"(\d+) rows, ([\d.]+)", what).groups()  # type: ignore[union-attr]
    assert code is None, said
    assert loading.sql(f"select count(*), sum(amount) from {TARGET}") == [(int(rows), Decimal(total))]


def test_every_word_of_every_rule_is_on_the_page():
    """The vocabulary of the contract and of its columns is compared in tests/test_docs.py."""
    tables = re.findall(r"^\| word of .*?\n\|[-|]+\n(.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    words = {word for table in tables for word in re.findall(r"^\| `(\w+)`", table, re.MULTILINE)}
    rules = (Allowed, Final, Sign, TrailerRule)

    assert words == {word for rule in rules for word in rule.model_fields}
    assert [word for word in Window.model_fields if f"{word}: 0" not in PAGE] == []
    assert (len(CELLS) > 80, len(FILES) > 10) == (True, True)
