"""All differences as Parquet and XLSX: every line, to the last digit, and read back by other readers."""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import replace
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from dagster_planexec.checks.effect.report_matches_result import report_matches_result
from dagster_planexec.contract.layout import result_layout
from dagster_planexec.contract.outcome import Done
from dagster_planexec.tools.report.differences import SHEET_ROWS, Differences, xlsx_of
from dagster_planexec.tools.write_report import WriteReport, WriteReportArgs
from dagster_planexec.world.probes.result.differences import DIFFERENCES, FiguresOfDifferences, FiguresOfDifferingLines

RESULT, NAME = "recon.lines_202603", "2026-03-recon"
TOOL, ARGS = WriteReport(), WriteReportArgs(source=RESULT, name=NAME)
ROWS = [
    ("A1", "identical", "1000.00", "1000.00"),
    ("A2", "amount_differs", "9999999999999999.99", "9999999999999999.98"),
    ("A3", "amount_differs", "0.10", "0.30"),
    ("007", "ledger_only", "-3.07", None),
    ("A5", "vendor_only", None, "99.99"),
]


def write(desk, rows=ROWS):
    desk.put(rows)
    outcome = TOOL.call(ARGS, desk.call())
    assert isinstance(outcome, Done), outcome


def path(desk, suffix):
    return desk.ports.roots.reports / f"{NAME}.{suffix}"


def codes(desk):
    """Of the two files, by suffix."""
    found = desk.verdicts(report_matches_result, desk.scope(TOOL, ARGS), "post")
    return dict(zip(DIFFERENCES, [verdict.code for verdict in found[3:]], strict=True))


def cells(raw, sheet=1):
    """Reference to (attributes, content) of one sheet, by a regular expression."""
    with zipfile.ZipFile(raw) as book:
        text = book.read(f"xl/worksheets/sheet{sheet}.xml").decode()
    return {ref: (kind, inside) for ref, kind, inside in re.findall(r'<c r="([A-Z]+\d+)"([^>]*?)>(.*?)</c>', text)}


def test_every_difference_is_in_both_files(desk):
    """And nothing that agrees; the figures are those of the result."""
    write(desk)
    layout = result_layout(desk.task)
    due = FiguresOfDifferingLines(RESULT, layout).observe(desk.ports)["figures"]

    assert due == {
        "formulas": 0, "lines:differences": 4, "lines:amount_differs": 2, "lines:ledger_only": 1,
        "lines:vendor_only": 1, "ledger:amount_differs": Decimal("10000000000000000.09"),
        "vendor:amount_differs": Decimal("10000000000000000.28"), "ledger:ledger_only": Decimal("-3.07"),
        "vendor:ledger_only": 0, "ledger:vendor_only": 0, "vendor:vendor_only": Decimal("99.99"),
    }  # fmt: skip
    for suffix in DIFFERENCES:
        assert FiguresOfDifferences(NAME, suffix, layout).observe(desk.ports)["figures"] == due
    assert codes(desk) == dict.fromkeys(DIFFERENCES)


def test_money_keeps_its_type_and_its_digits(desk):
    """decimal128 in Parquet; in the workbook a number whose text is the amount. A key is text, zeros and all."""
    write(desk)
    table = pq.read_table(path(desk, "differences.parquet"))

    assert str(table.schema.field("ledger_amount").type) == "decimal128(18, 2)"
    assert table.column("ledger_amount").to_pylist() == [Decimal("-3.07"), Decimal("9999999999999999.99"),
                                                          Decimal("0.10"), None]  # fmt: skip
    found = cells(path(desk, "differences.xlsx"))
    assert [re.sub("<.*?>", "", found[ref][1]) for ref in ("A1", "B1", "C1", "D1")] == table.column_names
    assert found["C3"] == (' t="n"', "<v>9999999999999999.99</v>")
    assert 't="inlineStr"' in found["A2"][0]
    assert re.sub("<.*?>", "", found["A2"][1]) == "007"


