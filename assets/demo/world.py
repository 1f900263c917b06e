"""The demo's world: a home folder, a ledger in DuckDB, and a bucket with what the vendor delivered."""

from __future__ import annotations

import csv
import hashlib
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assets.demo import council, saturday
from assets.demo.local_s3 import client_for
from assets.pair import DataSet, Pair, money
from assets.reconciliation import SQL_FOLDER
from dagster_planexec.errors import PlanexecError
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Roots

if TYPE_CHECKING:
    import duckdb
    from mypy_boto3_s3 import S3Client

DATA_SETS: dict[str, DataSet] = {data.name: data for data in (saturday.DATA, council.DATA)}
QUIET_S = 5
"""The quiet period of the demo; the task's own is fifteen minutes."""

_TABLE = (
    "charge_id varchar, account_id varchar, charged_on date, description varchar, "
    "amount decimal(18,2), currency varchar"
)
_WAIT_S = 5.0
_MADE_BY_RUNS = ("landing", "reports", "literal", "dagster")


class DemoWorld:
    """The real parts that a demo run meets. Seeding it twice changes nothing the second time.

    Args:
        home: The folder that holds everything but the bucket, e.g. `.planexec`.
        endpoint: URL of an S3 server, e.g. `LocalS3().start().endpoint`.
        data: `saturday`, `council`, or a data set of one's own.
        period: Text of the period that faults act on; by default the data set's own.
    """

    def __init__(
        self, home: Path, endpoint: str, *, data: str | DataSet = "saturday", period: str | None = None
    ) -> None:
        self.home = home.absolute()
        self.endpoint = endpoint
        self.data = data if isinstance(data, DataSet) else DATA_SETS[data]
        self.period: Period = self.data.task.period(period or self.data.default_period)

        self.warehouse: Path = self.home / "warehouse.duckdb"

    # ------------------------------------------------------------------ where things are

    @property
    def dagster_home(self) -> Path:
        """DAGSTER_HOME of the demo's runs."""
        return self.home / "dagster"

    @property
    def roots(self) -> Roots:
        """The folders that the task may touch."""
        return Roots(sql=self.home / "sql", reports=self.home / "reports", landing=self.home / "landing")

    @property
    def bucket(self) -> str:
        """Where the vendor delivers."""
        return self.data.task.drop.bucket

    @property
    def export_key(self) -> str:
        """The key of the period's delivery."""
        return self.key()

    def key(self, suffix: str = ".csv") -> str:
        """The key of the period's delivery with another ending, e.g. `.csv.gz`."""
        return self.data.export_key(self.period.text, suffix)

    @property
    def pair(self) -> Pair:
        """Both sides of the period, and the truth about them."""
        return self.data.pair(self.period.text)

    @cached_property
    def s3(self) -> S3Client:
        """A client for the bucket."""
        return client_for(self.endpoint)

    # ------------------------------------------------------------------ putting it in place

    def seed(self) -> None:
        """Put in place what is missing or different: folders, SQL, ledger, bucket. Leaves alone what runs made.

        Raises:
            PlanexecError: HOME_UNWRITABLE; LOCKED if another process holds the warehouse file.
        """
        self._lay_out()
        self._seed_ledger()
        self.seed_drop()

    def seed_drop(self) -> None:
        """Make the vendor's prefix hold exactly what the vendor delivered: nothing more, nothing else."""
        there = {b["Name"] for b in self.s3.list_buckets()["Buckets"]}
        # The sensors of every task look, whichever data set this world is about.
        for data in (self.data, *DATA_SETS.values()):
            if data.task.drop.bucket not in there:
                self.s3.create_bucket(Bucket=data.task.drop.bucket)
                there.add(data.task.drop.bucket)
        wanted = self.data.exports()
        found = self._etags()
        for key in found.keys() - wanted.keys():
            self.remove(key)
        for key, content in wanted.items():
            if found.get(key) != hashlib.md5(content, usedforsecurity=False).hexdigest():
                self.put(key, content)

    def reset(self) -> None:
        """Forget what runs made - tables, credits, copies, reports, journal - and seed again. Raises as `seed`."""
        if self.warehouse.exists():
            with self.connection():
                """Nobody holds the file: deleting it takes nothing from under a run."""
        for name in _MADE_BY_RUNS:
            shutil.rmtree(self.home / name, ignore_errors=True)
        for path in self.home.glob("warehouse.duckdb*"):
            path.unlink()
        self.seed()

    # ------------------------------------------------------------------ what faults and people do to it

    def put(self, key: str, content: bytes) -> None:
        """Deliver an object."""
        self.s3.put_object(Bucket=self.bucket, Key=key, Body=content)

    def remove(self, key: str) -> None:
        """Delete an object, as the lifecycle rule did."""
        self.s3.delete_object(Bucket=self.bucket, Key=key)

    def read(self, key: str) -> bytes:
        """What lies in the bucket under that key."""
        return self.s3.get_object(Bucket=self.bucket, Key=key)["Body"].read()

    @contextmanager
    def connection(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """The warehouse file, opened for writing while nobody else holds it.

        Raises:
            PlanexecError: LOCKED if another process holds it and does not let go; the message names the process.
        """
        with DuckDbWarehouse(self.warehouse, wait_s=_WAIT_S).open_unlocked() as (connection, _):
            yield connection

    # ------------------------------------------------------------------ in parts

    def _lay_out(self) -> None:
        try:
            for folder in (self.roots.sql, self.roots.reports, self.roots.landing, self.dagster_home):
                folder.mkdir(parents=True, exist_ok=True)
                probe = folder / ".writable"
                probe.touch()
                probe.unlink()
            for source in sorted(SQL_FOLDER.glob("*.sql")):
                target = self.roots.sql / source.name
                if not target.exists() or target.read_bytes() != source.read_bytes():
                    target.write_bytes(source.read_bytes())
        except OSError as error:
            raise PlanexecError(
                "HOME_UNWRITABLE",
                f"the home {self.home} cannot be written: {error}",
                hint="choose another folder with --home",
            ) from error

    def _seed_ledger(self) -> None:
        """Write the ledger table if its rows are not the generated ones, in one transaction."""
        table = self.data.ledger_table
        with self.connection() as warehouse:
            for schema in sorted({table.partition(".")[0], *self.data.task.scope.schemas_write}):
                warehouse.execute(f'create schema if not exists "{schema}"')
            warehouse.execute(f"create table if not exists {table} ({_TABLE})")
            warehouse.register("lines", _ledger_of(self.data))
            wanted = (
                "select charge_id, account_id, cast(charged_on as date) as charged_on, description, "
                f"cast(amount as decimal(18,2)) as amount, '{self.data.currency}' as currency from lines"
            )
            digest = "select count(*), sum(hash(t)::hugeint) from ({}) t"
            there, due = (
                warehouse.execute(digest.format(rows)).fetchall() for rows in (f"select * from {table}", wanted)
            )
            if there != due:
                warehouse.execute("begin")
                warehouse.execute(f"delete from {table}")
                warehouse.execute(f"insert into {table} {wanted}")
                warehouse.execute("commit")

    def _etags(self) -> dict[str, str]:
        pages = self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=self.data.task.drop.prefix)
        return {o["Key"]: o["ETag"].strip('"') for page in pages for o in page.get("Contents", [])}


@cache
def _ledger_of(data: DataSet) -> object:
    """A ledger as an Arrow table of texts: amounts go from cents to DECIMAL by their digits, never by a float."""
    from pyarrow import csv as arrow_csv  # noqa: PLC0415 - heavy
    from pyarrow import string  # noqa: PLC0415 - heavy

    columns = ("charge_id", "account_id", "charged_on", "description", "amount")
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows(
        (line.charge_id, line.account_id, line.charged_on, line.description, money(line.cents))
        for line in data.ledger()
    )
    # By way of CSV: an Arrow table made of Python lists imports pandas, which costs more than all of the rest.
    texts = arrow_csv.ConvertOptions(column_types=dict.fromkeys(columns, string()), strings_can_be_null=False)
    return arrow_csv.read_csv(io.BytesIO(text.getvalue().encode()), convert_options=texts)
