"""File contracts: what must be declared, and that nothing is guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dagster_planexec.contract.file_contract import FileContract, load_contract
from dagster_planexec.errors import PlanexecError

GOOD: dict[str, Any] = {
    "name": "invoice",
    "version": "1",
    "columns": [
        {"name": "charge_id", "type": "text", "headers": ["Charge", "Charge ID"]},
        {"name": "amount", "type": "decimal", "precision": 12, "scale": 2},
        {"name": "charged_on", "type": "date", "formats": ["%Y-%m-%d"]},
        {"name": "memo", "type": "text", "required": False, "nullable": True},
    ],
    "key": ["charge_id"],
    "amount": "amount",
    "date": "charged_on",
    "currency": "USD",
}


def write(folder: Path, contract: Any) -> Path:
    """A contract file."""
    path = folder / "invoice.yaml"
    path.write_text(contract if isinstance(contract, str) else yaml.safe_dump(contract), encoding="utf-8")
    return path


def test_a_good_contract_loads(tmp_path: Path) -> None:
    """With the types that its table will have."""
    contract = load_contract(write(tmp_path, GOOD))

    assert [column.sql_type for column in contract.columns] == ["VARCHAR", "DECIMAL(12,2)", "DATE", "VARCHAR"]


def _columns(index: int, **changes: Any) -> dict[str, Any]:
    columns = [dict(column) for column in GOOD["columns"]]
    columns[index] |= changes
    return {**GOOD, "columns": columns}


@pytest.mark.parametrize(
    ("contract", "says"),
    [
        (_columns(2, formats=[]), None),
        (_columns(1, formats=["%Y"]), "formats is for date columns, this is decimal"),
        *((_columns(2, formats=[form]), f"the date format {form!r} makes no whole day") for form in (
            "%s", "%D", "%F", "%e/%m/%Y", "%Q", "%Y-%m-%d %Z", "%", "%Y-%m-%d %", "%%", "2026-03-01", "%Y-%m", "%m-%d",
            "%d/%m", "%Y %y-%m-%d", "%m %b %d %Y", "%d %d %m %Y", "%H:%M", "%Y", "%j", "%Y-%j %d", "%z %Y-%m-%d",
            "%-d/%m/%Y", "%A %d %B %Y", "%d/%m/%Y %H %H", "%Y-%U", "%G-%V-%u", "%c", "%x")),
        *((_columns(2, formats=[form]), None) for form in (
            "%Y%m%d", "%d %B %Y", "%Y%j", "%d-%b-%y %I:%M:%S.%f %p", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S%z",
            "EXCEL_1904")),
        *((_columns(2, zone=zone), f"no zone {zone!r}") for zone in (
            "localtime", "Mars/Olympus", "", "../etc/passwd", "europe/london", "+01:00")),
        (_columns(2, zone="Europe/Kyiv"), None),
        *(({**GOOD, role: mark}, f"{role} is {mark!r}: it is one ASCII character")
          for role in ("delimiter", "quote", "escape") for mark in ("\n", "\r", "\0", "a", "7", "§", "\u2028")),
        *(({**GOOD, role: mark}, f"{role} is a blank") for role in ("quote", "escape") for mark in (" ", "\t")),
        ({**GOOD, "quote": ","}, "delimiter and quote are both ','"),
        ({**GOOD, "escape": ","}, "delimiter and escape are both ','"),
        ({**GOOD, "delimiter": "'", "quote": "'", "escape": "'"}, "delimiter and quote are both"),
        *(({**GOOD, **marks}, None) for marks in (
            {"delimiter": "\t"}, {"delimiter": " "}, {"delimiter": "\x1f"}, {"escape": '"'},
            {"quote": "'", "escape": "\\"},
            {"delimiter": "|", "quote": None})),
        ({**GOOD, "key": ["charge_id", "charge_id"]}, "key names one column twice"),
        *(({**GOOD, "name": name}, "name: String should match") for name in (
            "", " ", "a b", "-a", ".a", "a/b", "a\n", "é", "a" * 64, "x'; drop", "1\u0663")),
        *(({**GOOD, "name": name}, None) for name in ("a" * 63, "Vendor-2.v_1", "0")),
        *(({**GOOD, "encoding": name}, "is not known; expected a Python text codec") for name in (
            "idna", "punycode", "unicode_escape", "raw-unicode-escape", "undefined", "utf-7", "hex", "rot13", "utf-9",
            "", "a\0b")),
        *(({**GOOD, "encoding": name}, None) for name in ("latin-1", "UTF_16", "cp1252", "utf-8-sig")),
        (_columns(0, exponent=True), "exponent is for decimal and integer columns, this is text"),
        (_columns(1, minor_units=3), "minor units make 3 decimals, and scale is 2"),
        (_columns(1, currency_signs=["1$"]), "a currency sign holds a character"),
        ({**GOOD, "sign": {"column": "amount", "positive": ["a"], "negative": ["b"]}}, "column 'amount' is not text"),
        ({**GOOD, "sign": {"column": "memo", "positive": ["a"], "negative": ["a"]}}, "positive and negative"),
        ({**GOOD, "trailers": [{"rows": 2}]}, "by `equals` or by `starts_with`"),
        ({**GOOD, "trailers": [{"equals": "T", "sums": {"memo": 2}}]}, "which is not a number"),
        ({**GOOD, "currencies": {"USD": 2}}, "currency: name the one"),
        ({**GOOD, "currency": None, "currencies": {"USD": 2}}, "no currency_column"),
        ({**GOOD, "currency": None, "currencies": {"BHD": 3}, "currency_column": "memo"}, "3 minor units"),
        ({**GOOD, "currency": "usd"}, "currency"),
        ({**GOOD, "final_when": [{"column": "memo"}]}, "says nothing of 'memo'"),
        ({**GOOD, "allowed_rejects": {"codes": ["INTERNAL"], "at_most": 1}}, "allowed_rejects names 'INTERNAL'"),
        ({**GOOD, "header": False}, "none can be missing"),
        ({**GOOD, "quote": None, "escape": "\\"}, "nothing is quoted"),
        *(({**GOOD, "format": kind, **words}, f"{next(iter(words))} is for ") for kind, words in (
            ("parquet", {"encoding": "latin-1"}), ("parquet", {"repeated_headers": "drop"}),
            ("parquet", {"sheet": "A"}), ("xlsx", {"delimiter": ";"}), ("xlsx", {"record": "IT1"}),
            ("delimited", {"sheet": "A"}), ("nacha", {"quote": None}), ("nacha", {"skip_lines": 1}))),
        ({**GOOD, "compression": "gzip", "members": ["*.csv"]}, "members are of a zip archive"),
        *(({**GOOD, "format": kind, **words}, None) for kind, words in (
            ("xlsx", {"sheet": "A", "skip_lines": 1}), ("nacha", {"encoding": "latin-1"}), (None, {"sheet": "A"}))),
        (_columns(1, scale=13), "scale 13 exceeds precision 12"),
        (_columns(1, thousands=","), None),
        (_columns(1, thousands=".", decimal_mark="."), "thousands and decimal mark"),
        (_columns(1, type="float"), "columns.1.type"),
        (_columns(1, name="Amount!"), "columns.1.name"),
        (_columns(3, name="charge_id"), "two columns have one name"),
        (_columns(3, headers=["Charge ID"]), "one header belongs to two columns"),
        ({**GOOD, "key": ["nothing"]}, "key names 'nothing'"),
        ({**GOOD, "key": []}, "key"),
        ({**GOOD, "amount": "memo"}, "is not a decimal"),
        ({**GOOD, "date": "memo"}, "is not a date"),
        ({**GOOD, "sniff": True}, "sniff"),
        ({k: v for k, v in GOOD.items() if k != "currency"}, "currency"),
        ({**GOOD, "min_rows": -1}, "min_rows"),
        ("- 1\n- 2\n", "contract"),
        ("{{", "yaml"),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_named(tmp_path: Path, contract: Any, says: str | None) -> None:
    """BAD_CONTRACT with file and field; None: nothing is wrong."""
    path = write(tmp_path, contract)
    if says is None:
        assert isinstance(load_contract(path), FileContract)
        return

    with pytest.raises(PlanexecError) as refused:
        load_contract(path)

    assert refused.value.code == "BAD_CONTRACT"
    assert "invoice.yaml" in refused.value.message
    assert says in refused.value.message


def test_a_contract_that_is_not_there(tmp_path: Path) -> None:
    """The same code."""
    with pytest.raises(PlanexecError) as refused:
        load_contract(tmp_path / "none.yaml")

    assert refused.value.code == "BAD_CONTRACT"


@pytest.mark.parametrize(
    ("key", "kind", "compression"),
    [
        ("a/2026-03.csv", "delimited", "none"),
        ("a/2026-03.csv.gz", "delimited", "gzip"),
        ("a.tsv", "delimited", "none"),
        ("a.csv.zip", "delimited", "zip"),
        ("a.parquet", "parquet", "none"),
        ("a.xlsx", "xlsx", "none"),
    ],
)
def test_the_suffix_declares_format_and_compression(key: str, kind: str, compression: str) -> None:
    """Never sniffed."""
    form = FileContract.model_validate(GOOD).format_of(key)

    assert (form.kind, form.compression) == (kind, compression)


def test_a_contract_may_declare_what_the_suffix_does_not_say() -> None:
    """Both words, or the key is refused."""
    form = FileContract.model_validate({**GOOD, "format": "delimited", "compression": "gzip"}).format_of("export.dat")

    assert (form.kind, form.compression) == ("delimited", "gzip")


@pytest.mark.parametrize("key", ["a.csv.bz2", "a.orc", "a", "a.CSV", "csv", "a.xls"])
def test_a_suffix_without_an_independent_counter_is_refused(key: str) -> None:
    """No such format is offered."""
    with pytest.raises(PlanexecError) as refused:
        FileContract.model_validate(GOOD).format_of(key)

    assert refused.value.code == "BAD_CONTRACT"


def test_headers_are_found_under_every_alias() -> None:
    """And an optional column that is not there has none."""
    found = FileContract.model_validate(GOOD).columns_for((" Charge ID ", "amount", "charged_on"))

    assert [column.header for column in found] == [" Charge ID ", "amount", "charged_on", None]
