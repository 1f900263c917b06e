"""A real Postgres server for tests, from a wheel: one per test process, on a socket in a folder of its own."""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

PASSWORD = "correct-horse-battery"
_number = itertools.count(1)


@dataclass(frozen=True)
class Postgres:
    """The server, and databases in it."""

    server: Any
    host: str

    def admin(self, database: str = "postgres") -> psycopg.Connection[tuple[Any, ...]]:
        """A connection that may do everything."""
        return psycopg.connect(host=self.host, user="postgres", dbname=database, autocommit=True)

    def database(self) -> str:
        """A new, empty database."""
        name = f"journal_{next(_number)}"
        with self.admin() as db:
            db.execute(f"create database {name}")
        return name

    def url(self, database: str, *, user: str = "postgres", password: str = PASSWORD) -> str:
        """Its address as an environment variable has it. Only `locked` is asked for the password."""
        return f"postgresql+psycopg://{user}:{password}@/{database}?host={self.host}"

    def end_connections(self, database: str) -> None:
        """What a restart of the server does to its clients."""
        with self.admin() as db:
            db.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [database])


@contextmanager
def running() -> Iterator[Postgres]:
    """Start a server; stop it and forget its data at the end of the block."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver
    # Short, as the path of a socket may have only a hundred characters; not under pytest's own folders, which only
    # their owner may enter: as root, the server runs as a user of its own.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder / "d", cleanup_mode="stop")
    try:
        host = server.get_uri().partition("host=")[2]
        rules = folder / "d" / "pg_hba.conf"
        rules.write_text("local all locked scram-sha-256\n" + rules.read_text())
        postgres = Postgres(server, host)
        with postgres.admin() as db:
            db.execute(f"create user locked password '{PASSWORD}'")
            db.execute("create user reader")
            db.execute("select pg_reload_conf()")
        yield postgres
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server of this test process."""
    if sys.version_info >= (3, 13):
        pytest.skip("there is no Postgres as a wheel for this Python yet")
    with running() as server:
        yield server
