"""An estimate is reported and credits nothing; also with every check disabled, for the gate reads the bytes itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dagster_planexec.contract.file.rules import Final
from dagster_planexec.contract.verdict import Verdict
from tests.support.approvals import Office
from tests.support.disabled import every_check_is_off

WORD = "Estimated"


def says_when_it_is_final(office: Office, *conditions: Final) -> None:
    """The vendor's contract, with conditions; none of them on what the flagship is about."""
    task = office.world.task
    invoice = task.contracts["vendor_invoice"]
    finals = conditions or (Final(column="charge_id", filled=True), Final(column="description", none_of=(WORD,)))
    contract = type(invoice).model_validate(
        {**invoice.model_dump(), "final_when": [one.model_dump() for one in finals]}
    )
    office.world.task = replace(task, contracts={**task.contracts, "vendor_invoice": contract})


def estimates(office: Office, lines: int, word: str = WORD) -> None:
    """The last lines of the delivery say that they are estimates."""
    header, *rows = office.demo.read(office.demo.export_key).decode().splitlines()
    at = header.split(",").index("Line Description")
    for n in range(1, lines + 1):
        cells = rows[-n].split(",")
        cells[at] = word
        rows[-n] = ",".join(cells)
    office.demo.put(office.demo.export_key, ("\n".join([header, *rows]) + "\n").encode())


def found(report: Any, check: str = "bill_is_final") -> list[Verdict]:
    """The verdicts of that name at the step that would pay."""
    return [v for v in report.steps[-1].checks if v.check == check]


def test_a_final_bill_is_credited(office: Office) -> None:
    """Both looks pass: the table before, and the bytes at the gate."""
    says_when_it_is_final(office)
    report = office.settle()
    assert report.status in {"succeeded", "held"}, report.text
    assert [v.status for v in found(report)] == ["passed", "passed"]
    assert [v.observed.source.reader.partition(" where")[0] for v in found(report)] == [
        "SQL count(*)", "record by record",
    ]  # fmt: skip


def test_an_estimate_is_reported_and_credits_nothing(office: Office) -> None:
    """Which is how many lines, worth how much. The report is written; only the step that pays fails."""
    says_when_it_is_final(office)
    estimates(office, 2)
    report = office.settle()
    assert (report.status, report.code) == ("stopped", "NOT_FINAL"), report.text
    assert [step.outcome for step in report.steps] == ["done"] * 6 + ["failed"]
    assert all(path and Path(path).is_file() for path in report.report.values())
    assert report.report
    (verdict,) = [v for v in found(report) if "worth" in v.observed.value]  # type: ignore[operator]
    assert verdict.observed.value["estimated"] == 2  # type: ignore[index, call-overload]
    assert "2 of " in verdict.text
    assert office.world.credits() == ()
    assert office.holds() == ()


def test_with_every_check_disabled_an_estimate_credits_nothing(office: Office) -> None:
    """The gate counts the records of the landed bytes that are not final."""
    says_when_it_is_final(office)
    estimates(office, 1)
    every_check_is_off(office)
    report = office.settle()
    assert (report.status, report.code) == ("stopped", "NOT_FINAL"), report.text
    shut = next(v for v in report.steps[-1].checks if not v.opens)
    assert (shut.check, shut.observed.value) == (
        "bill_is_final",
        {"estimated": 1, "rows": shut.observed.value["rows"]},
    )  # type: ignore[index, call-overload]
    assert office.world.credits() == ()
