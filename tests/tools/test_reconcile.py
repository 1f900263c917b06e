"""`reconcile`: the published cases to the row and the cent, what it refuses, and checks that do not take its word."""

import csv
import json
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.effect.report_matches_result import report_matches_result
from dagster_planexec.contract.delivery.plausible import Plausible
from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.layout import credit_shape
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.contract.reconcile.spec import Compared, ReconcileSpec, Tolerance
from dagster_planexec.contract.task import CreditRule, Deliverable, Limits, NamedInput
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.execute.admit import hash_suites
from dagster_planexec.tools.reconcile import Reconcile, ReconcileArgs
from dagster_planexec.tools.write_report import WriteReport, WriteReportArgs
from dagster_planexec.world.probes.result.credits import fetch_credit_lines
from dagster_planexec.world.probes.result.report import FiguresOfReport
from tests.support.loads import case_file
from tests.support.reconciling import MARCH, bench

TOOL = Reconcile()
ARGS = ReconcileArgs(inputs={"ledger": "staging.ledger", "vendor": "staging.vendor"}, target="recon.lines")


def contract(key="id", **changes):
    columns = (
        Column(name=key, type="text"), Column(name="amount", type="decimal"), Column(name="currency", type="text"),
        Column(name="day", type="date", formats=("%Y-%m-%d",)), Column(name="tax", type="decimal", nullable=True),
    )  # fmt: skip
    declared = {"name": "c", "version": "1", "columns": columns, "key": (key,), "amount": "amount", "date": None}
    return FileContract(**(declared | {"currency": "USD"} | changes))


def desk(folder, spec=None, *, share="0.01", contracts=(None, None), currency="USD", sides=("ledger", "vendor")):
    """A warehouse, and a task that compares these sides by the specification."""
    inputs = tuple(NamedInput(side, "side", side) for side in sides)
    declared = {side: given or contract() for side, given in zip(sides, contracts, strict=True)}
    return bench(
        folder, inputs=inputs, contracts=declared, tools=("reconcile",), reconciliation=spec or ReconcileSpec(),
        deliverables=(Deliverable("recon_lines", ("reconcile",)),), drop=None,
        limits=Limits(currency, min_matched_share=Decimal(share)),
    )  # fmt: skip


def fill(on, ledger, vendor, *, key="id", amount="decimal(18,2)"):
    """Rows of (key, amount, currency, day, tax); what is left out is USD, a day of March and no tax."""
    rest = ("USD", "2026-03-05", None)
    with on.ports.warehouse.session() as session:
        session.execute("create schema if not exists staging")
        for side, rows in (("ledger", ledger), ("vendor", vendor)):
            columns = f"{key} varchar, amount {amount}, currency varchar, day date, tax decimal(18,2)"
            session.execute(f"create or replace table staging.{side} ({columns})")
            for row in rows:
                session.execute(f"insert into staging.{side} values (?, ?, ?, ?, ?)", [*row, *rest[len(row) - 2 :]])


def judged(on, args=ARGS):
    """What the tool gave, and its checks in the order of its contract."""
    outcome = on.call(TOOL, args)
    assert isinstance(outcome, Done), outcome
    return outcome.result, {
        name: on.verdicts(BINDERS[name], TOOL, args)[0] for name in TOOL.contract.postconditions
    }  # fmt: skip


def code_of(verdicts):
    return next((verdict.code for verdict in verdicts.values() if not verdict.opens), None)


def lines_of(result):
    return {word: figures.lines for word, figures in result.statuses.items() if figures.lines}


def rows_of(number, name, key):
    with case_file(number, name).open(newline="") as file:
        return [(row[key], row["amount"]) for row in csv.DictReader(file)]


# ------------------------------------------------------------------------- published cases, and their kin


@dataclass
class Case:
    ledger: list
    vendor: list
    code: str | None
    lines: dict
    spec: ReconcileSpec = field(default_factory=ReconcileSpec)
    observed: dict = field(default_factory=dict)
    """Of the verdict that gives the code."""
    text: str = ""


