"""The `ingest` verb."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dagster_planexec.cli.printing import print_json
from dagster_planexec.cli.trying.bench import bench
from dagster_planexec.cli.trying.delivery import ANY_PERIOD, must_be_files, period_named, table_of, try_delivery
from dagster_planexec.cli.trying.document import EXIT, document_of, print_tried
from dagster_planexec.cli.trying.figures import rows_of
from dagster_planexec.cli.trying.saved import must_be_place, save_rejects, saved_as
from dagster_planexec.contract.file_contract import load_contract


def ingest_files(
    files: Sequence[Path], contract: Path, period: str | None, rows: Sequence[str], rejects: Path | None, *,
    draft: bool, as_json: bool,
) -> int:  # fmt: skip
    """Try the files, answer, and return the exit code.

    Raises:
        PlanexecError: BAD_CONTRACT, UNKNOWN_PARTITION, FILE_GONE, VALIDATION_ERROR; what a port refuses with.
    """
    declared, at = load_contract(contract, draft=draft), period_named(period)
    must_be_files(files)
    must_be_place(rejects, [*files, contract])
    with bench() as here:
        tried = try_delivery(here, declared, files, at)
        table = table_of("delivery", at or ANY_PERIOD)
        looked_up = rows_of(here.warehouse, declared, table, rows)
        saved = None if rejects is None else saved_as(rejects, save_rejects(here.warehouse, tried, table, rejects))
        document = document_of(tried, looked_up) | {"saved": saved}
    if as_json:
        print_json(document)
    else:
        print_tried(document, f"{len(files)} {'file' if len(files) == 1 else 'files'}")
    return EXIT[document["outcome"]]
