"""Invoices and payments as others publish them: exact sums, and control values that close or do not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.records import nacha, x12
from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract

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


ISA = "ISA*00*          *00*          *ZZ*SENDER         *ZZ*RECEIVER       *260301*1200*U*00401*000000001*0*P*>~"
EXTRA = "IT1*9*1*EA*1000.00~"
ENVELOPED = (
    "GS*IN*A*B*20260301*1200*1*X*004010~ST*810*0001~BIG*20260301*INV1~IT1*1*2*EA*1.50~SE*4*0001~GE*1*1~"
    "IEA*1*000000001~\n"
)


def counted(path: Path, form: FileFormat) -> int:
    """Records that the second reading finds."""
    return CountExtract(path, form).tally().rows


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda text: text.replace("GE*", EXTRA + "GE*"), "'IT1' on line 1 stands outside an invoice"),
        (lambda text: text.replace("IEA*", EXTRA + "IEA*"), "'IT1' on line 1 stands outside an invoice"),
        (
            lambda text: text + EXTRA,
            "'IT1' on line 2 stands outside an invoice, which is ST to SE, and nothing is open",
        ),
        (lambda text: text.replace("ST*", EXTRA + "ST*"), "'IT1' on line 1"),
        (lambda text: text.replace("GS*", EXTRA + "GS*"), "'IT1' on line 1"),
        (lambda text: text.replace("GS*IN*A*B*20260301*1200*1*X*004010~", ""), "'ST' on line 1 opens too early"),
        (lambda text: text.replace("ST*810*0001~", ""), "'BIG' on line 1"),
        (lambda text: text.replace("SE*4*0001~", "ST*810*0002~SE*4*0001~"), "'ST' on line 1 opens too early"),
        (lambda text: text.replace("SE*4*0001~", ""), "'GE' on line 1 closes no GS, and ST of line 1 is open"),
        (lambda text: text.replace("GE*1*1~", ""), "'IEA' on line 1 closes no ISA"),
        (lambda text: text.replace("GE*1*1~", "GS*IN~GE*1*1~"), "'GS' on line 1 opens too early"),
        (lambda text: text.replace("IEA*1*000000001~", "") + ISA + ENVELOPED, "'ISA' on line 2 opens too early"),
        (lambda text: text + "SE*1*~", "'SE' on line 2 closes no ST"),
        (lambda text: text + ENVELOPED, "'GS' on line 2 opens outside ISA"),
        (lambda text: text.replace("IT1*", "it1*"), "'it1' on line 1 is none"),
    ],
)
def test_a_segment_out_of_its_place_is_refused_by_both_readings(tmp_path: Path, change, place: str) -> None:
    """A line that no control record counts is no line; an envelope that is not closed is not forgotten."""
    path = tmp_path / "x.edi"
    path.write_text(change(ISA + ENVELOPED))

    with pytest.raises(PortError) as refused, path.open(newline="") as text:
        list(x12.records_of(text, "x.edi", "IT1", ("IT101",)))
    with pytest.raises(PortError) as again:
        counted(path, FileFormat(kind="x12", record="IT1", header=("IT101",)))

    assert refused.value.code in {"CONTROL_TOTAL_MISMATCH", "RAGGED_ROW"}
    assert place in refused.value.message
    assert again.value.code == "CONTROL_TOTAL_MISMATCH"
    assert f"on line {2 if 'line 2 ' in place else 1} is out of its place" in again.value.message


def test_two_whole_interchanges_in_one_file(tmp_path: Path) -> None:
    """One behind the other, an acknowledgement between header and group; both readings take the rows of both."""
    path = tmp_path / "x.edi"
    path.write_text(ISA + "TA1*1~" + ENVELOPED + ISA + ENVELOPED.replace("IT1*1*", "IT1*2*"))
    controls = x12.Controls()
    with path.open(newline="") as text:
        found = [r.fields for r in x12.records_of(text, "x.edi", "IT1", ("IT101",), controls)]

    assert found == [["1"], ["2"]]
    assert all(one.agrees for one in controls.stated)
    assert counted(path, FileFormat(kind="x12", record="IT1", header=("IT101",))) == 2


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


FILE, BATCH, ENTRY, ADDENDUM, ENDS, LAST = range(6)


@pytest.mark.parametrize(
    ("order", "place"),
    [
        ([FILE, BATCH, ENTRY, ENDS, LAST, ENTRY], "line 6 is an entry (6) behind a file control (9)"),
        ([FILE, BATCH, ENTRY, ENDS, LAST, BATCH, ENTRY], "line 6 is a batch header (5)"),
        ([FILE, BATCH, ENTRY, ENDS, LAST, FILE, BATCH, ENTRY, ENDS, LAST], "line 6 is a file header (1)"),
        ([FILE, BATCH, ENTRY, LAST], "line 4 is a file control (9) behind an entry (6)"),
        ([FILE, ENTRY, BATCH, ENDS, LAST], "line 2 is an entry (6) behind a file header (1)"),
        ([FILE, BATCH, ENDS, ENTRY, LAST], "line 4 is an entry (6) behind a batch control (8)"),
        ([FILE, BATCH, ENTRY, BATCH, ENTRY, ENDS, LAST], "line 4 is a batch header (5) behind an entry (6)"),
        ([FILE, BATCH, ENTRY, ENDS, ENDS, LAST], "line 5 is a batch control (8) behind a batch control (8)"),
        ([FILE, BATCH, ADDENDUM, ENDS, LAST], "line 3 is an addendum (7) behind a batch header (5)"),
    ],
)
def test_a_payment_line_out_of_its_place_is_refused_by_both_readings(tmp_path: Path, order, place: str) -> None:
    """Behind the file control, outside a batch, in a batch without an end; nines fill up, and end, and nothing else."""
    lines = (FILES / "ctx-debit.ach").read_text().splitlines()
    of = [next(line for line in lines if line[0] == kind and line.strip("9")) for kind in "156789"]
    path = tmp_path / "x.ach"
    for kinds in (order, [FILE, "9" * 94, *order[1:]]):
        path.write_text("".join(f"{kind if isinstance(kind, str) else of[kind]}\r\n" for kind in kinds))
        with pytest.raises(PortError) as refused:
            payments(path)
        with pytest.raises(PortError) as again:
            counted(path, FileFormat(kind="nacha", header=("trace_number", "amount")))
        assert (refused.value.code, again.value.code) == ("CONTROL_TOTAL_MISMATCH",) * 2
        if kinds is order:
            assert place in refused.value.message
