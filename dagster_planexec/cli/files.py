"""The verbs that try files: a delivery against its contract, a vendor's file against a ledger's, a first draft."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from dagster_planexec.cli.frame import AS_JSON, answering

FILES = click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
PLACE = click.Path(path_type=Path)
PERIOD = click.option("--period", default=None, help="The period it is for, e.g. 2026-03 or 2017-Q4. Default: none.")


@click.command()
@FILES
@click.option("--contract", required=True, type=click.Path(path_type=Path), help="The file contract, as YAML.")
@PERIOD
@click.option("--row", multiple=True, metavar="KEY", help="Show the line of this key as it was loaded. Repeatable.")
@click.option("--rejects", type=PLACE, default=None, help="Save every refused cell in this .parquet or .xlsx file.")
@click.option("--draft", is_flag=True, help="Try a contract although some of its words are unconfirmed guesses.")
@AS_JSON
@answering
def ingest(
    files: tuple[Path, ...], contract: Path, period: str | None, *, row: tuple[str, ...], rejects: Path | None,
    draft: bool, as_json: bool,
) -> None:  # fmt: skip
    """Try one delivery against its contract: land, load and check it as a month would.

    Needs no project, and keeps nothing but what it is told to save.

    Exit codes: 0 accepted, 4 refused, 1 it could not be tried.
    """
    from dagster_planexec.cli.verbs.files.ingesting import ingest_files  # noqa: PLC0415 - heavy, only where needed

    sys.exit(ingest_files(files, contract, period, row, rejects, draft=draft, as_json=as_json))


@click.command()
@click.option("--vendor", required=True, type=click.Path(path_type=Path), help="The vendor's file.")
@click.option("--ledger", required=True, type=click.Path(path_type=Path), help="The ledger's file.")
@click.option("--spec", required=True, type=click.Path(path_type=Path), help="What is compared, as YAML.")
@PERIOD
@click.option(
    "--differences",
    type=PLACE,
    default=None,
    help="Save every line that is not identical in this .parquet or .xlsx file.",
)
@AS_JSON
@answering
def reconcile(
    vendor: Path, ledger: Path, spec: Path, period: str | None, *, differences: Path | None, as_json: bool
) -> None:
    """Try a vendor's file against a ledger's: load both, compare them, check the result.

    Keeps nothing but what it is told to save. The specification names both contracts, and under `reconcile` what a
    task's `reconciliation` says.
    Exit codes as of `ingest`; lines that differ are no refusal.
    """
    from dagster_planexec.cli.verbs.files.reconciling import reconcile_files  # noqa: PLC0415 - heavy, where needed

    sys.exit(reconcile_files(vendor, ledger, spec, period, differences, as_json=as_json))


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default=None, help="The contract's name. Default: made of the file's.")
@AS_JSON
@answering
def infer(file: Path, name: str | None, *, as_json: bool) -> None:
    """Draft a file contract from a sample, as YAML on standard output. Every guess is marked; nothing is loaded by it.

    Read it, ask the vendor, correct or keep each word and take it out of `unconfirmed`; `planexec ingest --draft` tries
    it before that.
    """
    from dagster_planexec.cli.verbs.files.inferring import infer_file  # noqa: PLC0415 - heavy, only where needed

    infer_file(file, name, as_json=as_json)


VERBS = (ingest, reconcile, infer)
