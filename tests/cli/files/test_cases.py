"""Every case of a vendor's file, through the public verbs: exactly what its `expected` says, never the wrong answer.

Each folder of `tests/cases/vendor_files` holds the fault, `case.json` with the truth, and `contract.yaml` with what its
`contract` declares, in this project's words.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.planexec import Answer, planexec

CASES = Path(__file__).parents[2] / "cases" / "vendor_files"


def folder(number: str) -> Path:
    """The folder of a case."""
    return next(CASES.glob(f"{number}-*"))


def expected(number: str) -> dict[str, Any]:
    """What the case says of a correct implementation."""
    return json.loads((folder(number) / "case.json").read_text())["expected"]


@cache
def ingest(number: str, *names: str, period: str | None = None, rows: tuple[str, ...] = ()) -> Answer:
    """Try the files of a case."""
    at = folder(number)
    looked_up = [word for row in rows for word in ("--row", row)]
    asked = ["--period", period] if period else []
    return planexec(
        "ingest", *(at / n for n in names or ("vendor.csv",)), "--contract", at / "contract.yaml", *asked, *looked_up
    )


@cache
def reconcile(number: str, vendor: str = "vendor.csv") -> Any:
    """Try the two sides of a case."""
    at = folder(number)
    given = ("--vendor", at / vendor, "--ledger", at / "ledger.csv", "--spec", at / "spec.yaml")
    return planexec("reconcile", *given).document


def check(document: Any, name: str) -> Any:
    """The first verdict of a check that did not pass, or the first at all."""
    found = [one for one in document["checks"] if one["check"] == name]
    return next((one for one in found if one["verdict"] != "passed"), found[0])


ACCEPTED = {
    "14": ("vendor.csv.gz",), "15": ("vendor.zip",), "18": ("vendor.csv",), "19": ("vendor.csv",),
    "21": ("vendor.csv",), "25": ("q1.csv", "q2.csv", "q3.csv"), "26": ("vendor.csv",),
    "27": ("vendor.csv",), "29": ("vendor.csv",), "30": ("vendor.csv",), "32": ("vendor.csv",), "33": ("vendor.csv",),
}  # fmt: skip


@pytest.mark.parametrize("number", ACCEPTED)
def test_what_is_fine_loads_to_its_exact_figures(number: str) -> None:
    """Rows and sum to the last digit; none of the plausible wrong answers."""
    truth = expected(number)

    names = () if ACCEPTED[number] == ("vendor.csv",) else ACCEPTED[number]
    answer = ingest(number, *names)

    document = answer.document
    assert (document["outcome"], document["code"], answer.exit_code) == ("accept", None, 0), document["text"]
    assert (document["rows"], document["sum_amount"]) == (truth["rows"], truth["sum_amount"])
    wrong = truth.get("forbidden_answer", {})
    assert not wrong or document["sum_amount"] != wrong["sum_amount"]


REFUSED = {
    "11": {"source_rows": 0}, "12": {}, "17": {}, "23": {}, "34": {}, "36": {}, "38": {}, "40": {}, "45": {}, "48": {},
}  # fmt: skip


@pytest.mark.parametrize("number", REFUSED)
def test_what_is_at_fault_is_refused_with_its_code(number: str) -> None:
    """And its figures are not those of the wrong answer."""
    answer = ingest(number)

    assert (answer.document["outcome"], answer.document["code"]) == ("refuse", expected(number)["error"])
    assert answer.exit_code == 4


def test_09_a_loader_that_says_success_and_loads_nothing() -> None:
    """The file itself is fine; that a load which leaves nothing is met is `load-zero-rows` of the demo's faults."""
    document = ingest("09").document

    assert (document["outcome"], document["rows"]) == ("accept", expected("09")["source_rows"])


def test_11_a_header_only_file_has_no_row() -> None:
    """Counted by the parser that is not the loader."""
    assert check(ingest("11").document, "extract_has_rows")["observed"]["value"] == "no record"


def test_12_an_empty_object_is_told_by_its_size() -> None:
    """Before it is read."""
    document = ingest("12").document

    assert [file["bytes"] for file in document["files"]] == [expected("12")["size_bytes"]]


