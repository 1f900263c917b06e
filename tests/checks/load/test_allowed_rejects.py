"""What a contract lets a load refuse: nothing of it is lost, and nothing else is let by."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dagster_planexec.contract.file.rules import Allowed
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.tools.warehouse.load import WarehouseLoad
from tests.support.loading import TARGET, Loading, invoice_contract

HEAD = "id,day,amount\nA1,2026-03-01,10.00\nA2,2026-03-02,20.50\n"
ALL = ("BAD_AMOUNT", "BAD_DATE", "NULL_KEY", "RAGGED_ROW", "BAD_ENCODING", "SCALE_OVERFLOW")


def judged(folder, lines: str | bytes, *codes: str, at_most: int = 2) -> tuple[Loading, dict[str, Verdict]]:
    """A load of two good rows and these, and what is said of it."""
    loading = Loading(folder, invoice_contract(allowed_rejects=Allowed(codes=codes, at_most=at_most)))
    loading.land(HEAD.encode() + (lines if isinstance(lines, bytes) else lines.encode()))
    assert isinstance(loading.load(), Done)
    names = ("row_counts_agree", "rejects_are_allowed", "amounts_agree")
    return loading, {name: loading.verdict(name) for name in names}


@pytest.mark.parametrize(
    ("lines", "worth", "said"),
    [
        ("", "0", "no row was refused"),
        (",2026-03-03,5.00\n", "5.00", "1 rows refused (1 NULL_KEY), as the contract allows"),
        ("A3,2026-03-03,5.005\n", "0", "1 rows refused (1 SCALE_OVERFLOW), as the contract allows"),
        ("A3,x,5.00\nA4,2026-03-04,x\n", "5.00", "2 rows refused (1 BAD_AMOUNT, 1 BAD_DATE), as the contract allows"),
        ("A3,x,x\n", "0", "1 rows refused (1 BAD_AMOUNT, 1 BAD_DATE), as the contract allows"),
        ("A3,2026-03-03,5.00,x\n", "0", "1 rows refused (1 RAGGED_ROW), as the contract allows"),
        (b"\xff,2026-03-03,5.00\n", "0", "1 rows refused (1 BAD_ENCODING), as the contract allows"),
    ],
    ids=["none", "key", "scale", "two-rows", "two-cells", "ragged", "encoding"],
)
def test_what_is_allowed_lets_the_load_go_on(tmp_path, lines, worth, said):
    loading, verdicts = judged(tmp_path, lines, *ALL)

    assert [v.text for v in verdicts.values() if not v.opens] == []
    assert verdicts["rejects_are_allowed"].text == said
    assert Decimal(str(verdicts["amounts_agree"].observed.value)) == Decimal("30.50") + Decimal(worth)
    assert loading.sql(f"select count(*), sum(amount) from {TARGET}") == [(2, Decimal("30.50"))]


@pytest.mark.parametrize(
    ("lines", "at_most", "code", "says"),
    [
        ("A3,x,5.00\n,2026-03-03,5.00\n", 2, "BAD_DATE", "1 rows were refused for what is not allowed"),
        (",2026-03-03,5.00\nA3,x,5.00\n", 2, "BAD_DATE", "line 5, day: 'x' (BAD_DATE)"),
        (",2026-03-03,5.00\n,2026-03-03,5.00\n", 1, "NULL_KEY", "2 rows refused (2 NULL_KEY), and 1 are allowed"),
    ],
)
def test_what_is_not_allowed_stops_it_with_its_code(tmp_path, lines, at_most, code, says):
    _, verdicts = judged(tmp_path, lines, "NULL_KEY", at_most=at_most)

    assert (verdicts["rejects_are_allowed"].status, verdicts["rejects_are_allowed"].code) == ("failed", code)
    assert says in verdicts["rejects_are_allowed"].text
    assert verdicts["row_counts_agree"].opens


def test_a_broken_record_that_is_not_allowed_is_an_error(tmp_path):
    _, verdicts = judged(tmp_path, "A3,2026-03-03,5.00,x\n", "NULL_KEY")

    assert (verdicts["row_counts_agree"].code, verdicts["rejects_are_allowed"].code) == ("RAGGED_ROW", "RAGGED_ROW")


@pytest.mark.parametrize(
    ("change", "check"),
    [
        ("delete from {t}__rejects", "row_counts_agree"),
        ("delete from {t} where id = 'A1'", "row_counts_agree"),
        ("insert into {t}__rejects select * replace (9 as line) from {t}__rejects", "row_counts_agree"),
        ("update {t}__rejects set amount = amount + 0.01", "amounts_agree"),
        ("update {t}__rejects set amount = null", "amounts_agree"),
        ("update {t} set amount = amount - 0.01 where id = 'A1'", "amounts_agree"),
        ("update {t}__rejects set reason = 'BAD_DATE'", "rejects_are_allowed"),
        ("drop table {t}__rejects", "rejects_are_allowed"),
    ],
)
def test_nothing_of_it_can_be_lost_in_silence(tmp_path, change, check):
    loading, _ = judged(tmp_path, ",2026-03-03,5.00\n", "NULL_KEY")
    loading.sql(change.format(t=TARGET))

    assert not loading.verdict(check).opens


def test_a_rejected_cell_is_bounded_and_quoted(tmp_path):
    _, verdicts = judged(tmp_path, f"A3,{'<script>' * 400},5.00\n", "NULL_KEY")

    assert len(verdicts["rejects_are_allowed"].text) < 500


def test_without_leave_every_reject_stops_the_load(tmp_path):
    loading = Loading(tmp_path)
    loading.land(HEAD + ",2026-03-03,5.00\n")

    assert isinstance(loading.load(), Failed)
    assert loading.verdict("rejects_are_allowed").status == "not-applicable"
    assert "rejects_are_allowed" in WarehouseLoad.contract.postconditions
