"""The verbs that try files: a delivery against its contract, a vendor's file against a ledger's, a first draft."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dagster_planexec.cli.frame import AS_JSON, answering

FILES = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
PERIOD = click.option("--period", default=None, help="The period it is for, e.g. 2026-03 or 2017-Q4. Default: none.")


@click.command()
@FILES
@click.option("--contract", required=True, type=click.Path(path_type=Path), help="The file contract, as YAML.")
@PERIOD
@AS_JSON
@answering
def ingest(files: tuple[Path, ...], contract: Path, period: str | None, *, as_json: bool) -> None:
    """Try one delivery against its contract: land, load and check it as a month would. Keeps nothing, needs no project.

    Exit codes: 0 accepted, 4 refused, 1 it could not be tried.
    """
    from dagster_planexec.cli.verbs.files.ingesting import ingest_files  # noqa: PLC0415 - heavy, only where needed

    sys.exit(ingest_files(files, contract, period, as_json=as_json))


VERBS = (ingest,)
