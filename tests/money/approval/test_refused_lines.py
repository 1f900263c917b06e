"""A line that a load refused was billed all the same: the month is reported, and no credit rests on its absence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dagster_planexec.contract.file.rules import Allowed
from tests.support.approvals import Office
from tests.support.disabled import every_check_is_off


def lets_by(office: Office, *codes: str) -> None:
    """The vendor's contract, with rejects that do not stop a load."""
    task = office.world.task
    invoice = task.contracts["vendor_invoice"].model_copy(update={"allowed_rejects": Allowed(codes=codes, at_most=3)})
    office.world.task = replace(task, contracts={**task.contracts, "vendor_invoice": invoice})


def spoil(office: Office, cell: str) -> None:
    """The last line of the delivery, with another amount."""
    header, *rows, last = office.demo.read(office.demo.export_key).decode().splitlines()
    cells = last.split(",")
    cells[next(at for at, name in enumerate(header.split(",")) if "Amount" in name)] = cell
    office.demo.put(office.demo.export_key, ("\n".join([header, *rows, ",".join(cells)]) + "\n").encode())


@pytest.mark.parametrize(
    ("code", "cell", "checked"),
    [("BAD_AMOUNT", "n/a", True), ("RAGGED_ROW", "1,5", False)],
    ids=["checks", "no-checks"],
)
def test_a_refused_line_is_reported_and_credits_nothing(office: Office, code: str, cell: str, checked: bool) -> None:
    """The gate counts the delivered bytes again, so nobody can take a refused line for one that was not billed."""
    lets_by(office, code)
    spoil(office, cell)
    if not checked:
        every_check_is_off(office)
    report = office.settle()

    assert (report.status, report.code) == ("stopped", "ROWS_REFUSED"), report.text
    assert [step.outcome for step in report.steps] == ["done"] * 6 + ["failed"]
    shut = next(v for v in report.steps[-1].checks if not v.opens)
    assert (shut.check, int(str(shut.expected.value)) - int(str(shut.observed.value))) == (
        "no_delivered_row_was_refused", 1,
    )  # fmt: skip
    assert report.report
    assert all(Path(path).is_file() for path in report.report.values())
    assert (office.world.credits(), office.holds()) == ((), ())


def test_a_month_without_a_refused_line_pays_as_ever(office: Office) -> None:
    """That rows may be refused is no reason to stop; that some were is."""
    lets_by(office, "BAD_AMOUNT", "RAGGED_ROW")
    report = office.settle()

    assert report.status == "held", report.text
    (kept,) = [v for v in report.steps[-1].checks if v.check == "no_delivered_row_was_refused"]
    assert kept.status == "passed"
