"""What is judged before and after a load: rows, columns, counts, sums, schema."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dagster_planexec.checks.load.contract_of import contract_of
from dagster_planexec.contract.file_contract import Column
from dagster_planexec.contract.outcome import Done
from dagster_planexec.contract.tool import Model
from dagster_planexec.errors import PlanexecError
from tests.support.loading import TARGET, Loading, invoice_contract
from tests.support.loads import case_file

GOOD = "id,day,amount\nA1,2026-03-01,10.00\nA2,2026-03-02,20.50\n"


class TestExtractHasRows:
    @pytest.mark.parametrize(
        "raw", ["", "id,day,amount\n", "\ufeffid,day,amount", "\n\n"], ids=["zero-byte", "header", "mark", "blank"]
    )
    def test_no_record_is_an_empty_extract(self, loading, raw):
        loading.land(raw)

        verdict = loading.verdict("extract_has_rows", phase="pre")

        assert (verdict.status, verdict.code) == ("failed", "EMPTY_EXTRACT")
        assert verdict.text == "the delivery has no record"

    def test_one_record_is_enough_unless_the_contract_says_more(self, loading):
        loading.land(GOOD)

        assert loading.verdict("extract_has_rows", phase="pre").opens

    def test_fewer_than_the_floor_are_too_few(self, tmp_path):
        loading = Loading(tmp_path, invoice_contract(min_rows=3))
        loading.land(GOOD)

        verdict = loading.verdict("extract_has_rows", phase="pre")

        assert (verdict.code, verdict.observed.value) == ("EMPTY_EXTRACT", "2 records")

    def test_several_files_are_one_delivery(self, tmp_path):
        loading = Loading(tmp_path, invoice_contract(min_rows=3))
        loading.land(GOOD)
        loading.land("id,day,amount\nA3,2026-03-02,20.50\n", "vendor/2026-03-b.csv")

        assert loading.verdict("extract_has_rows", phase="pre").opens

    @pytest.mark.parametrize(
        ("floor", "claimed", "code", "expected"),
        [
            pytest.param(0, 2, None, 2, id="met-where-the-contract-asks-nothing"),
            pytest.param(1, 3, "EMPTY_EXTRACT", 3, id="not-met"),
            pytest.param(1, 2, None, 2, id="met-beyond-where-counting-used-to-stop"),
            pytest.param(2, 1, None, 2, id="weaker-than-the-contract"),
            pytest.param(3, 1, "EMPTY_EXTRACT", 3, id="weaker-than-the-contract-and-not-met"),
        ],
    )
    @pytest.mark.parametrize("files", [1, 2])
    def test_the_stricter_of_contract_and_claim_counts(self, tmp_path, floor, claimed, code, expected, files):
        loading = Loading(tmp_path, invoice_contract(min_rows=floor))
        header, *rows = GOOD.splitlines(keepends=True)
        for n in range(files):
            loading.land(header + "".join(rows[n::files]), f"vendor/2026-03-{n}.csv")

        verdict = loading.verdict("extract_has_rows", phase="pre", claimed={"min_rows": claimed})

        assert (verdict.code, verdict.expected.value) == (
            code,
            f"at least {expected} record{'' if expected == 1 else 's'}",
        )
        source = str(verdict.expected.source)
        assert ("claim extract_has_rows.min_rows" in source) == (claimed > floor), source

    def test_a_contract_without_a_floor_has_no_check(self, tmp_path):
        loading = Loading(tmp_path, invoice_contract(min_rows=0))
        loading.land("")

        assert loading.verdict("extract_has_rows", phase="pre").status == "not-applicable"

    def test_a_copy_that_vanished_is_gone(self, loading):
        sha256 = loading.land(GOOD)
        loading.ports.roots.landed_path(sha256).unlink()

        assert loading.verdict("extract_has_rows", phase="pre").code == "OBJECT_GONE"

    def test_the_published_cases(self, loading):
        for number in ("11", "12"):
            loading.landed.clear()
            loading.land(case_file(number).read_bytes())
            assert loading.verdict("extract_has_rows", phase="pre").code == "EMPTY_EXTRACT"


class TestNoUnexpectedColumns:
    @pytest.mark.parametrize(
        ("header", "code", "words"),
        [
            ("id,day,amount", None, "3 columns"),
            ("id , day,Amount GBP,note", None, "4 columns"),
            ("amount,id,day", None, "3 columns"),
            ("id,day,amount,currency", "UNKNOWN_COLUMN", "does not know: 'currency'"),
            ("id,day,amount,", "UNKNOWN_COLUMN", "does not know: ''"),
            ("id,day,amount,amount", "UNKNOWN_COLUMN", "stand for the same: 'amount'"),
            ("id,day,amount,Amount GBP", "UNKNOWN_COLUMN", "stand for the same: 'amount'"),
            ("id,day,price", "UNKNOWN_COLUMN", "'price'; and lacks 'amount'"),
            ("id,amount", "MISSING_COLUMN", "lacks 'day'"),
            ("ID,day,amount", "UNKNOWN_COLUMN", "'ID'; and lacks 'id'"),
            ("id;day;amount", "UNKNOWN_COLUMN", "'id;day;amount'"),
            ("", "MISSING_COLUMN", "lacks 'id', 'day', 'amount'; it has no columns"),
        ],
    )
    def test_the_header_is_held_against_the_contract(self, loading, header, code, words):
        loading.land(header + "\n")

        verdict = loading.verdict("no_unexpected_columns", phase="pre")

        assert verdict.code == code
        assert words in verdict.text

    def test_each_file_has_its_own_verdict(self, loading):
        loading.land(GOOD)
        loading.land(GOOD.replace("amount", "price"), "vendor/2026-03-b.csv")

        assert [v.code for v in loading.judge("no_unexpected_columns", phase="pre")] == [None, "UNKNOWN_COLUMN"]

    def test_what_is_shown_is_bounded(self, loading):
        loading.land(",".join("x" * 500 + str(n) for n in range(200)) + "\n")

        assert len(loading.verdict("no_unexpected_columns", phase="pre").text) < 2000


class TestRowCountsAgree:
    def test_as_many_rows_as_records(self, loading):
        loading.land(GOOD)
        loading.land("id,day,amount\nB1,2026-03-03,1.00\n", "vendor/2026-03-b.csv")
        assert isinstance(loading.load(), Done)

        verdict = loading.verdict("row_counts_agree")

        assert verdict.opens
        assert verdict.text == "3 records (2 + 1) in the files, 3 rows in the table"
        assert verdict.observed.source.subject != verdict.expected.source.subject

    @pytest.mark.parametrize(
        "change", ["delete from {t}", "delete from {t} where id = 'A1'", "insert into {t} select * from {t}"]
    )
    def test_rows_that_vanish_or_appear_are_met(self, loading, change):
        loading.land(GOOD)
        loading.load()
        loading.sql(change.format(t=TARGET))

        assert loading.verdict("row_counts_agree").code == "ROWCOUNT_MISMATCH"

    def test_a_load_that_loads_nothing_and_says_success(self, loading):
        """Case 09: three records in the source, none in the table."""
        loading.land(GOOD)
        loading.create()

        verdict = loading.verdict("row_counts_agree")

        assert (verdict.code, verdict.expected.value, verdict.observed.value) == ("ROWCOUNT_MISMATCH", 2, 0)

    def test_a_table_that_is_gone(self, loading):
        loading.land(GOOD)

        assert loading.verdict("row_counts_agree").code == "TABLE_GONE"

    def test_an_extra_empty_field_which_duckdb_takes(self, loading):
        """The loader cannot see it; the counter names the line, and the gate stays shut."""
        loading.land(GOOD.replace("20.50", "20.50,"))
        assert isinstance(loading.load(), Done)

        verdict = loading.verdict("row_counts_agree")

        assert (verdict.status, verdict.code) == ("errored", "RAGGED_ROW")
        assert "line 3" in verdict.text


class TestAmountsAgree:
    def test_sums_are_the_same_to_the_last_digit(self, loading):
        loading.land("id,day,amount\nA1,2026-03-01,9007199254740993.01\nA2,2026-03-02,0.10\nA3,2026-03-02,0.20\n")
        loading.load()

        verdict = loading.verdict("amounts_agree")

        assert verdict.opens
        assert verdict.observed.value == Decimal("9007199254740993.31")

    @pytest.mark.parametrize("change", ["amount + 0.01", "round(amount)", "-amount", "null"])
    def test_a_cent_is_met(self, loading, change):
        loading.land(GOOD)
        loading.load()
        loading.sql(f"update {TARGET} set amount = {change} where id = 'A2'")

        verdict = loading.verdict("amounts_agree")

        assert (verdict.code, verdict.expected.value) == ("CONTROL_TOTAL_MISMATCH", Decimal("30.5"))

    def test_each_file_may_have_its_own_header(self, loading):
        loading.land(GOOD)
        loading.land("Invoice Id,day,Amount GBP\nB1,2026-03-03,1.00\n", "vendor/2026-03-b.csv")
        loading.load()

        assert loading.verdict("amounts_agree").observed.value == Decimal("31.50")


def test_control_totals_are_not_applicable_until_they_can_be_declared(loading):
    loading.land(GOOD)

    verdict = loading.verdict("control_totals_agree")

    assert (verdict.status, verdict.text) == ("not-applicable", "control_totals: none declared")
    assert "control_totals" in str(verdict.expected.source)


class Copied(Model):
    """A snapshot's arguments."""

    source: str
    target: str


