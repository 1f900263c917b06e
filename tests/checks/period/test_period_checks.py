"""What is judged of the rows themselves: the period they belong to, and their keys."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from dagster_planexec.contract.file_contract import Column
from dagster_planexec.contract.outcome import Done
from dagster_planexec.world.period import Period
from tests.support.loading import TARGET, Loading, invoice_contract

QUARTER = Period.parse("2018-Q1", "quarter")


def loaded(folder, *days, period=None, contract=None, ids=None):
    """One row per day, loaded."""
    out = Loading(folder, contract or invoice_contract(), *([period] if period else []))
    ids = ids or [f"A{n}" for n in range(len(days))]
    out.land(
        "id,day,amount\n"
        + "".join(f'"{key}",{day},{n + 1}.00\n' for n, (key, day) in enumerate(zip(ids, days, strict=True)))
    )
    assert isinstance(out.load(), Done)
    return out


class TestPeriodIsCovered:
    @pytest.mark.parametrize("days", [("2026-03-01",), ("2026-03-31",), ("2026-03-01", "2026-03-31")])
    def test_rows_of_the_month(self, tmp_path, days):
        assert loaded(tmp_path, *days).verdict("period_is_covered").opens

    @pytest.mark.parametrize("day", ["2026-02-28", "2026-04-01", "2025-03-15"])
    def test_rows_of_another_month_only_are_stale(self, tmp_path, day):
        """The right name with last month's bytes inside."""
        verdict = loaded(tmp_path, day).verdict("period_is_covered")

        assert (verdict.code, verdict.status) == ("STALE_PERIOD", "failed")
        assert verdict.text.startswith("no row lies in 2026-03; 1 ")

    def test_rows_beside_the_month_are_named_and_let_pass(self, tmp_path):
        verdict = loaded(tmp_path, "2026-02-28", "2026-03-01", "2026-04-01", "2026-04-02").verdict("period_is_covered")

        assert verdict.opens
        assert verdict.text == "1 rows in 2026-03; 1 before it, 2 after it"

    @pytest.mark.parametrize(
        ("days", "text"),
        [
            (("2018-01-15",), "February 2018 and March 2018 have no rows"),
            (("2018-01-15", "2018-03-15"), "February 2018 has no rows"),
            (("2018-02-15", "2017-12-31"), "January 2018 and March 2018 have no rows; 1 before it"),
        ],
    )
    def test_a_quarter_needs_each_of_its_months(self, tmp_path, days, text):
        """A council published January alone as January to March."""
        verdict = loaded(tmp_path, *days, period=QUARTER).verdict("period_is_covered")

        assert (verdict.code, verdict.text) == ("PERIOD_INCOMPLETE", text)

    def test_a_whole_quarter_passes(self, tmp_path):
        assert (
            loaded(tmp_path, "2018-01-01", "2018-02-28", "2018-03-31", period=QUARTER)
            .verdict("period_is_covered")
            .opens
        )

    def test_months_may_be_declared_to_be_empty(self, tmp_path):
        contract = invoice_contract(every_month=False)

        assert loaded(tmp_path, "2018-01-15", period=QUARTER, contract=contract).verdict("period_is_covered").opens

    def test_nothing_is_stale(self, tmp_path):
        loading = loaded(tmp_path, "2026-03-01")
        loading.sql(f"delete from {TARGET}")

        assert loading.verdict("period_is_covered").code == "STALE_PERIOD"

    def test_a_table_that_is_gone(self, tmp_path):
        loading = Loading(tmp_path)
        loading.land("")

        assert loading.verdict("period_is_covered").code == "TABLE_GONE"

    def test_without_a_date_column_the_drop_must_name_the_period(self, tmp_path):
        contract = invoice_contract(
            columns=(Column(name="id", type="text"), Column(name="amount", type="decimal")), date=None
        )
        loading = Loading(tmp_path, contract)
        loading.land("id,amount\nA1,1.00\n")
        assert isinstance(loading.load(), Done)

        by_name = loading.verdict("period_is_covered")
        loading.task = replace(loading.task, drop=replace(loading.task.drop, pattern=r".*\.csv"))
        undeclared = loading.verdict("period_is_covered")

        assert (by_name.status, by_name.opens) == ("not-applicable", True)
        assert (undeclared.status, undeclared.code, undeclared.opens) == ("not-evaluated", "BAD_CONTRACT", False)