def test_17_the_trailer_and_what_was_found() -> None:
    """Both pairs are named."""
    truth = expected("17")

    document = ingest("17").document

    told = check(document, "control_totals_agree")["text"]
    for side in (truth["trailer"], truth["found"]):
        assert str(side["rows"]) in told, told
        assert side["amount"] in told, told


def test_18_the_first_column_has_no_mark() -> None:
    """The byte order mark is none of its name."""
    assert check(ingest("18").document, "no_unexpected_columns")["observed"]["value"].startswith("'invoice_id'")


def test_19_names_read_as_they_were_written() -> None:
    """In the encoding that is declared."""
    document = ingest("19", rows=("Q2",)).document

    assert [row["supplier"] for row in document["looked_up"]["Q2"]] == [expected("19")["supplier_of"]["Q2"]]


def test_21_physical_lines_are_no_records() -> None:
    """Seven lines of text hold three records below their header."""
    text = (folder("21") / "vendor.csv").read_text()

    assert len(text.splitlines()) == expected("21")["physical_lines"]
    assert ingest("21").document["rows"] == expected("21")["rows"]


def test_23_the_line_with_a_field_too_many_is_named() -> None:
    """With both widths; nothing of the file counts as loaded."""
    truth = expected("23")

    document = ingest("23").document

    (reject,) = document["rejects"]["first"]
    assert (reject["line"], reject["reason"]) == (truth["line"], truth["error"])
    assert reject["column"] == f"{truth['fields']} fields, the header has {truth['expected_fields']}"
    assert document["outcome"] == "refuse"


def test_26_what_the_total_line_states_is_compared() -> None:
    """It is no data and a control total."""
    told = check(ingest("26").document, "control_totals_agree")

    assert told["verdict"] == "passed"
    assert expected("26")["control"]["amount"] in told["text"]


def test_32_cents_behind_twenty_thousand_whole_amounts() -> None:
    """The lines that a sniffed column would have rounded."""
    truth = expected("32")["amount_of"]

    looked_up = ingest("32", rows=tuple(truth)).document["looked_up"]

    assert {key: rows[0]["amount"] for key, rows in looked_up.items()} == truth


def test_33_days_before_months_as_declared() -> None:
    """And refused as ambiguous if the order is not declared."""
    truth = expected("33")

    document = ingest("33", period="2026-03", rows=tuple(truth["dates"])).document

    assert (document["in_period"], document["in_period_sum"]) == (truth["in_period"], truth["in_period_sum"])
    assert {key: rows[0]["invoice_date"] for key, rows in document["looked_up"].items()} == truth["dates"]


def test_33_an_order_that_is_not_declared_is_not_guessed(tmp_path: Path) -> None:
    """Every date of the file reads both ways."""
    declared = (folder("33") / "contract.yaml").read_text().replace(', formats: ["%d/%m/%Y"]', "")
    (tmp_path / "contract.yaml").write_text(declared)

    document = planexec("ingest", folder("33") / "vendor.csv", "--contract", tmp_path / "contract.yaml").document

    assert (document["outcome"], document["code"]) == ("refuse", "AMBIGUOUS_DATE")


def test_34_a_day_number_below_sixty_one_is_no_date() -> None:
    """The row is named by its line and key; the others read as the days they are."""
    truth = expected("34")

    document = ingest("34", rows=tuple(truth["others"])).document

    (reject,) = document["rejects"]["first"]
    assert (reject["line"], reject["value"], reject["reason"]) == (4, truth["value"], "BAD_DATE")
    assert {key: rows[0]["invoice_date"] for key, rows in document["looked_up"].items()} == truth["others"]


def test_36_a_key_twice_on_both_sides() -> None:
    """Both sides are named with the key; nothing is joined."""
    truth = expected("36")

    document = reconcile("36")

    assert (document["code"], document["side"]) == (truth["error"], truth["side"])
    assert (document["vendor"]["rows"], document["ledger"]["rows"]) == (truth["vendor_rows"], truth["ledger_rows"])
    for side in ("vendor", "ledger"):
        assert "'F1'" in check(document[side], "keys_are_unique")["text"]
    assert document["statuses"] == {}