@pytest.mark.parametrize("rows", [[], ROWS[:1]], ids=["no line", "perfect"])
def test_nothing_to_list_is_two_empty_tables(desk, rows):
    """With their columns; they are looked at all the same."""
    write(desk, rows)

    assert pq.read_table(path(desk, "differences.parquet")).num_rows == 0
    assert codes(desk) == dict.fromkeys(DIFFERENCES)


def _rewritten(raw, old, new):
    """A workbook with one text in its first sheet replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(raw) as before, zipfile.ZipFile(out, "w") as after:
        for name in before.namelist():
            text = before.read(name)
            if name == "xl/worksheets/sheet1.xml":
                assert text.count(old) == 1, text
                text = text.replace(old, new)
            after.writestr(name, text)
    return out.getvalue()


EDITS = {
    "a cent": (b"<v>-3.07</v>", b"<v>-3.08</v>"),
    "the last of eighteen digits": (b"<v>9999999999999999.99</v>", b"<v>9999999999999999.98</v>"),
    "a status": (b"vendor_only", b"ledger_only"),
    "a formula": (b"<v>-3.07</v>", b"<f>1-4.07</f><v>-3.07</v>"),
    "an amount as text": (b't="n"><v>-3.07</v>', b't="str"><v>-3.07</v>'),
    "not a number": (b"<v>-3.07</v>", b"<v>NaN</v>"),
    "a column's name": (b"ledger_amount", b"ledger_amounts"),
    "an entity": (b"<worksheet", b"<!DOCTYPE x [<!ENTITY a '1'>]><worksheet"),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=list(EDITS))
def test_a_workbook_edited_on_disk_is_a_mismatch(desk, old, new):
    """And only the workbook."""
    write(desk)
    file = path(desk, "differences.xlsx")
    file.write_bytes(_rewritten(file, old, new))

    assert codes(desk) == {"differences.parquet": None, "differences.xlsx": "REPORT_MISMATCH"}


def test_parquet_rewritten_with_floats_is_a_mismatch(desk):
    """The same numbers are not the same money."""
    import pyarrow as pa

    write(desk)
    file = path(desk, "differences.parquet")
    table = pq.read_table(file)
    at = table.schema.get_field_index("ledger_amount")
    pq.write_table(table.set_column(at, "ledger_amount", table.column(at).cast(pa.float64())), file)

    assert codes(desk) == {"differences.parquet": "REPORT_MISMATCH", "differences.xlsx": None}


DAMAGES = [(suffix, damage) for suffix in DIFFERENCES for damage in ("gone", "empty", "link", "half", "text")]


@pytest.mark.parametrize(("suffix", "damage"), [*DAMAGES, ("differences.xlsx", "packed")])
def test_a_damaged_file_is_a_mismatch(desk, suffix, damage, tmp_path):
    """Whatever became of it, it is not what the result says."""
    write(desk)
    file = path(desk, suffix)
    raw = file.read_bytes()
    match damage:
        case "gone":
            file.unlink()
        case "link":
            file.rename(tmp_path / "elsewhere")
            file.symlink_to(tmp_path / "elsewhere")
        case _:
            begin = raw.index(b"xl/worksheets/sheet1.xml") + 32 if damage == "packed" else 0
            packed = raw[:begin] + b"\xff" * 8 + raw[begin + 8 :]
            half = raw[: len(raw) // 2]
            file.write_bytes({"empty": b"", "half": half, "text": b"hello", "packed": packed}[damage])

    assert codes(desk) == {each: "REPORT_MISMATCH" if each == suffix else None for each in DIFFERENCES}


def test_a_line_that_is_added_later_is_a_mismatch(desk):
    """The result is counted when the files are judged."""
    write(desk)
    desk.sql(f"update {RESULT} set status = 'ledger_only', vendor_amount = null where line_key = 'A1'")

    assert set(codes(desk).values()) == {"REPORT_MISMATCH"}


def test_more_rows_than_a_sheet_holds_go_to_another(desk):
    """Each with its header; a sheet holds 1,048,576 rows, here three."""
    write(desk)
    layout = result_layout(desk.task)
    raw = io.BytesIO()
    with desk.ports.warehouse.session() as session:
        xlsx_of(Differences(session, RESULT, layout), sheet_rows=3)(raw)
    path(desk, "differences.xlsx").write_bytes(raw.getvalue())

    with zipfile.ZipFile(raw) as book:
        assert [name for name in book.namelist() if "worksheets/" in name] == [
            "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml",
        ]  # fmt: skip
        assert re.findall(r'<sheet [^>]*name="([^"]*)"', book.read("xl/workbook.xml").decode()) == [
            "differences", "differences 2",
        ]  # fmt: skip
    assert cells(raw, 2)["A1"][1] == cells(raw, 1)["A1"][1]
    assert codes(desk) == dict.fromkeys(DIFFERENCES)
    assert SHEET_ROWS == 1_048_576


ODD = ["\x1b[31m\x00red", "line\nbreak", "_x0041_", "\ud7ff\ufffe", "<b>&amp;", " blank ", "1e5", "K" * 40_000]


def test_odd_text_is_kept_apart_from_the_file_s_own_words(desk):
    """Control characters are written out, long text is bounded, and a parser finds what was meant."""
    write(desk, [(key, "ledger_only", "1.00", None) for key in ODD])

    assert codes(desk) == dict.fromkeys(DIFFERENCES)
    texts = {re.sub("<.*?>", "", inside) for ref, (_, inside) in cells(path(desk, "differences.xlsx")).items()
             if ref.startswith("A")}  # fmt: skip
    assert {"\\x1b[31m\\x00red", "line\\nbreak", "_x005F_x0041_", "&lt;b&gt;&amp;amp;", "1e5"} <= texts
    assert max(map(len, texts)) < 1_010
    keys = pq.read_table(path(desk, "differences.parquet")).column("line_key").to_pylist()
    assert sorted(keys) == sorted(ODD), "a data file holds the data"


def test_columns_of_every_kind(desk):
    """What is no number, text or day is written as the warehouse writes it."""
    desk.put(ROWS)
    desk.sql(
        f"create or replace table {RESULT} as select *, date '2026-03-01' as day, true as flag, 5::bigint as n, "
        f"170141183460469231731687303715884105727::hugeint as huge, timestamp '2026-03-01 01:02:03' as at, "
        f"[1, 2] as list, 0.5::double as ratio from {RESULT}"
    )
    outcome = TOOL.call(ARGS, desk.call())

    assert isinstance(outcome, Done), outcome
    row = pq.read_table(path(desk, "differences.parquet")).to_pylist()[0]
    assert (str(row["day"]), row["flag"], row["n"], row["at"], row["list"], row["ratio"]) == (
        "2026-03-01", True, 5, "2026-03-01 01:02:03", "[1, 2]", "0.5",
    )  # fmt: skip
    assert codes(desk) == dict.fromkeys(DIFFERENCES)


def test_a_failed_write_leaves_the_old_files(desk, monkeypatch):
    """All five, as they were: no half of a new one, and no rest beside them."""
    write(desk)
    before = {each.name: each.read_bytes() for each in desk.ports.roots.reports.iterdir()}
    desk.put([*ROWS, ("A9", "ledger_only", "1.00", None)])
    import dagster_planexec.tools.write_report as tool

    def breaks(_):
        def write_(stream):
            stream.write(b"half")
            raise OSError(28, "No space left on device")

        return write_

    monkeypatch.setattr(tool, "xlsx_of", breaks)
    with pytest.raises(Exception, match="could not be written") as error:
        TOOL.call(ARGS, desk.call())

    assert error.value.code == "DISK_FULL"
    assert before == {each.name: each.read_bytes() for each in desk.ports.roots.reports.iterdir()}


def test_the_seal_covers_all_files(desk):
    """A byte in any of them is another report."""
    write(desk)
    args = replace(desk.scope(TOOL, ARGS)).args
    outcome = TOOL.call(args, desk.call())
    probe = TOOL.seal(args, outcome.result, desk.call())
    seen = probe.observe(desk.ports)["digest"]
    with path(desk, "differences.parquet").open("ab") as file:
        file.write(b"\n")

    assert probe.observe(desk.ports)["digest"] != seen
    path(desk, "differences.xlsx").unlink()
    assert probe.observe(desk.ports).state == "absent"
