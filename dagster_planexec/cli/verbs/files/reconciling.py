"""The `reconcile` verb."""

from __future__ import annotations

from pathlib import Path

from dagster_planexec.cli.printing import print_json
from dagster_planexec.cli.trying.bench import bench
from dagster_planexec.cli.trying.compared import compared_document, print_compared
from dagster_planexec.cli.trying.delivery import must_be_files, period_named
from dagster_planexec.cli.trying.document import EXIT
from dagster_planexec.cli.trying.saved import must_be_place, save_differences, saved_as
from dagster_planexec.cli.trying.sides import LEDGER, VENDOR, load_try_spec, try_sides


def reconcile_files(
    vendor: Path, ledger: Path, spec: Path, period: str | None, differences: Path | None, *, as_json: bool
) -> int:
    """Try the two files, answer, and return the exit code.

    Raises:
        PlanexecError: BAD_CONTRACT, UNKNOWN_PARTITION, FILE_GONE, VALIDATION_ERROR; what a port refuses with.
    """
    declared, theirs, ours = load_try_spec(spec)
    at = period_named(period)
    must_be_files([vendor, ledger])
    must_be_place(differences, [vendor, ledger, spec, spec.parent / declared.vendor, spec.parent / declared.ledger])
    with bench() as here:
        tried = try_sides(here, declared, theirs, ours, {VENDOR: vendor, LEDGER: ledger}, at)
        saved = (
            None if differences is None else saved_as(differences, save_differences(here.warehouse, tried, differences))
        )
        document = compared_document(here, tried) | {"saved": saved}
    if as_json:
        print_json(document)
    else:
        print_compared(document)
    return EXIT[document["outcome"]]
