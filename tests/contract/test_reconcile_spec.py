"""The specification of a typed reconciliation: what it says, what it is refused for, what contracts fill in."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
import yaml

from dagster_planexec.contract.file_contract import Column, FileContract
from dagster_planexec.contract.reconcile.resolved import DeclaredSide, comparison_of
from dagster_planexec.contract.reconcile.spec import Compared, ReconcileSpec, Tolerance, json_schema, load_spec
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.period import Period

ROOT = Path(__file__).parents[2]
MARCH = Period.parse("2026-03", "month")


def contract(**changes):
    columns = (
        Column(name="id", type="text"), Column(name="line", type="integer"), Column(name="amount", type="decimal"),
        Column(name="rate", type="decimal", scale=4), Column(name="day", type="date", formats=("%Y-%m-%d",)),
        Column(name="code", type="text"), Column(name="spare", type="decimal", nullable=True),
    )  # fmt: skip
    declared = {"name": "c", "version": "1", "columns": columns, "key": ("id",), "amount": "amount", "date": "day"}
    return FileContract(**(declared | {"currency": "USD"} | changes))


def sides(one=None, other=None):
    return (DeclaredSide("ledger", one or contract()), DeclaredSide("vendor", other or contract()))


def resolved(spec=None, **given):
    return comparison_of(spec or ReconcileSpec(**given), sides(), MARCH)


def test_what_is_left_out_the_contracts_say():
    """Key, amount, currency, date and scale."""
    found = resolved()

    assert (found.key, found.amount.columns, found.amount.scale) == (("id",), ("amount", "amount"), (2, 2))
    assert (found.first.currency, found.second.date, found.match) == ("USD", "day", "one-to-one")
    assert (str(found.first.start), str(found.first.end)) == ("2026-03-01", "2026-04-01")


def test_a_window_widens_the_period():
    """Days before and after, of the side that declares it."""
    other = contract(window={"days_before": 2, "days_after": 3})
    found = comparison_of(ReconcileSpec(), sides(other=other), MARCH)

    assert [str(day) for side in found.sides for day in (side.start, side.end)] == [
        "2026-03-01", "2026-04-01", "2026-02-27", "2026-04-04",
    ]  # fmt: skip


def test_the_last_digit_is_that_of_both_sides():
    """Of two scales the coarser: the other side's further digits were never written there."""
    spec = ReconcileSpec(amount={"ledger": "amount", "vendor": "rate"}, tolerance=Tolerance(last_digit=2))

    assert resolved(spec).amount.tolerance.digits == "0.02"
    assert resolved(spec).amount.places == 4


def test_a_column_or_a_code():
    """A currency in capitals is a code; anything else is a column."""
    spec = ReconcileSpec(currency={"ledger": "EUR", "vendor": "code"})
    found = comparison_of(spec, sides(contract(currency="EUR")), MARCH)

    assert [(s.currency, s.currency_column) for s in found.sides] == [("EUR", None), (None, "code")]


