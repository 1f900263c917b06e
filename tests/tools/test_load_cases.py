"""Published faults of cells, through `warehouse.load` and every check behind it: exact figures, or the exact code.

Each case stands beside variants of its own: the same fault as another system writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from dagster_planexec.contract.file_contract import FileContract
from tests.support.loading import TARGET, Loading
from tests.support.loads import case_file

ID = {"name": "id", "type": "text", "headers": ["id", "invoice_id", "trans_no", "doc_id"]}
DAY = {"name": "day", "type": "date", "headers": ["day", "invoice_date"], "formats": ["%Y-%m-%d"]}
AMOUNT = {"name": "amount", "type": "decimal"}
KIND = {"name": "kind", "type": "text", "headers": ["kind", "doc_type"]}
SIGN = {"column": "kind", "positive": ["INV"], "negative": ["CRN"]}
WORDS = {"name": "category", "type": "text"}


@dataclass(frozen=True)
class Case:
    """A file, what is declared about it, and what must come of it."""

    raw: bytes | str
    columns: tuple[dict[str, Any], ...]
    declared: dict[str, Any] = field(default_factory=dict)
    rows: int | None = None
    total: str | None = None
    code: str | None = None
    says: str = ""
    also: tuple[tuple[str, Any], ...] = ()
    """Queries of one value, `t` and `r` for the table and its rejects, and their answers."""


def published(number: str, name: str = "vendor.csv") -> bytes:
    return case_file(number, name).read_bytes()


def dated(*formats: str, **more: Any) -> dict[str, Any]:
    return {**DAY, "formats": list(formats), **more}


def styled(**style: Any) -> dict[str, Any]:
    return {**AMOUNT, **style}


LINE = (
    {**ID, "name": "invoice_id", "headers": ["invoice_id"]},
    {"name": "line_no", "type": "integer"},
    DAY,
    styled(thousands=","),
    {"name": "currency", "type": "text", "length": 3},
)
EACH_DAY = (
    ("select list(cast(day as varchar) order by id) from t", ["2026-03-02", "2026-03-04", "2026-04-03"]),
    ("select sum(amount) from t where day between '2026-03-01' and '2026-03-31'", Decimal("30.00")),
)
CASES = {
    "27": Case(published("27"), LINE, {"key": ["invoice_id", "line_no"]}, 4, "102134.55"),
    "27-apostrophes": Case(
        "id,amount\na,1'234'567.50\nb,-1'000.00\nc,999\n", (ID, styled(thousands="'")), {}, 3, "1234566.50"
    ),
    "27-lakhs": Case('id,amount\na,"12,34,567.50"\nb,"1,000"\n', (ID, styled(thousands=",", grouping="indian")), {}, 2,
        "1235567.50",
    ),
    "27-lakhs-as-thousands": Case(
        'id,amount\na,"12,34,567.50"\n', (ID, styled(thousands=",")), code="BAD_AMOUNT", says="line 2"
    ),
    "27-undeclared": Case('id,amount\na,"1,234.50"\n', (ID, AMOUNT), code="BAD_AMOUNT", says="1,234.50"),
    "29": Case(
        published("29"), (ID, styled(negatives=["parentheses"], currency_signs=["$"])), {}, 3, "600.02"
    ),
    "29-behind": Case(
        "id;amount\na;1.500,25 €\nb;900,23- €\nc;0,00\n",
        (ID, styled(negatives=["trailing_minus"], currency_signs=["€"], thousands=".", decimal_mark=",")),
        {"delimiter": ";"}, 3, "600.02",
    ),
    "29-credit": Case(
        "id,amount\na,1500.25 DR\nb,900.23 Cr\nc,0.00\n", (ID, styled(negatives=["credit"])), {}, 3, "600.02"
    ),
    "29-another-style": Case("id,amount\na,(5.00)\nb,-5.00\n", (ID, styled(negatives=["parentheses"])),
                             code="BAD_AMOUNT", says="line 3"),
    "32": Case(
        published("32"), (ID, AMOUNT), {}, 20600, "205993.24",
        also=(("select amount from t where id = 'S20550'", Decimal("12.75")),
              ("select amount from t where id = 'S20560'", Decimal("0.49"))),
    ),
    "32-at-scale-0": Case(published("32"), (ID, styled(scale=0)), code="SCALE_OVERFLOW", says="12.75"),
    "32-exponents": Case(
        "id,amount\n" + "".join(f"S{n},10\n" for n in range(3000)) + "T,1.275E1\nU,4.9E-1\n",
        (ID, styled(exponent=True)), {}, 3002, "30013.24",
    ),
    "33": Case(published("33"), (ID, dated("%d/%m/%Y"), AMOUNT), {"date": "day"}, 3, "60.00", also=EACH_DAY),
    "33-undeclared": Case(
        published("33"), (ID, dated(), AMOUNT), {"date": "day"}, code="AMBIGUOUS_DATE",
        says="'02/03/2026', can be read as %d/%m/%Y and as %m/%d/%Y",
    ),
    "33-undeclared-and-plain": Case(
        "id,day,amount\na,13/03/2026,1\nb,02/03/2026,1\n", (ID, dated(), AMOUNT), {"date": "day"}, code="BAD_CONTRACT",
        says="can be read as %d/%m/%Y",
    ),
    "33-undeclared-serials": Case(
        "id,day,amount\na,46082,1\n", (ID, dated(), AMOUNT), {"date": "day"}, code="AMBIGUOUS_DATE",
        says="EXCEL_1900 and as EXCEL_1904",
    ),
    "33-dots": Case(
        "id,day,amount\nE1,02.03.2026,10\nE2,04.03.2026,20\nE3,03.04.2026,30\n", (ID, dated("%d.%m.%Y"), AMOUNT),
        {"date": "day"}, 3, "60.00", also=EACH_DAY,
    ),
    "33-offsets": Case(
        "id,day,amount\nE1,2026-03-01T23:30:00Z,10\nE2,2026-03-04T01:00:00+05:00,20\nE3,2026-04-03T12:00:00+0000,30\n",
        (ID, dated("%Y-%m-%dT%H:%M:%S%z", zone="Europe/Berlin"), AMOUNT), {"date": "day"}, 3, "60.00",
        also=(("select list(cast(day as varchar) order by id) from t", ["2026-03-02", "2026-03-03", "2026-04-03"]),),
    ),
    "34": Case(
        published("34"), (ID, dated("EXCEL_1900"), AMOUNT), {"date": "day"}, code="BAD_DATE",
        says="line 4, column 'day': '1'",
        also=(("select list(cast(day as varchar) order by id) from t", ["2026-03-01", "2026-03-31"]),),
    ),
    "34-of-1904": Case(
        "id,day,amount\na,44620,10\nb,44650.75,20\n", (ID, dated("EXCEL_1904"), AMOUNT), {"date": "day"}, 2, "30.00",
        also=(("select list(cast(day as varchar) order by id) from t", ["2026-03-01", "2026-03-31"]),),
    ),
    "34-lotus-leap-day": Case("id,day,amount\na,60,1\n", (ID, dated("EXCEL_1900"), AMOUNT), {"date": "day"},
                              code="BAD_DATE"),
    "36": Case(published("36"), (ID, AMOUNT), code="DUPLICATE_KEY",
               says="1 key repeats, in 2 rows worth 25.00, e.g. 'F1'"),
    "36-ledger": Case(published("36", "ledger.csv"), (ID, AMOUNT), code="DUPLICATE_KEY", says="'F1'"),
    "36-after-rules": Case(
        "id,amount\n0042,1\n 42,2\n", ({**ID, "normalise": ["trim", "strip_leading_zeros"]}, AMOUNT),
        code="DUPLICATE_KEY", says="'42'",
    ),
    "36-lines-may-repeat": Case(published("36"), (ID, AMOUNT), {"unique_key": False}, 3, "45.00"),
    "38": Case(
        published("38"), (ID, AMOUNT), code="NULL_KEY", says="2 rows were refused (2 NULL_KEY)",
        also=(("select sum(amount) from (select distinct line, amount from r)", Decimal("95.00")),),
    ),
    "38-ledger": Case(
        published("38", "ledger.csv"), (ID, AMOUNT), code="NULL_KEY",
        also=(("select sum(amount) from r", Decimal("90.00")),),
    ),
    "38-a-word-for-none": Case(
        "id,amount\nH1,10.00\nNULL,90.00\n n/a ,5.00\n", (ID, AMOUNT), {"nulls": ["NULL", "n/a"]}, code="NULL_KEY",
        also=(("select sum(amount) from r", Decimal("95.00")),),
    ),
    "38-part-of-a-key": Case(
        "id,line_no,amount\nH1,,10.00\n,2,5.00\n,,1.00\n", (ID, {"name": "line_no", "type": "integer"}, AMOUNT),
        {"key": ["id", "line_no"]}, code="NULL_KEY", says="3 rows were refused (3 NULL_KEY)",
    ),
    "38-allowed": Case(
        published("38"), (ID, AMOUNT), {"allowed_rejects": {"codes": ["NULL_KEY"], "at_most": 2}}, 1, "10.00"
    ),
    "43": Case(
        published("43"), (ID, KIND, AMOUNT), {"sign": SIGN}, 4, "525.00",
        also=(("select sum(amount) filter (kind = 'INV') from t", Decimal("1175.00")),
              ("select sum(amount) filter (kind = 'CRN') from t", Decimal("-650.00"))),
    ),
    "43-invoice-below-zero": Case(
        "id,kind,amount\na,INV,-5.00\nb,CRN,5.00\n", (ID, KIND, AMOUNT), {"sign": SIGN}, code="BAD_AMOUNT",
        says="'-5.00'",
    ),
    "43-unknown-kind": Case(
        "id,kind,amount\na,INV,5.00\nb,DBN,5.00\n", (ID, KIND, AMOUNT), {"sign": SIGN}, code="UNKNOWN_VALUE",
        says="'DBN'",
    ),
    "43-kinds-made-alike": Case(
        "id,kind,amount\na, inv,525.00\nb,Crn ,(25.00)\n",
        (ID, {**KIND, "normalise": ["trim", "upper"]}, styled(negatives=["parentheses"])), {"sign": SIGN}, 2, "500.00",
    ),
    "43-two-columns": Case(
        "id,debit,credit\nI1,525.00,\nI2,650.00,\nC1,,600.00\nC2,,50.00\n",
        (ID, styled(headers=["debit"], minus=["credit"])), {}, 4, "525.00",
    ),
    "43-both-columns": Case(
        "id,debit,credit\nI1,525.00,1.00\n", (ID, styled(headers=["debit"], minus=["credit"])), code="BAD_AMOUNT",
        says="'525.00 | 1.00'",
    ),
    "43-neither-column": Case(
        "id,debit,credit\nI1,,\n", (ID, styled(headers=["debit"], minus=["credit"])), code="BAD_AMOUNT"
    ),
    "43-zero-for-none": Case(
        "id,debit,credit\nI1,525.00,0.00\nC1,0.00,25.00\n",
        (ID, styled(headers=["debit"], minus=["credit"], nulls=["0.00"])), {}, 2, "500.00",
    ),
    "48": Case(
        published("48"), (ID, WORDS, AMOUNT), code="NULL_KEY", says="line 4, column 'id': an empty cell",
        also=(("select count(*) from t", 2), ("select sum(amount) from t", Decimal("30.00")),
              ("select count(*) from r", 1)),
    ),
    "48-allowed": Case(
        published("48"), (ID, WORDS, AMOUNT), {"allowed_rejects": {"codes": ["NULL_KEY"], "at_most": 1}}, 2, "30.00"
    ),
    "48-dashes": Case(
        "id,category,amount\na,Rent,10.00\n  ,------,------\n", (ID, WORDS, AMOUNT), code="NULL_KEY", says="line 3"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_published_faults_of_cells(tmp_path, name):
    case = CASES[name]
    declared = {"name": "charges", "version": "1", "key": ["id"], "amount": "amount", "date": None, "currency": "USD"}
    contract = FileContract.model_validate({**declared, **case.declared, "columns": case.columns})
    loading = Loading(tmp_path, contract)
    loading.land(case.raw)

    code, said = loading.ended()

    assert (code, case.says in said) == (case.code, True), said
    if case.code is None:
        assert loading.sql(f"select count(*), sum(amount) from {TARGET}") == [(case.rows, Decimal(case.total or ""))]
    for query, answer in case.also:
        asked = query.replace(" from t", f" from {TARGET}").replace(" from r", f" from {TARGET}__rejects")
        assert loading.sql(asked) == [(answer,)]
