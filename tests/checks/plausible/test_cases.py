"""Reported cases: a bill that is an estimate still, and a year with an empty month. With variants of our own."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path

import pytest

from dagster_planexec.checks.effect.bill_is_final import conditions_of
from dagster_planexec.contract.file.rules import Final
from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.outcome import Done
from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.delivery.figures.final import FinalInExtract
from dagster_planexec.world.probes.table.contents.final import FinalInTable
from dagster_planexec.world.sides.relation import InputView
from tests.support.loading import TARGET, Loading
from tests.support.loads import case_file

WORD = "Estimated"
NO_WORD = (Final(column="invoice_id", filled=True, none_of=(WORD,)), Final(column="status", none_of=(WORD,)))
HEADER = "invoice_id,line_no,invoice_date,amount,currency,status\n"


def bill(*finals: Final, nulls: tuple[str, ...] = (), unique: bool = True) -> FileContract:
    """The contract of the cases, with what makes a line final."""
    return FileContract(
        name="charges",
        version="1",
        columns=(
            Column(name="invoice_id", type="text", nullable=True),
            Column(name="line_no", type="integer"),
            Column(name="invoice_date", type="date", formats=("%Y-%m-%d",)),
            Column(name="amount", type="decimal"),
            Column(name="currency", type="text"),
            Column(name="status", headers=("status", "State"), type="text", required=False, nullable=True),
        ),
        key=("line_no",),
        unique_key=unique,
        amount="amount",
        date="invoice_date",
        currency="USD",
        nulls=nulls,
        final_when=finals,
    )


def looked(folder: Path, raw: bytes, contract: FileContract, key: str = "vendor/2026-03.csv") -> list[Observation]:
    """What the table says, and what the bytes say."""
    loading = Loading(folder, contract)
    sha256 = loading.land(raw, key)
    done = loading.load()
    assert isinstance(done, Done), done
    conditions = conditions_of(contract)
    copies = ((loading.ports.roots.landed_path(sha256), contract.format_of(key)),)
    view = InputView("vendor", "side", TARGET, contract.key, contract.amount)
    return [
        FinalInTable(view, conditions).observe(loading.ports),
        FinalInExtract(copies, conditions).observe(loading.ports),
    ]


def test_case_45_two_lines_are_estimates(tmp_path: Path) -> None:
    """Two of three lines, worth 42.50, in the table and in the bytes."""
    table, extract = looked(tmp_path, case_file("45").read_bytes(), bill(*NO_WORD))
    assert dict(table.facts) == {"rows": 3, "estimated": 2, "worth": Decimal("42.50")}
    assert dict(extract.facts) == {"rows": 3, "estimated": 2}


LINES = {
    "all final": ("W-1,1,2026-03-31,1.00,USD,Final\nW-1,2,2026-03-31,2.00,USD,Final\n", NO_WORD, 0, "0"),
    "no invoice number yet": (",1,2026-03-31,5.00,USD,Final\nW-1,2,2026-03-31,2.00,USD,Final\n", NO_WORD, 1, "5.00"),
    "only blanks for one": ('"  ",1,2026-03-31,5.00,USD,Final\n', NO_WORD, 1, "5.00"),
    "the word among blanks": ("W-1,1,2026-03-31,5.00,USD,  Estimated \n", NO_WORD, 1, "5.00"),
    "one of some words": (
        "W-1,1,2026-03-31,5.00,USD,Final\nW-1,2,2026-03-31,7.00,USD,Open\nW-1,3,2026-03-31,8.00,USD,\n",
        (Final(column="status", one_of=("Final", "Closed")),), 2, "15.00",
    ),
    "a word that only begins alike": ("W-1,1,2026-03-31,5.00,USD,Estimated fee\n", NO_WORD, 0, "0"),
    "the word between other blanks": ('"Estimated\t\u00a0",1,2026-03-31,5.00,USD,Final\n', NO_WORD, 1, "5.00"),
    "credits of an estimate": ("Estimated,1,2026-03-31,-5.00,USD,Final\n", NO_WORD, 1, "-5.00"),
}  # fmt: skip


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("packed", [False, True])
def test_both_looks_agree(tmp_path: Path, name: str, packed: bool) -> None:
    """Whatever makes a line an estimate: the table and the bytes have as many of them."""
    lines, finals, estimated, worth = LINES[name]
    raw = (HEADER + lines).encode()
    key = "vendor/2026-03.csv.gz" if packed else "vendor/2026-03.csv"
    table, extract = looked(tmp_path, gzip.compress(raw) if packed else raw, bill(*finals), key)
    assert (table["estimated"], extract["estimated"], table["worth"]) == (estimated, estimated, Decimal(worth))


def test_a_word_is_made_alike_as_the_table_s_is(tmp_path: Path) -> None:
    """What the contract does to the text of a cell is done before it is judged, in the bytes too."""
    declared = bill(Final(column="status", one_of=("FINAL",))).model_dump()
    declared["columns"][-1]["normalise"] = ("upper",)
    lines = "W-1,1,2026-03-31,5.00,USD,final\nW-2,2,2026-03-31,1.00,USD,draft\n"
    table, extract = looked(tmp_path, (HEADER + lines).encode(), FileContract.model_validate(declared))
    assert (table["estimated"], extract["estimated"]) == (1, 1)


def test_under_another_header_and_without_the_column(tmp_path: Path) -> None:
    """By any alias. A file that does not say it at all cannot be read again: the gate stays shut."""
    renamed = (HEADER.replace("status", "State") + "W-1,1,2026-03-31,5.00,USD,Estimated\n").encode()
    table, extract = looked(tmp_path / "a", renamed, bill(*NO_WORD))
    assert (table["estimated"], extract["estimated"]) == (1, 1)
    without = b"invoice_id,line_no,invoice_date,amount,currency\nW-1,1,2026-03-31,5.00,USD\n"
    with pytest.raises(PortError, match="MISSING_COLUMN"):
        looked(tmp_path / "b", without, bill(*NO_WORD))


@pytest.mark.parametrize(
    ("month", "rows", "total"), [("2026-01", 2, "30.00"), ("2026-02", 0, None), ("2026-03", 1, "7.00")]
)
def test_case_50_each_month_is_judged_by_itself(tmp_path: Path, month: str, rows: int, total: str | None) -> None:
    """The empty month is EMPTY_EXTRACT, whatever the other months have; they are what they are."""
    loading = Loading(tmp_path, bill(), Period.parse(month, "month"))
    raw = case_file("50", f"{month}/vendor.csv").read_bytes()
    loading.land(raw, f"vendor/{month}.csv")
    floor = loading.verdict("extract_has_rows", phase="pre")
    if total is None:
        assert (floor.status, floor.code) == ("failed", "EMPTY_EXTRACT")
        return
    assert floor.opens
    assert isinstance(loading.load(), Done)
    counted, added = loading.verdict("row_counts_agree"), loading.verdict("amounts_agree")
    assert (counted.observed.value, added.observed.value) == (rows, Decimal(total))
    assert loading.verdict("period_is_covered").opens


@pytest.mark.parametrize(("named", "holds"), [("2026-02", "2026-01"), ("2026-01", "2026-03")])
def test_a_month_with_the_rows_of_another_is_stale(tmp_path: Path, named: str, holds: str) -> None:
    """Rows there are, and none of them in the month."""
    loading = Loading(tmp_path, bill(), Period.parse(named, "month"))
    loading.land(case_file("50", f"{holds}/vendor.csv").read_bytes(), f"vendor/{named}.csv")
    assert loading.verdict("extract_has_rows", phase="pre").opens
    assert isinstance(loading.load(), Done)
    assert loading.verdict("period_is_covered").code == "STALE_PERIOD"