class TestWindow:
    @pytest.mark.parametrize(
        ("days", "window", "code", "says"),
        [
            (("2026-03-01", "2026-03-31"), {}, None, "2 rows in 2026-03"),
            (("2026-03-01", "2026-02-28"), {}, "OUT_OF_PERIOD",
             "1 rows worth 2.00 are dated outside the window, from 2026-02-28 to 2026-02-28"),
            (("2026-03-01", "2026-02-28", "2026-04-03"), {"days_before": 1, "days_after": 3}, None, "1 before it"),
            (("2026-03-01", "2026-02-27", "2026-04-04"), {"days_before": 1, "days_after": 3}, "OUT_OF_PERIOD",
             "2 rows worth 5.00 are dated outside the window, from 2026-02-27 to 2026-04-04"),
            (("2026-02-27",), {}, "STALE_PERIOD", "no row lies in 2026-03"),
        ],
    )  # fmt: skip
    def test_rows_outside_it_are_named_with_their_worth(self, tmp_path, days, window, code, says):
        verdict = loaded(tmp_path, *days, contract=invoice_contract(window=window)).verdict("period_is_covered")

        assert verdict.code == code
        assert says in verdict.text

    @pytest.mark.parametrize(
        ("days", "code", "says"),
        [
            ([f"2026-03-{n:02d}" for n in range(1, 32)], None, "31 rows in 2026-03"),
            ([f"2026-03-{n:02d}" for n in range(1, 31)], "PERIOD_INCOMPLETE", "1 days have no rows: 2026-03-31"),
            (["2026-03-15"], "PERIOD_INCOMPLETE", "2026-03-10 and 20 more"),
        ],
    )
    def test_every_day_has_rows_if_so_declared(self, tmp_path, days, code, says):
        verdict = loaded(tmp_path, *days, contract=invoice_contract(every_day=True)).verdict("period_is_covered")

        assert verdict.code == code
        assert says in verdict.text


class TestKeysArePresent:
    def test_every_row_has_one(self, tmp_path):
        verdict = loaded(tmp_path, "2026-03-01", "2026-03-02").verdict("keys_are_present")

        assert (verdict.status, verdict.text) == ("passed", "each of 2 rows has a key")

    @pytest.mark.parametrize("blank", ["null", "'   '"])
    def test_null_and_blank_are_none(self, tmp_path, blank):
        """A load refuses them; this check is for tables, whoever filled them."""
        loading = loaded(tmp_path, "2026-03-01", "2026-03-02", "2026-03-03", ids=["A1", "A2", "A3"])
        loading.sql(f"update {TARGET} set id = {blank} where id <> 'A1'")

        verdict = loading.verdict("keys_are_present")

        assert (verdict.code, verdict.observed.value) == ("NULL_KEY", 2)
        assert verdict.text == "2 of 3 rows, worth 5.00, have no key"

    def test_one_part_of_a_key_is_not_enough(self, tmp_path):
        loading = loaded(tmp_path, "2026-03-01", contract=invoice_contract(key=("id", "day")))
        loading.sql(f"update {TARGET} set day = null")

        assert loading.verdict("keys_are_present").code == "NULL_KEY"


class TestKeysAreUnique:
    def test_no_key_repeats(self, tmp_path):
        assert loaded(tmp_path, "2026-03-01", "2026-03-02").verdict("keys_are_unique").opens

    def test_a_key_that_repeats_is_named_with_its_worth(self, tmp_path):
        days = ("2026-03-01",) * 4

        verdict = loaded(tmp_path, *days, ids=["F1", "F1 ", "F1", "F2"]).verdict("keys_are_unique")

        assert (verdict.code, verdict.observed.value) == ("DUPLICATE_KEY", 1)
        assert verdict.text == "1 key repeats, in 3 rows worth 6.00, e.g. 'F1'"

    def test_rows_without_a_key_are_the_other_checks_business(self, tmp_path):
        loading = loaded(tmp_path, "2026-03-01", "2026-03-01")
        loading.sql(f"update {TARGET} set id = ' '")

        assert loading.verdict("keys_are_unique").opens

    def test_leading_zeros_keep_keys_apart(self, tmp_path):
        assert loaded(tmp_path, "2026-03-01", "2026-03-01", ids=["0042", "42"]).verdict("keys_are_unique").opens

    def test_a_contract_may_declare_that_lines_repeat(self, tmp_path):
        contract = invoice_contract(unique_key=False)

        verdict = loaded(tmp_path, "2026-03-01", "2026-03-01", ids=["F1", "F1"], contract=contract).verdict(
            "keys_are_unique"
        )

        assert (verdict.status, verdict.text) == ("not-applicable", "the contract declares unique_key: false")

    def test_keys_are_never_shown_at_length(self, tmp_path):
        verdict = loaded(tmp_path, "2026-03-01", "2026-03-01", ids=["x" * 4000] * 2).verdict("keys_are_unique")

        assert len(verdict.text) < 200

    def test_amounts_are_decimals(self, tmp_path):
        loading = loaded(tmp_path, "2026-03-01", "2026-03-01", ids=["F1", "F1"])
        loading.sql(f"update {TARGET} set amount = 4503599627370497.01")

        text = loading.verdict("keys_are_unique").text

        assert str(Decimal("9007199254740994.02")) in text