def published(number, key, **expected):
    return Case(rows_of(number, "ledger.csv", key), rows_of(number, "vendor.csv", key), **expected)


ZEROS = ReconcileSpec(key_normalise=("strip_leading_zeros",))
MANY = ReconcileSpec(match="one-to-many", many="vendor")
MULTISET = ReconcileSpec(match="multiset")
CASES = {
    "30": published("30", "account", code=None, lines={"identical": 3, "ledger_only": 1}),
    "30 padded on one side": Case([("42", "5.00")], [("0042", "5.00")], None, {"identical": 1}, ZEROS),
    "30 two that become one": Case(
        [("42", "5.00"), ("0042", "6.00")], [("42", "5.00")], "DUPLICATE_KEY", {"duplicate_key": 3}, ZEROS,
        {"side": "ledger", "keys": ("42",), "amount": Decimal("11.00"), "ledger_repeated_rows": 2}),
    "36": published(
        "36", "invoice_id", code="DUPLICATE_KEY", lines={"identical": 1, "duplicate_key": 4},
        observed={"side": "both", "keys": ("F1",), "amount": Decimal("50.00"), "ledger_repeated_rows": 2,
                  "vendor_repeated_rows": 2}),
    "36 on one side": Case(
        [("F1", "10.00"), ("F2", "1.00")], [("F1", "10.00"), ("F1 ", "15.00"), ("F2", "1.00")], "DUPLICATE_KEY",
        {"identical": 1, "duplicate_key": 3}, observed={"side": "vendor", "keys": ("F1",), "amount": Decimal("25.00"),
                                                        "vendor_repeated_rows": 2}),
    "36 declared as a multiset": replace(
        published("36", "invoice_id", code=None, lines={"identical": 2}), spec=MULTISET),
    "36 declared as many to one": Case(
        [("F1", "25.00")], [("F1", "10.00"), ("F1", "15.00")], None, {"identical": 1}, MANY),
    "36 repeating on the single side": Case(
        [("F1", "25.00")] * 2, [("F1", "10.00"), ("F1", "15.00")], "DUPLICATE_KEY", {"duplicate_key": 4}, MANY,
        {"side": "ledger", "keys": ("F1",), "amount": Decimal("50.00"), "ledger_repeated_rows": 2}),
    "38": published(
        "38", "invoice_id", code="NULL_KEY", lines={"identical": 1, "null_key": 3},
        observed={"vendor_null_rows": 2, "vendor_null_amount": Decimal("95.00"), "ledger_null_rows": 1,
                  "ledger_null_amount": Decimal("90.00")}),
    "38 null and null": Case(
        [("H1", "1.00"), (None, "90.00")], [("H1", "1.00"), (None, "90.00")], "NULL_KEY",
        {"identical": 1, "null_key": 2}, observed={
            "vendor_null_rows": 1, "vendor_null_amount": Decimal("90.00"), "ledger_null_rows": 1,
            "ledger_null_amount": Decimal("90.00")}),
    "38 nothing left once normalised": Case(
        [("H-1", "1.00")], [("H1", "1.00"), ("--", "5.00")], "NULL_KEY", {"identical": 1, "null_key": 1},
        ReconcileSpec(key_normalise=("remove_hyphens",)), {
            "vendor_null_rows": 1, "vendor_null_amount": Decimal("5.00"), "ledger_null_rows": 0,
            "ledger_null_amount": Decimal(0)}),
    "38 in a multiset": Case(
        [("H1", "1.00")], [("H1", "1.00"), ("\u00a0", "5.00")], "NULL_KEY", {"identical": 1, "null_key": 1}, MULTISET,
        {"vendor_null_rows": 1, "vendor_null_amount": Decimal("5.00"), "ledger_null_rows": 0,
         "ledger_null_amount": Decimal(0)}),
    "40": published(
        "40", "ref", code="NULL_KEY", lines={"identical": 1, "ledger_only": 3, "null_key": 1},
        observed={"vendor_null_rows": 1, "vendor_null_amount": Decimal("10.00"), "ledger_null_rows": 0,
                  "ledger_null_amount": Decimal(0)}),
    "40 a part of another": Case([("INV-12", "1.00"), ("A", "1.00")], [("INV-1", "1.00"), ("A", "1.00")], None,
                                 {"identical": 1, "ledger_only": 1, "vendor_only": 1}),
    "40 a pattern": Case([("A_1", "1.00"), ("B", "1.00")], [("A%", "1.00"), ("B", "1.00")], None,
                         {"identical": 1, "ledger_only": 1, "vendor_only": 1}),
    "43 signed alike": Case(
        *([("I1", "525.00"), ("I2", "650.00"), ("C1", "-600.00"), ("C2", "-50.00")],) * 2, None, {"identical": 4}),
    "43 a credit note counted as a charge": Case(
        [("I1", "525.00"), ("C1", "600.00")], [("I1", "525.00"), ("C1", "-600.00")], None,
        {"identical": 1, "amount_differs": 1}),
    "43 credit notes of one invoice": Case(
        [("I1", "475.00")], [("I1", "525.00"), ("I1", "-50.00")], None, {"identical": 1}, MANY),
    "52": Case([(row[0], row[1]) for row in rows_of("52", "ledger.csv", "invoice_id")], [], "EMPTY_SIDE",
               {"ledger_only": 40}, text="discrepancies = rows of ledger (40)"),
    "52 the other side": Case([], [("A", "1.00"), ("B", "2.00")], "EMPTY_SIDE", {"vendor_only": 2},
                              text="discrepancies = rows of vendor (2)"),
    "52 many to one": Case([("A", "1.00")], [], "EMPTY_SIDE", {"ledger_only": 1}, MANY,
                           text="discrepancies = rows of ledger (1)"),
    "no key in common": Case([("A", "1.00")], [("B", "1.00")], "NOTHING_MATCHED", {"ledger_only": 1, "vendor_only": 1}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_cases(tmp_path, case):
    """The code and what the refusal carries; and the lines and sums close, whatever the code."""
    on = desk(tmp_path, case.spec)
    fill(on, case.ledger, case.vendor)

    result, verdicts = judged(on)

    assert (code_of(verdicts), lines_of(result)) == (case.code, case.lines)
    refusing = next((verdict for verdict in verdicts.values() if not verdict.opens), None)
    if case.observed:
        assert dict(refusing.observed.value) == case.observed
    assert case.text in (refusing.text if refusing else "")
    assert verdicts["closing_identities_hold"].status == "passed", verdicts["closing_identities_hold"].text
    worth = {side: sum((Decimal(row[1]) for row in rows), Decimal(0))
             for side, rows in (("ledger", case.ledger), ("vendor", case.vendor))}  # fmt: skip
    assert worth == {
        side: sum(Decimal(figures.amounts[side]) for figures in result.statuses.values()) for side in worth
    }


@pytest.mark.parametrize("number", ["30", "36", "38", "40", "52"])
def test_the_expectation_of_a_case_is_its_file_s(number):
    """The figures above are those that the case states."""
    expected = json.loads(case_file(number, "case.json").read_text())["expected"]
    case = CASES[number]
    stated = {"DUPLICATE_KEY": "DUPLICATE_KEY", "NULL_KEY": "NULL_KEY", "EMPTY_SIDE": "EMPTY_SIDE"}

    assert expected.get("error") == stated.get(case.code)
    for name in ("side", "vendor_null_rows", "ledger_null_rows"):
        assert expected.get(name, case.observed.get(name)) == case.observed.get(name)
    for name in ("vendor_null_amount", "ledger_null_amount"):
        assert Decimal(expected.get(name, 0)) == (case.observed.get(name, Decimal(0)) if name in expected else 0)
    assert expected.get("matched", case.lines.get("identical")) == case.lines.get("identical")
    assert expected.get("discrepancies", 40) == 40
    assert tuple(expected.get("keys", case.observed.get("keys", ()))) == case.observed.get("keys", ())


# ------------------------------------------------------------------------- currencies, periods, further columns

BY_ROW = {"currency": None, "currencies": {"USD": 2, "EUR": 2}, "currency_column": "currency"}
MONEY = {
    "of one code": ([("A", "1.00")], [("A", "1.00")], "USD", None, {"identical": 1}),
    "another than the task's": ([("A", "1.00", "EUR")], [("A", "1.00", "EUR")], "USD", "MIXED_CURRENCY",
                                {"identical": 1}),
    "several, where one is stated": ([("A", "1.00"), ("B", "1.00", "EUR")], [("A", "1.00"), ("B", "1.00", "EUR")],
                                     "USD", "MIXED_CURRENCY", {"identical": 2}),
    "several, declared": ([("A", "1.00"), ("B", "1.00", "EUR")], [("A", "1.00"), ("B", "1.00", "EUR")], None, None,
                          {"identical": 2}),
    "two for one line": ([("A", "1.00"), ("B", "1.00")], [("A", "1.00"), ("B", "1.00", "EUR")], None, None,
                         {"identical": 1, "currency_differs": 1}),
    "none": ([("A", "1.00", None)], [("A", "1.00", " ")], None, "MIXED_CURRENCY", {"currency_differs": 1}),
    "a third": ([("A", "1.00"), ("B", "1.00", "XXX")], [("A", "1.00")], None, "MIXED_CURRENCY",
                {"identical": 1, "ledger_only": 1}),
}  # fmt: skip


@pytest.mark.parametrize(("ledger", "vendor", "stated", "code", "lines"), MONEY.values(), ids=list(MONEY))
def test_currencies(tmp_path, ledger, vendor, stated, code, lines):
    """Amounts of two currencies are never compared or added up; where several are declared, each closes by itself."""
    on = desk(tmp_path, contracts=(contract(**BY_ROW),) * 2, currency=stated)
    fill(on, ledger, vendor)

    result, verdicts = judged(on)

    assert (code_of(verdicts), lines_of(result)) == (code, lines)
    assert verdicts["closing_identities_hold"].opens


def test_two_sides_of_two_currencies(tmp_path):
    """Each of one currency, and not of the same: nothing is compared."""
    on = desk(tmp_path, contracts=(None, contract(currency="EUR")), currency=None)
    fill(on, [("A", "1.00")], [("A", "1.00")])

    result, verdicts = judged(on)

    assert (code_of(verdicts), lines_of(result)) == ("MIXED_CURRENCY", {"currency_differs": 1})
    assert "ledger 1 rows of 1.00 in 'USD', vendor 1 rows of 1.00 in 'EUR'" in verdicts["amounts_share_a_currency"].text


def test_lines_outside_the_period(tmp_path):
    """Alone they are out_of_period and credit nothing; beside a line inside they are compared."""
    on = desk(tmp_path, ReconcileSpec(period="day"))
    april = ("USD", "2026-04-01")
    fill(on, [("A", "1.00"), ("B", "1.00", *april), ("C", "1.00")], [("A", "1.00", *april), ("D", "5.00", *april)])

    result, verdicts = judged(on)

    assert lines_of(result) == {"identical": 1, "out_of_period": 2, "ledger_only": 1}
    assert verdicts["closing_identities_hold"].opens


def test_a_further_column(tmp_path):
    """With a tolerance of its own, and a status of its own."""
    on = desk(tmp_path, ReconcileSpec(compare=(Compared(column="tax", tolerance=Tolerance(last_digit=1)),)))
    march = ("USD", "2026-03-05")
    fill(on, [("A", "1.00", *march, "0.10"), ("B", "1.00", *march, "0.10")],
         [("A", "1.00", *march, "0.11"), ("B", "1.00", *march, "0.12")])  # fmt: skip

    result, verdicts = judged(on)

    assert (lines_of(result), code_of(verdicts)) == ({"identical": 1, "column_differs": 1}, None)
    assert on.rows("select differing, ledger_tax, vendor_tax from recon.lines where status = 'column_differs'") == [
        ("tax", Decimal("0.10"), Decimal("0.12"))
    ]


def test_columns_of_other_names(tmp_path):
    """Keys and amounts by side; the result calls a key as the first side does."""
    spec = ReconcileSpec(key=({"ledger": "id", "vendor": "ref"},), key_normalise=("upper",))
    on = desk(tmp_path, spec, contracts=(contract(), contract("ref")))
    fill(on, [("a1", "1.00")], [])
    on.run(
        "create or replace table staging.vendor as select id as ref, * exclude (id) from staging.ledger",
        "update staging.vendor set ref = 'A1'",
    )

    result, verdicts = judged(on)

    assert (lines_of(result), code_of(verdicts), dict(result.keys_changed)) == (
        {"identical": 1}, None, {"ledger": 1, "vendor": 0},
    )  # fmt: skip
    assert on.rows("select id from recon.lines") == [("A1",)]


def test_what_is_plausible_is_judged_of_a_comparison_too(tmp_path):
    """Lines that both sides have are matched, whatever does not agree on them; the suite is asked of the result."""
    suite = tmp_path / "lines.json"
    few = {"type": "expect_table_row_count_to_be_between", "kwargs": {"max_value": 2}, "meta": {}}
    suite.write_text(json.dumps({"name": "lines", "expectations": [few], "meta": {}}))
    on = desk(tmp_path, ReconcileSpec(compare=(Compared(column="tax"),)))
    (made,) = on.task.deliverables
    on.task = replace(
        on.task, plausible=Plausible(max_unmatched_share=Decimal("0.34")), deliverables=(replace(made, suite=suite),)
    )
    day = ("USD", "2026-03-05")
    fill(on, [("A", "1.00"), ("B", "1.00", *day, "0.10"), ("C", "1.00")], [("A", "1.00"), ("B", "1.00", *day, "0.20")])
    admission = replace(on.admission(), suites=hash_suites(on.task))
    assert isinstance(on.call(TOOL, ARGS), Done)

    (rate,) = on.verdicts(BINDERS["match_rate_is_plausible"], TOOL, ARGS, admission=admission)
    (held,) = on.verdicts(BINDERS["expectations_hold"], TOOL, ARGS, admission=admission)

    assert {"match_rate_is_plausible", "expectations_hold"} <= set(TOOL.contract.postconditions)
    assert (rate.status, rate.text) == ("passed", "not found on the other side: ledger 1 of 3, vendor 0 of 2")
    assert (held.status, held.code) == ("failed", "SUITE_FAILED")


# ------------------------------------------------------------------------- refusals


def test_a_task_without_a_specification_is_refused(tmp_path):
    """By the task that lists the tool, and by the tool."""
    on = desk(tmp_path)
    with pytest.raises(PlanexecError, match="has no reconciliation"):
        replace(on.task, reconciliation=None)
    bare = bench(tmp_path / "bare")
    assert bare.task.reconciliation is None
    outcome = bare.call(TOOL, ARGS)
    assert isinstance(outcome, Failed)
    assert (outcome.code, "declares no reconciliation" in outcome.message) == ("VALIDATION_ERROR", True)


INPUTS = {
    "one side": ({"ledger": "staging.ledger"}, "side 'vendor' is not given"),
    "one table twice": ({"ledger": "staging.ledger", "vendor": "staging.ledger"}, "are one table"),
    "a third": ({**ARGS.inputs, "bank": "staging.bank"}, "is no side of task"),
}


@pytest.mark.parametrize(("inputs", "text"), INPUTS.values(), ids=list(INPUTS))
def test_what_is_not_the_two_sides_is_refused(tmp_path, inputs, text):
    """With what to give instead."""
    on = desk(tmp_path)
    fill(on, [("A", "1.00")], [("A", "1.00")])
    outcome = on.call(TOOL, ReconcileArgs(inputs=inputs, target="recon.lines"))

    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"
    assert text in outcome.message


@pytest.mark.parametrize("kind", ["double", "decimal(18,3)", "decimal(20,2)", "varchar", "float"])
def test_a_table_that_is_not_as_declared_is_refused(tmp_path, kind):
    """12.345 in a column that is declared with two decimals is not rounded into agreement; nothing is written."""
    on = desk(tmp_path)
    fill(on, [("A", "12.345")], [("A", "12.35")], amount=kind)

    with pytest.raises(PortError, match=r"its contract declares DECIMAL\(18,2\)") as error:
        on.call(TOOL, ARGS)
    assert error.value.code == "SCHEMA_DRIFT"
    assert on.rows("select count(*) from duckdb_tables() where schema_name = 'recon'") == [(0,)]


@pytest.mark.parametrize("target", ["staging.ledger", "lines", 'recon."x"'])
def test_a_target_that_is_read_or_no_name_is_refused(tmp_path, target):
    """As of run_sql."""
    on = desk(tmp_path)
    fill(on, [("A", "1.00")], [("A", "1.00")])
    with pytest.raises(PortError):
        on.call(TOOL, ReconcileArgs(inputs=ARGS.inputs, target=target))


# ------------------------------------------------------------------------- checks that look for themselves

MENDED = {
    "a line is gone": ("delete from recon.lines where id = 'C'", "closing_identities_hold", "IDENTITY_BROKEN"),
    "a status is changed": (
        "update recon.lines set status = 'identical' where id = 'C'", "closing_identities_hold", "IDENTITY_BROKEN"),
    "an amount is changed": (
        "update recon.lines set ledger_amount = ledger_amount + 0.01 where id = 'C'", "closing_identities_hold",
        "IDENTITY_BROKEN"),
    "rows are claimed": (
        "update recon.lines set vendor_rows = 2 where id = 'A'", "closing_identities_hold", "IDENTITY_BROKEN"),
    "a duplicate is hidden": (
        "update recon.lines set status = 'identical', vendor_rows = 1 where status = 'duplicate_key'",
        "keys_can_be_matched", "DUPLICATE_KEY"),
    "a currency is changed": (
        "update recon.lines set ledger_currency = 'EUR' where id = 'C'", "closing_identities_hold", "IDENTITY_BROKEN"),
    "it is another result": (
        "update recon.lines set id = 'X' where id = 'C'", "both_sides_contribute", "NONDETERMINISTIC"),
}  # fmt: skip


@pytest.mark.parametrize(("statement", "check", "code"), MENDED.values(), ids=list(MENDED))
def test_a_result_that_was_changed_is_seen(tmp_path, statement, check, code):
    """The observed side is SQL on the inputs, never what the result says of itself."""
    on = desk(tmp_path)
    ledger = [("A", "1.00"), ("C", "3.00"), *([("D", "1.00")] * 2 if check == "keys_can_be_matched" else [])]
    fill(on, ledger, [("A", "1.00")])
    judged(on)
    on.run(statement)

    verdict = on.verdicts(BINDERS[check], TOOL, ARGS)[0]

    assert (verdict.code, verdict.opens) == (code, False), verdict.text


def test_keys_that_repeat_are_named_bounded(tmp_path):
    """Twenty of them at most, eighty characters each."""
    on = desk(tmp_path)
    long = [(f"{n:03d}{'x' * 500}", "1.00") for n in range(50)]
    fill(on, [*long, *long], [("A", "1.00")])
    _, verdicts = judged(on)
    keys = verdicts["keys_can_be_matched"].observed.value["keys"]

    assert (len(keys), max(map(len, keys))) == (20, 80)


def test_sides_have_any_names(tmp_path):
    """Status words and columns follow the sides' names."""
    on = desk(tmp_path, sides=("books", "bank"))
    fill(on, [("A", "1.00")], [("A", "1.00"), ("B", "1.00")])
    args = ReconcileArgs(inputs={"books": "staging.ledger", "bank": "staging.vendor"}, target="recon.lines")
    result, verdicts = judged(on, args)

    assert (lines_of(result), code_of(verdicts)) == ({"identical": 1, "bank_only": 1}, None)
    assert on.task.period(MARCH.text).text == "2026-03"


def test_a_declared_shape_has_to_be_the_reconciliation_s(tmp_path):
    """A result shape that says something else would judge other columns."""
    on = desk(tmp_path)
    (made,) = on.task.deliverables
    odd = replace(made, result=replace(made.result, identical="same"))

    assert replace(on.task, deliverables=(replace(made, result=None),)).result == made.result
    with pytest.raises(PlanexecError, match="declares identical 'same'") as error:
        replace(on.task, deliverables=(odd,))
    assert error.value.code == "BAD_CONTRACT"


# ------------------------------------------------------------------------- what follows from it

REPORTED = ["30", "36", "38", "36 declared as a multiset", "36 declared as many to one", "52", "43 signed alike"]


@pytest.mark.parametrize("name", REPORTED)
def test_a_report_of_it_is_what_it_says(tmp_path, name):
    """Five files, with statuses that a written query does not have, and rows where a line stands for several."""
    on = desk(tmp_path, CASES[name].spec)
    fill(on, CASES[name].ledger, CASES[name].vendor)
    judged(on)
    args = WriteReportArgs(source="recon.lines", name="2026-03-recon")
    outcome = on.call(WriteReport(), args)

    assert isinstance(outcome, Done), outcome
    assert [
        verdict.text for verdict in on.verdicts(report_matches_result, WriteReport(), args) if not verdict.opens
    ] == []
    figures = FiguresOfReport("2026-03-recon", "json").observe(on.ports)["figures"]
    assert (figures["rows:ledger"], figures["rows:vendor"]) == (len(CASES[name].ledger), len(CASES[name].vendor))
    assert figures["lines:duplicate_key"] == CASES[name].lines.get("duplicate_key", 0)


CENTS, MAY = Tolerance(absolute="0.05"), ("USD", "2026-05-01")
CREDITED = {
    "statuses that are not compared": (
        ReconcileSpec(period="day"),
        [("A", "5.00"), ("B", "9.00"), ("C", "4.00"), ("C", "4.00"), (None, "3.00"), ("D", "2.00", *MAY)],
        [("A", "3.50"), ("E", "1.00")],
        [("A", "1.50"), ("B", "9.00")],
    ),
    "charged three times, billed once": (MULTISET, [("A", "10.00")] * 3, [("A", "10.00")], [("A", "20.00")]),
    "charged otherwise than billed": (
        MULTISET, [("A", "10.00"), ("A", "20.00")], [("A", "10.00"), ("A", "12.00")], [("A", "8.00")]),
    "billed in parts": (MANY, [("A", "10.00")], [("A", "4.00"), ("A", "5.00")], [("A", "1.00")]),
    "within the tolerance": (ReconcileSpec(tolerance=CENTS), [("A", "10.05")], [("A", "10.00")], []),
    "a further column only": (
        ReconcileSpec(tolerance=CENTS, compare=(Compared(column="tax"),)),
        [("A", "10.05", "USD", "2026-03-05", "1.00")], [("A", "10.00", "USD", "2026-03-05", "2.00")], []),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "ledger", "vendor", "due"), CREDITED.values(), ids=list(CREDITED))
def test_what_is_credited(tmp_path, spec, ledger, vendor, due):
    """What was charged beyond what was billed, by key; nothing for a line that could not be compared."""
    on = desk(tmp_path, spec)
    fill(on, ledger, vendor)
    judged(on)
    paying = Deliverable(
        "credits", ("issue_credit",), repeatable=False, credit_rule=CreditRule("ledger", "vendor"), effect_scope="x",
        effects_from="2026-01",
    )  # fmt: skip
    limits = replace(on.task.limits, credit_cap=Decimal(100), credit_lines_threshold=10)
    task = replace(on.task, deliverables=(*on.task.deliverables, paying), limits=limits)
    with on.ports.warehouse.session() as session:
        lines = fetch_credit_lines(session, "recon.lines", credit_shape(task))

    assert [(line.key, str(line.amount)) for line in lines] == due
    with pytest.raises(PlanexecError, match="credits by column 'tax' of side 'ledger', and what is read again"):
        replace(task, reconciliation=ReconcileSpec(amount="tax"))
