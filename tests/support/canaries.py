"""Secrets that are put into the environment, and a search for them in everything that a run leaves behind."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import dagster as dg
import duckdb

CANARIES: Mapping[str, str] = {
    "AWS_SECRET_ACCESS_KEY": "aws/Canary+4aWz9Q1kLm7Xs2Tn",
    "PLANEXEC_CREDIT_TOKEN": "credit.canary.8810.Zq7",
    "OPENAI_API_KEY": "sk-canary-Jh3s8Kd92mQp0xWv5tRb",
    "PLANEXEC_APPROVAL_KEY_ADA": "approval canary of Ada: 77f0e1",
}
"""Variable to its value. None is in any pattern that is known without the environment, but for the third."""


def forms(secret: str) -> set[str]:
    """How a secret may stand in a file."""
    return {secret, quote(secret, safe=""), json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()}


def found_in(text: str | bytes, secrets: Mapping[str, str] = CANARIES) -> list[str]:
    """The variables whose secret stands in a text or in bytes; half of one counts, if it is twelve characters."""
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    return [
        name for name, secret in secrets.items()
        if any(form.encode() in raw for form in forms(secret)) or secret[:12].encode() in raw
    ]  # fmt: skip


def leaks(root: Path, secrets: Mapping[str, str] = CANARIES, *, without: tuple[str, ...] = ()) -> list[str]:
    """`file: variable` for every file below that holds one: as it is, unpacked, or in a row of its database."""
    found = []
    for path in sorted(root.rglob("*")):
        if path.is_file() and not any(part in path.parts for part in without):
            where = path.relative_to(root).as_posix()
            found += [f"{where}: {name}" for piece in _pieces(path, secrets) for name in found_in(piece, secrets)]
    return sorted(set(found))


def _pieces(path: Path, secrets: Mapping[str, str]) -> Iterator[str | bytes]:
    raw = path.read_bytes()
    yield raw
    if raw.startswith(b"\x1f\x8b"):
        with contextlib.suppress(OSError, zlib.error, EOFError):
            yield gzip.decompress(raw)
    if raw.startswith(b"SQLite format 3"):
        # A long text lies in several pages, where no search of the file finds it whole.
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            yield "\n".join(db.iterdump())
        db.close()
    if path.suffix == ".duckdb":
        with duckdb.connect(str(path), read_only=True) as db:
            tables = db.execute("select schema_name, table_name from duckdb_tables()").fetchall()
            for (schema, table), secret in product(tables, secrets.values()):
                holds = f'select r::varchar from "{schema}"."{table}" r where contains(r::varchar, ?) limit 1'
                yield str(db.execute(holds, [secret[:12]]).fetchall())


def dagster_says(instance: dg.DagsterInstance) -> str:
    """Everything Dagster stored about every run: its record, its tags and config, its events with their errors."""
    parts: list[str] = []
    for record in instance.get_run_records():
        run = record.dagster_run
        parts += [repr(run), json.dumps(run.tags), json.dumps(run.run_config, default=str)]
        parts += [f"{log!r} {log.to_json()}" for log in instance.all_logs(run.run_id)]
    return "\n".join(parts)


def postgres_says(connection: Any) -> str:
    """Every row of every table of the journal, as text."""
    tables = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
    return "\n".join(str(connection.execute(f'select t::text from "{name}" t').fetchall()) for (name,) in tables)