WRONG = {
    "an unknown word": ("kee: [id]", "kee: Extra inputs are not permitted"),
    "a float": ("tolerance: {absolute: 0.01}", "tolerance.absolute: Input should be a valid string"),
    "two tolerances": ('tolerance: {absolute: "0.01", relative: "0.1"}', "and one of them"),
    "an exponent": ('tolerance: {absolute: "1E-2"}', "tolerance.absolute: String should match"),
    "a share above one": ('tolerance: {relative: "1.5"}', "tolerance.relative: String should match"),
    "many without its match": ("many: vendor", "`many` names the side"),
    "its match without many": ("match: one-to-many", "`many` names the side"),
    "a tolerant multiset": ('match: multiset\ntolerance: {absolute: "1"}', "it has no tolerance"),
    "upper and lower": ("key_normalise: [upper, lower]", "says upper and lower"),
    "another normalisation": ("key_normalise: [soundex]", "key_normalise.0"),
    "a column that is SQL": ("amount: 'amount; drop table x'", "amount"),
    "three sides": ("key: [{ledger: id, vendor: id, bank: id}]", "names columns of 3 sides"),
    "no key": ("key: []", "key: Tuple should have at least 1 item"),
    "two faults": ("kee: 1\nmatch: fuzzy", "match: Input should be"),
    "no mapping": ("- id", "spec: Input should be"),
    "no YAML": ("key: [", "spec.yaml:"),
    "nested": ("a: " + "[" * 5_000, "spec.yaml:"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=list(WRONG))
def test_a_mistake_is_named(tmp_path, text, message):
    """BAD_CONTRACT, with the file and the field."""
    path = tmp_path / "spec.yaml"
    path.write_text(text)

    with pytest.raises(PlanexecError) as error:
        load_spec(path)
    assert error.value.code == "BAD_CONTRACT"
    assert error.value.message.startswith("spec.yaml: ")
    assert message in error.value.message


def test_a_code_is_what_each_contract_says():
    """Amounts of one currency are not called another, on either side."""
    euros = contract(currency=None, currencies={"EUR": 2}, currency_column="code")
    several = contract(currency=None, currencies={"EUR": 2, "USD": 2}, currency_column="code")
    spec = ReconcileSpec(currency="EUR")

    found = comparison_of(spec, sides(contract(currency="EUR"), euros), MARCH)
    assert [side.currency for side in found.sides] == ["EUR", "EUR"]
    for one, other, says in (
        (contract(), contract(), "side ledger says USD"),
        (contract(currency="EUR"), contract(), "side vendor says USD"),
        (euros, several, "side vendor says EUR, USD"),
    ):
        with pytest.raises(PlanexecError, match="BAD_CONTRACT") as error:
            comparison_of(spec, sides(one, other), MARCH)
        assert says in error.value.message


UNFIT = {
    "a currency that is no column": ({"currency": "money"}, "currency names 'money', which is no column"),
    "a currency of no contract": ({"currency": "EUR"}, "currency says EUR, and contract 'c' of side ledger says USD"),
    "no such column": ({"amount": "total"}, "amount names 'total', which is no column"),
    "an amount that is text": ({"amount": "code"}, "amount 'code' is not a decimal"),
    "a period that is no date": ({"period": "code"}, "period 'code' is not a date"),
    "a currency that is a number": ({"currency": "amount"}, "currency 'amount' is not text"),
    "another side": ({"amount": {"ledger": "amount", "bank": "amount"}}, "the sides are ledger, vendor"),
    "many of another side": ({"match": "one-to-many", "many": "bank"}, "many names 'bank'"),
    "text against a number": (
        {"compare": (Compared(column={"ledger": "code", "vendor": "rate"}),)}, "'code' is text and 'rate' is decimal"),
    "a tolerance of text": (
        {"compare": (Compared(column="code", tolerance=Tolerance(last_digit=1)),)}, "which has no tolerance"),
    "text of several rows": (
        {"compare": (Compared(column="code"),), "match": "one-to-many", "many": "vendor"}, "can agree in numbers only"),
    "an amount that several rows may lack": (
        {"amount": "spare", "match": "one-to-many", "many": "vendor"}, "amount 'spare' of side vendor may be empty"),
    "decimal keys of other scales": ({"key": ({"ledger": "amount", "vendor": "rate"},)}, "would never meet"),
    "a finer tolerance": ({"tolerance": Tolerance(absolute="0.001")}, "is finer than its last digit"),
    "a column of the result twice": (
        {"key": ({"ledger": "id", "vendor": "id"}, {"ledger": "id", "vendor": "code"})}, "would be called 'id'"),
}  # fmt: skip


@pytest.mark.parametrize(("given", "message"), UNFIT.values(), ids=list(UNFIT))
def test_what_the_contracts_do_not_bear_is_refused(given, message):
    """When the task is made, not when it runs."""
    with pytest.raises(PlanexecError, match="BAD_CONTRACT") as error:
        resolved(**given)
    assert error.value.code == "BAD_CONTRACT"
    assert message in error.value.message


def test_the_page_is_the_vocabulary():
    """Every word is on the page, and its example is a specification."""
    page = (ROOT / "docs" / "reconcile.md").read_text()
    example = page.split("```yaml\n")[1].split("```")[0]

    assert {word for word in ReconcileSpec.model_fields if f"| `{word}` |" not in page} == set()
    assert {word for word in Tolerance.model_fields if f"| `{word}` |" not in page} == set()
    assert ReconcileSpec.model_validate(yaml.safe_load(example)).match == "one-to-one"
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(yaml.safe_load(example), json_schema())
