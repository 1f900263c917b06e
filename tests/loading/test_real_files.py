"""Published bills load to their exact figures by a contract that fits, and are refused by one that does not."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from assets.council_spend.task import TASK as COUNCIL
from dagster_planexec.contract.file_contract import Column, FileContract
from tests.support.judged import Judged, judged
from tests.support.loading import TARGET, Loading

HERE = Path(__file__).parents[1] / "data" / "vendor_files"
SPENT = Path(__file__).parents[2] / "assets" / "council_spend" / "data"


def bill(key: dict[str, str], amount: str, day: tuple[str, str] | None = None, **more: Any) -> FileContract:
    """Key columns by their header, an amount, a date; everything else in the file is left out."""
    how = more.pop("how", {})
    columns = [Column(name=name, headers=(header,), type="text") for name, header in key.items()]
    columns.append(Column(name="amount", headers=(amount,), type="decimal", precision=38, **{"scale": 11} | how))
    if day is not None:
        columns.append(Column(name="day", headers=(day[0],), type="date", formats=(day[1],)))
    declared = {
        "name": "charges", "version": "1", "columns": (*columns, *more.pop("columns", ())), "key": tuple(key),
        "amount": "amount", "date": None if day is None else "day", "currency": "USD", "other_columns": "ignore",
    }  # fmt: skip
    return FileContract.model_validate(declared | more)


FOCUS_DAY = ("ChargePeriodStart", "%Y-%m-%d %H:%M:%S")
AWS = {"item": "identity/LineItemId", "spent_in": "identity/TimeInterval"}
AWS_DAY = ("lineItem/UsageStartDate", "%Y-%m-%dT%H:%M:%S.%fZ")
EXPONENT = {"exponent": True}
SPEC = {"begin": "ChargePeriodStart"}
EA = {"resource": "ResourceId"}

ACCEPTED: dict[str, tuple[FileContract, int, str]] = {
    "focus/focus_sample.csv.gz": (bill({"id": "Id"}, "BilledCost", FOCUS_DAY, nulls=("NULL",)), 1000, "20.52022672899"),
    "aws-cur/sample-anonymous-aws-export-dataset.csv.gz": (
        bill(AWS, "lineItem/UnblendedCost", AWS_DAY, how=EXPONENT), 1281, "1.68230869740",
    ),
    "azure-ea/EA_ActualCost_Small.csv": (
        bill(EA, "Cost", ("Date", "%m/%d/%Y"), how={"scale": 16}), 11, "8.5450077867419368"
    ),
    "azure-ea/EA_AmortizedCost_Small.csv": (
        bill({**EA, "spent_on": "Date", "quantity": "Quantity"}, "Cost", how={"scale": 28}), 28,
        "16.29693213663664462748541900",
    ),
    "azure-ea/sample-anonymous-ea-export-dataset.csv": (
        bill({"part": "PartNumber"}, "CostInBillingCurrency", ("Date", "%m/%d/%Y"), how={"scale": 14, **EXPONENT}),
        27, "1.26136926505726",
    ),
    **{
        f"focus/spec/{name}.csv": (bill(SPEC, "BilledCost", unique_key=False), rows, total)
        for name, rows, total in (
            ("commitment_discount_purchase_scenario_3", 4, "4381.50"),
            ("one_hundred_percent_utilization_with_commitment_discount_flexibility_with_2_resources", 3, "2.00"),
            ("saas_spend_agreements_a2", 13, "1200"),
            ("saas_spend_agreements_b2", 14, "1200"),
            ("virtual_currency_pricing_model_a2", 3, "0.00"),
        )
    },
}  # fmt: skip


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_published_bill_loads_to_its_exact_figures(tmp_path: Path, name: str) -> None:
    contract, rows, total = ACCEPTED[name]

    found = judged(tmp_path, contract, [(Path(name).name, (HERE / name).read_bytes())])

    assert found == Judged("accept", None, rows, Decimal(total)), found.text


@pytest.mark.parametrize(
    ("quarter", "rows", "total"),
    [
        ("apr-jun-2017", 4052, "16264882.46"),
        ("jul-sep-2017", 3259, "11344005.35"),
        ("oct-dec-2017", 3855, "17382055.90"),
        ("jan-mar-2018", 1220, "4339765.85"),
    ],
)
def test_published_spending_loads_by_the_contract_of_the_example(
    tmp_path: Path, quarter: str, rows: int, total: str
) -> None:
    """Four quarters in a row, with four different headers; `tests/assets` refuses the one that holds January only."""
    contract = COUNCIL.contracts["published_spend"]
    name = f"expenditure-over-500-{quarter}.csv"

    found = judged(tmp_path, contract.model_copy(update={"name": "charges"}), [(name, (SPENT / name).read_bytes())])

    assert found == Judged("accept", None, rows, Decimal(total)), found.text


REFUSED: dict[str, tuple[str, FileContract, str, str]] = {
    "no-rows": ("azure-ea/EA_NoRows.csv", bill(EA, "Cost"), "EMPTY_EXTRACT", "no record"),
    "null-is-a-word": (
        "focus/focus_sample.csv.gz", bill({"id": "Id"}, "ContractedCost", FOCUS_DAY), "BAD_AMOUNT", "'NULL'"
    ),
    "exponents": (
        "aws-cur/sample-anonymous-aws-export-dataset.csv.gz", bill(AWS, "lineItem/UnblendedCost"), "BAD_AMOUNT", "E-"
    ),
    "eleven-decimals": (
        "focus/focus_sample.csv.gz", bill({"id": "Id"}, "BilledCost", how={"scale": 2}),
        "SCALE_OVERFLOW", "0.00000080000"
    ),
    "twenty-eight-decimals": (
        "azure-ea/EA_AmortizedCost_Small.csv", bill(EA, "Cost", unique_key=False, how={"scale": 18}),
        "SCALE_OVERFLOW", ""
    ),
    "columns-that-nobody-declared": (
        "focus/focus_sample.csv.gz", bill({"id": "Id"}, "BilledCost", other_columns="refuse"), "UNKNOWN_COLUMN", "more"
    ),
    "half-a-key": (
        "aws-cur/sample-anonymous-aws-export-dataset.csv.gz",
        bill({"item": "identity/LineItemId"}, "lineItem/UnblendedCost", how=EXPONENT), "DUPLICATE_KEY", "",
    ),
    "a-key-that-is-empty": (
        "aws-cur/sample-anonymous-aws-export-dataset.csv.gz",
        bill({"invoice": "bill/InvoiceId"}, "lineItem/UnblendedCost", how=EXPONENT), "NULL_KEY", "1281",
    ),
    "days-the-other-way": (
        "azure-ea/EA_ActualCost_Small.csv", bill(EA, "Cost", ("Date", "%d/%m/%Y"), how={"scale": 16}), "BAD_DATE", ""
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_what_its_contract_does_not_declare_is_refused(tmp_path: Path, fault: str) -> None:
    name, contract, code, words = REFUSED[fault]

    found = judged(tmp_path, contract, [(Path(name).name, (HERE / name).read_bytes())])

    assert (found.outcome, found.code) == ("refuse", code), found.text
    assert words in found.text


def test_sums_of_further_columns_and_words_for_nothing(tmp_path: Path) -> None:
    """`NULL` is nothing in every column, also where it is no amount: 75 resources and 7 costs have none."""
    money = [
        Column(name=name, headers=(header,), type="decimal", precision=38, scale=11, nullable=True)
        for name, header in (("contracted", "ContractedCost"), ("effective", "EffectiveCost"), ("listed", "ListCost"))
    ]
    resource = Column(name="resource", headers=("ResourceId",), type="text", nullable=True)
    loading = Loading(tmp_path, bill({"id": "Id"}, "BilledCost", nulls=("NULL",), columns=(*money, resource)))
    loading.land((HERE / "focus/focus_sample.csv.gz").read_bytes(), "vendor/v.csv.gz")
    loading.load()
    sums = loading.sql(
        "select sum(contracted), sum(effective), sum(listed), count(*) - count(contracted), count(*) - count(resource) "
        f"from {TARGET}"
    )
    wanted = ("14.97626039326", "14.97651418586", "20.39090575119")
    assert sums == [(*(Decimal(text) for text in wanted), 7, 75)]