def test_38_lines_without_a_key_are_counted_with_their_amount() -> None:
    """On each side."""
    truth = expected("38")

    document = reconcile("38")

    assert (document["code"], document["side"]) == ("NULL_KEY", "both")
    for side in ("vendor", "ledger"):
        rejects = document[side]["rejects"]
        assert rejects["by_reason"] == {"NULL_KEY": truth[f"{side}_null_rows"]}
        assert rejects["amounts"] == {"NULL_KEY": truth[f"{side}_null_amount"]}


def test_40_an_empty_reference_matches_nothing() -> None:
    """Least of all every line."""
    document = reconcile("40")

    assert (document["outcome"], document["code"], document["side"]) == ("refuse", "NULL_KEY", "vendor")
    assert document["vendor"]["rejects"]["by_reason"] == {"NULL_KEY": expected("40")["vendor_null_rows"]}
    assert document["matched"] == 0


def test_43_a_credit_note_is_below_zero_however_it_is_written() -> None:
    """Net, gross and credits."""
    truth = expected("43")

    document = ingest("43").document

    assert (document["outcome"], document["rows"]) == ("accept", truth["rows"])
    assert document["sum_amount"] == truth["net"]
    assert document["sum_positive"] == truth["gross"]
    assert document["sum_negative"] == f"-{truth['credits']}"
    assert document["sum_amount"] not in {wrong["net"] for wrong in truth["forbidden_answer"]}


def test_45_an_estimate_may_be_reported_and_not_paid() -> None:
    """The lines that are estimates are counted."""
    truth = expected("45")

    document = ingest("45").document

    assert document["code"] == "NOT_FINAL"
    assert document["final"]["estimated_rows"] == truth["estimated_rows"]
    assert document["report_allowed"] is truth["report_allowed"]


def test_48_a_junk_last_line_has_no_key() -> None:
    """Its line is named; the good lines stay what they are."""
    truth = expected("48")

    document = ingest("48").document

    assert (document["code"], document["rejects"]["first"][0]["line"]) == ("NULL_KEY", truth["line"])
    assert (document["rows"], document["sum_amount"]) == (truth["good_rows"], truth["good_sum"])


def test_50_one_empty_month_says_nothing_of_the_others() -> None:
    """Three months, each by itself."""
    truth = expected("50")
    months = ("2026-01", "2026-02", "2026-03")

    answers = {month: ingest("50", f"{month}/vendor.csv", period=month).document for month in months}

    accepted = {m: {k: answers[m][k] for k in ("rows", "sum_amount")} for m in months if answers[m]["code"] is None}
    assert accepted == truth["accept"]
    assert {m: answers[m]["code"] for m in months if answers[m]["code"]} == truth["refuse"]


def test_30_leading_zeros_are_part_of_a_key() -> None:
    """42 is not 0042."""
    truth = expected("30")

    document = reconcile("30")

    assert document["outcome"] == "accept", document["text"]
    assert document["ledger"]["rows"] == truth["ledger_rows"]
    for field in ("matched", "vendor_only", "ledger_only"):
        assert document[field] == truth[field], field
    assert [line["key"] for line in document["differences"]["ledger_only"]] == [[k] for k in truth["ledger_only_keys"]]


def test_52_an_empty_side_is_told_by_its_sign() -> None:
    """As many discrepancies as the other side has rows."""
    truth = expected("52")

    document = reconcile("52", "vendor_table.csv")

    assert (document["outcome"], document["code"]) == ("refuse", truth["error"])
    assert (document["vendor"]["rows"], document["ledger"]["rows"]) == (truth["vendor_rows"], truth["ledger_rows"])
    assert document["discrepancies"] == truth["discrepancies"]
    assert "discrepancies = rows of ledger (40)" in document["text"]


def test_every_case_has_a_test_here() -> None:
    """A folder that nobody reads proves nothing."""
    here = Path(__file__).read_text()
    numbers = {path.name[:2] for path in CASES.iterdir() if path.is_dir()}

    assert numbers == {n for n in numbers if f'"{n}"' in here or f"test_{n}_" in here}
