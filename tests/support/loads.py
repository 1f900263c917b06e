"""Files, contracts and tables for tests of loading."""

from __future__ import annotations

from pathlib import Path

import duckdb

from dagster_planexec.world.ingest import Counted, FileFormat, NumberStyle, TextColumn, TextIngest

CASES = Path(__file__).parents[1] / "cases" / "vendor_files"

INVOICE = (
    TextColumn("invoice_id", "invoice_id", "text"),
    TextColumn("line_no", "line_no", "integer"),
    TextColumn("invoice_date", "invoice_date", "date", formats=("%Y-%m-%d",)),
    TextColumn("amount", "amount", "decimal"),
    TextColumn("currency", "currency", "text"),
)


def amounts(**style: object) -> Counted:
    """What is counted of a file with a column `amount`, written in this style."""
    return Counted(TextColumn("amount", None, "decimal", number=NumberStyle(**style), aliases=("amount",)))  # type: ignore[arg-type]


def case_file(number: str, name: str = "vendor.csv") -> Path:
    """A data file of a case, by the case's number."""
    return next(CASES.glob(f"{number}-*")) / name


def create(connection: duckdb.DuckDBPyConnection, columns: tuple[TextColumn, ...], target: str = "staging.t") -> None:
    """An empty table with these columns."""
    connection.execute(f"create schema if not exists {target.split('.', maxsplit=1)[0]}")
    spec = ", ".join(f'"{column.name}" {column.sql_type}' for column in columns)
    connection.execute(f"create or replace table {target} ({spec})")


def ingest_of(
    *paths: Path, columns: tuple[TextColumn, ...] = INVOICE, form: FileFormat | None = None, target: str = "staging.t"
) -> TextIngest:
    """A request for these files."""
    return TextIngest(paths, form or FileFormat(), columns, target, f"{target}__rejects")