class Created(Model):
    """A table's arguments."""

    target: str
    contract: str


CREATED = Created(target=TARGET, contract="charges")


class TestSchemaMatchesContract:
    def test_the_table_that_was_made_from_it_does(self, loading):
        loading.create()

        assert loading.verdict("schema_matches_contract", args=CREATED).text == "the table has the 4 declared columns"

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ("alter table {t} drop column day", "lacks day DATE"),
            ("alter table {t} add column currency varchar", "has 'currency', which is not declared"),
            ("alter table {t} alter amount type double", "has amount as DOUBLE, not DECIMAL(18,2)"),
            ("alter table {t} alter amount type decimal(18,3)", "has amount as DECIMAL(18,3), not DECIMAL(18,2)"),
            ("alter table {t} rename column day to date", "lacks day DATE; has 'date'"),
        ],
    )
    def test_another_shape_is_drift(self, loading, change, words):
        loading.create()
        loading.sql(change.format(t=TARGET))

        verdict = loading.verdict("schema_matches_contract", args=CREATED)

        assert verdict.code == "SCHEMA_DRIFT"
        assert words in verdict.text

    def test_no_table_is_gone(self, loading):
        assert (
            loading.verdict("schema_matches_contract", args=Copied(source="books.charges", target=TARGET)).code
            == "TABLE_GONE"
        )


class TestContractOf:
    def test_arguments_name_it_or_the_input_read_or_the_drop(self, loading):
        other = invoice_contract(name="other", columns=(*invoice_contract().columns, Column(name="x", type="text")))
        loading.task.contracts["other"] = other  # type: ignore[index]

        assert contract_of(loading.task, Created(target="s.t", contract="other")) is other
        assert contract_of(loading.task, Copied(source="books.charges", target="s.t")).name == "charges"
        loading.land(GOOD)
        assert contract_of(loading.task, loading.args).name == "charges"

    def test_an_unknown_name_is_no_contract(self, loading):
        with pytest.raises(PlanexecError, match="'nope'") as caught:
            contract_of(loading.task, Created(target="s.t", contract="nope"))

        assert caught.value.code == "BAD_CONTRACT"
