"""The `ingest` verb."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dagster_planexec.cli.printing import print_json
from dagster_planexec.cli.trying.bench import bench
from dagster_planexec.cli.trying.delivery import ANY_PERIOD, must_be_files, period_named, table_of, try_delivery
from dagster_planexec.cli.trying.document import EXIT, document_of, print_tried
from dagster_planexec.cli.trying.figures import rows_of
from dagster_planexec.contract.file_contract import load_contract


def ingest_files(
    files: Sequence[Path], contract: Path, period: str | None, rows: Sequence[str], *, draft: bool, as_json: bool
) -> int:
    """Try the files, answer, and return the exit code.

    Raises:
        PlanexecError: BAD_CONTRACT, UNKNOWN_PARTITION, FILE_GONE; what a port refuses with.
    """
    declared, at = load_contract(contract, draft=draft), period_named(period)
    must_be_files(files)
    with bench() as here:
        tried = try_delivery(here, declared, files, at)
        looked_up = rows_of(here.warehouse, declared, table_of("delivery", at or ANY_PERIOD), rows)
        document = document_of(tried, looked_up)
    if as_json:
        print_json(document)
    else:
        print_tried(document, f"{len(files)} {'file' if len(files) == 1 else 'files'}")
    return EXIT[document["outcome"]]
