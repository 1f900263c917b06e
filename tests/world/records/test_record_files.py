"""Invoices and payments as others publish them: exact sums, and control values that close or do not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.records import nacha, x12

FILES = Path(__file__).parents[2] / "data" / "record_files"
LINE = ("BIG02", "IT101", "IT102*IT104")


def invoices(name: str, record: str, headers: tuple[str, ...]) -> tuple[list[list[str]], list[str]]:
    """Records and the control values that do not agree."""
    controls = x12.Controls()
    with (FILES / name).open(newline="") as text:
        found = [record.fields for record in x12.records_of(text, name, record, headers, controls)]
    return found, [f"{one.name}: {one.stated}, found {one.found}" for one in controls.stated if not one.agrees]


def test_lines_of_an_invoice_add_up_to_what_it_states() -> None:
    """Quantity times price, exactly; eight lines of 217.40."""
    lines, _ = invoices("x12_810_0.edi", "IT1", LINE)

    assert [line[0] for line in lines] == ["217224"] * 8
    assert sum(Decimal(line[2]) for line in lines) == Decimal("217.40")


def test_a_segment_count_that_does_not_close_is_named() -> None:
    """The published file states 18 segments where there are 19, and an interchange number that is not its own."""
    _, wrong = invoices("x12_810_0.edi", "IT1", LINE)

    assert wrong[0] == "SE01, segments from ST to SE: 18, found 19"
    assert any(one.startswith("IEA02") for one in wrong)


def test_two_invoices_in_one_interchange() -> None:
    """Totals in cents, one line each; every control value agrees."""
    totals, wrong = invoices("moov_4010_810.txt", "TDS", ("BIG02", "TDS01"))

    assert totals == [["654983115", "139550"], ["658089516", "82775"]]
    assert wrong == []


def test_an_interchange_that_was_cut_lacks_its_end(tmp_path: Path) -> None:
    """Whole segments, and no SE."""
    text = (FILES / "moov_4010_810.txt").read_text()
    (tmp_path / "cut.edi").write_text(text[: text.rindex("SE*")])
    controls = x12.Controls()
    with (tmp_path / "cut.edi").open(newline="") as file:
        list(x12.records_of(file, "cut.edi", "TDS", ("TDS01",), controls))

    assert [one.found for one in controls.stated if not one.agrees] == ["the file ends"] * 3


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda text: "", "RAGGED_ROW"),
        (lambda text: "a,b\n1,2\n", "RAGGED_ROW"),
        (lambda text: text[: text.rindex("IEA")] + "IEA*1*0000", "TRUNCATED_STREAM"),
        (lambda text: text[:106] + "IT1*" + "9" * 200_000, "RAGGED_ROW"),
    ],
)
def test_what_is_no_interchange_is_refused(tmp_path: Path, change, code) -> None:
    """With a code, and a bounded text."""
    path = tmp_path / "x.edi"
    path.write_text(change((FILES / "moov_4010_810.txt").read_text()))

    with pytest.raises(PortError) as refused, path.open(newline="") as text:
        list(x12.records_of(text, "x.edi", "TDS", ("TDS01",)))

    assert refused.value.code == code
    assert len(refused.value.message) < 300


@pytest.mark.parametrize("header", ["IT1", "amount", "IT102*", "IT102*IT104*IT101", "it102"])
def test_a_header_that_names_no_element_is_a_bad_contract(header: str) -> None:
    """Never an empty column."""
    with pytest.raises(PortError) as refused:
        invoices("x12_810_0.edi", "IT1", (header,))

    assert refused.value.code == "BAD_CONTRACT"


def payments(path: Path) -> tuple[list[list[str]], list[str]]:
    """Trace numbers and cents, and the control values that do not agree."""
    controls = nacha.Controls()
    with path.open(newline="") as text:
        found = [r.fields for r in nacha.records_of(text, path.name, ("trace_number", "amount"), controls)]
    return found, [one.name for one in controls.stated if not one.agrees]


@pytest.mark.parametrize(
    ("name", "entries", "cents"),
    [
        ("ppd-debit.ach", 1, 200_000_000),
        ("ppd-mixedDebitCredit.ach", 3, 400_000_000),
        ("ctx-debit.ach", 1, 100_000_000),
        ("iat-mixedCreditDebit.ach", 2, 200_000),
    ],
)
def test_published_payment_files_close(name: str, entries: int, cents: int) -> None:
    """Count, hash, debit and credit of every batch and of the file."""
    found, wrong = payments(FILES / name)

    assert (len(found), sum(int(cents) for _, cents in found), wrong) == (entries, cents, [])


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("0200000000", "0300000000", {"debit cents"}),
        ("82000000030069414030", "82000000040069414030", {"entries and addenda"}),
        ("82000000030069414030", "82000000030069414031", {"entry hash"}),
    ],
)
def test_each_control_value_is_compared(tmp_path: Path, old: str, new: str, names: set[str]) -> None:
    """An amount, a count, a hash."""
    text = (FILES / "ppd-mixedDebitCredit.ach").read_text()
    path = tmp_path / "x.ach"
    path.write_text(text.replace(old, new, 1))

    _, wrong = payments(path)

    assert {name.partition(", ")[2] for name in wrong} == names


def test_a_payment_file_without_its_end(tmp_path: Path) -> None:
    """Cut at a line end it parses well."""
    lines = (FILES / "ppd-mixedDebitCredit.ach").read_text().splitlines(keepends=True)
    path = tmp_path / "x.ach"
    path.write_text("".join(lines[:5]))

    assert payments(path)[1] == ["file control"]
