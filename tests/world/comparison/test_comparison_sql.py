"""The query of a typed comparison: its facts on a real DuckDB and a real Postgres, its text for every dialect."""

import datetime as dt
from dataclasses import replace
from decimal import Decimal

import pytest
import sqlglot
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.sides.comparison.shape import Attribute, Number, Tolerance
from dagster_planexec.world.sides.comparison.sql import changed_keys_sql, comparison_sql
from tests.support.comparing import DAY, compared, model, on_duckdb, on_postgres, row, tally

APRIL = dt.date(2026, 4, 1)
DIALECTS = ("duckdb", "postgres", "spark", "snowflake", "bigquery")
FURTHER = {
    "numbers": (("tax", Number(("tax", "tax"), (18, 18), (2, 2), Tolerance("absolute", "0.01"))),),
    "attributes": (("memo", Attribute(("memo", "memo"))),),
}


@pytest.fixture(scope="module")
def server(postgres):
    with postgres.admin(postgres.database()) as connection:
        yield connection


def lines(server, comparison, ledger, vendor):
    """The lines, which both warehouses agree on."""
    found = on_duckdb(comparison, ledger, vendor)
    assert found == on_postgres(server, comparison, ledger, vendor)
    return found


def statuses(server, comparison, ledger, vendor):
    return {line["id"]: line["status"] for line in lines(server, comparison, ledger, vendor)}


def test_each_status_with_its_figures(server):
    """Every word once, in one pass: what a line stands for, and both sides' amounts."""
    ledger = [
        row("same", "1.00"), row("less", "9.00"), row("mine", "2.00"), row("late", "3.00", day=APRIL),
        row("both", "4.00", day=APRIL), row("twice", "5.00"), row("twice", "5.00"), row(None, "6.00"),
        row("money", "7.00", currency="EUR"),
    ]  # fmt: skip
    vendor = [
        row("same", "1.00", day=APRIL), row("less", "9.01"), row("yours", "8.00"), row("both", "4.00", day=APRIL),
        row("twice", "5.00"), row("  ", "6.00"), row("", "6.50"), row("money", "7.00"),
    ]  # fmt: skip
    found = lines(server, compared(by_row=True), ledger, vendor)

    assert tally(found) == {
        "amount_differs": (1, 1, 1, Decimal("9.00"), Decimal("9.01")),
        "currency_differs": (1, 1, 1, Decimal("7.00"), Decimal("7.00")),
        "duplicate_key": (3, 2, 1, Decimal("10.00"), Decimal("5.00")),
        "identical": (1, 1, 1, Decimal("1.00"), Decimal("1.00")),
        "ledger_only": (1, 1, 0, Decimal("2.00"), Decimal(0)),
        "null_key": (3, 1, 2, Decimal("6.00"), Decimal("12.50")),
        "out_of_period": (2, 2, 1, Decimal("7.00"), Decimal("4.00")),
        "vendor_only": (1, 0, 1, Decimal(0), Decimal("8.00")),
    }
    by_status = {line["status"]: line for line in found}
    assert by_status["amount_differs"]["difference"] == Decimal("-0.01")
    assert by_status["vendor_only"]["difference"] == Decimal("-8.00")
    assert by_status["currency_differs"]["difference"] is None, "no euro is taken off a dollar"
    assert (by_status["ledger_only"]["ledger_currency"], by_status["ledger_only"]["vendor_currency"]) == ("USD", None)


def scaled(one, other, tolerance=None, scales=(2, 2)):
    extra = {} if tolerance is None else {"tolerance": tolerance}
    return (compared(scales=scales, **extra), [row("A", one)], [row("A", other)])


AGREE = {
    "large, float32 cannot tell": (*scaled("123456789.01", "123456792.99"), False),
    "large, the same": (*scaled("123456789012345.67", "123456789012345.67"), True),
    "large, last digit, beyond float64": (*scaled("9007199254740993.01", "9007199254740993.02"), False),
    "three decimals are not rounded to two": (*scaled("12.35", "12.345", scales=(2, 3)), False),
    "three decimals that are two": (*scaled("12.35", "12.350", scales=(2, 3)), True),
    "1E-7 is not 0": (*scaled("0.00", "1E-7", scales=(2, 7)), False),
    "within the absolute": (*scaled("10.00", "10.01", Tolerance("absolute", "0.01")), True),
    "beyond the absolute": (*scaled("10.00", "10.02", Tolerance("absolute", "0.01")), False),
    "absolute, other scales": (*scaled("10.00", "10.011", Tolerance("absolute", "0.01"), (2, 3)), False),
    "within the relative": (*scaled("1000.00", "1001.00", Tolerance("relative", "0.001")), True),
    "beyond the relative": (*scaled("1000.00", "1001.01", Tolerance("relative", "0.001")), False),
    "a share of nothing": (*scaled("0.00", "0.01", Tolerance("relative", "0.5")), False),
    "a share of large amounts": (
        *scaled("-9999999999999999.99", "-9999999999999999.00", Tolerance("relative", "0.000000001")), True),
    "no amount agrees with none": (*scaled(None, None), False),
}  # fmt: skip


@pytest.mark.parametrize(("comparison", "ledger", "vendor", "same"), AGREE.values(), ids=list(AGREE))
def test_when_two_amounts_agree(server, comparison, ledger, vendor, same):
    """In DECIMAL, without rounding either."""
    expected = "identical" if same else "amount_differs"
    assert statuses(server, comparison, ledger, vendor) == {"A": expected}


def short(comparison):
    """Of amounts that eight bytes hold."""
    return replace(comparison, amount=replace(comparison.amount, precision=(12, 12)))


def test_short_amounts_may_be_far_apart(server):
    """A gap is multiplied where shares are compared: what comes of it is longer than what it was made of."""
    comparison = short(compared(tolerance=Tolerance("relative", "0.000000001")))

    assert statuses(server, comparison, [row("A", "9999999999.99")], [row("A", "-9999999999.99")]) == {
        "A": "amount_differs"
    }


def test_large_amounts_may_repeat(server):
    """So is an amount where as many are counted."""
    often = [row("A", "999999999999999.99")] * 40
    (found,) = lines(server, compared("multiset"), often, often)

    assert (found["status"], found["ledger_amount"]) == ("identical", Decimal("39999999999999999.60"))


def test_a_tenth_and_two_tenths_are_three_tenths(server):
    """0.1 + 0.2 against 0.3: sums of many rows are exact."""
    found = lines(server, compared("one-to-many"), [row("A", "0.30")], [row("A", "0.10"), row("A", "0.20")])

    assert [(line["status"], line["vendor_amount"], line["vendor_rows"]) for line in found] == [
        ("identical", Decimal("0.30"), 2)
    ]


def test_keys_beyond_the_whole_numbers_of_a_float(server):
    """2^53 and 2^53 + 1 are two keys."""
    assert statuses(server, compared(), [row(str(2**53), "1.00")], [row(str(2**53 + 1), "1.00")]) == {
        "9007199254740992": "ledger_only", "9007199254740993": "vendor_only",
    }  # fmt: skip


NORMAL = {
    "blanks at the ends always go": ((), " A1\t", "A1\u00a0", True),
    "case counts": ((), "a1", "A1", False),
    "upper": (("upper",), "a1", "A1", True),
    "lower": (("lower",), "a1", "A1", True),
    "inner blanks count": ((), "A  1", "A 1", False),
    "collapse_spaces": (("collapse_spaces",), "A \t\u00a0 1", "A 1", True),
    "remove_spaces": (("remove_spaces",), "A 1", "A1", True),
    "remove_hyphens": (("remove_hyphens",), "A-1-", "A1", True),
    "leading zeros count": ((), "007", "7", False),
    "strip_leading_zeros": (("strip_leading_zeros",), "007", "7", True),
    "zeros are a key": (("strip_leading_zeros",), "000", "0", True),
    "in the order of the words": (("remove_hyphens", "strip_leading_zeros"), "-0-07", "7", True),
}


@pytest.mark.parametrize(("words", "one", "other", "meet"), NORMAL.values(), ids=list(NORMAL))
def test_normalised_keys(server, words, one, other, meet):
    """On both sides alike, and the same in both warehouses."""
    found = lines(server, compared(normalise=words), [row(one, "1.00")], [row(other, "1.00")])

    assert sorted(line["status"] for line in found) == (["identical"] if meet else ["ledger_only", "vendor_only"])


@pytest.mark.parametrize("blank", [None, "", "  ", "\t", "\u00a0\u2003", "-"])
def test_a_key_of_which_nothing_is_left_is_none(server, blank):
    """It meets no other, not even its like."""
    comparison = compared(normalise=("remove_hyphens",))

    assert [line["status"] for line in lines(server, comparison, [row(blank, "1.00")], [row(blank, "1.00")])] == [
        "null_key", "null_key",
    ]  # fmt: skip


@pytest.mark.parametrize("key", [("twice", "once"), ("once", "twice"), ("twice", "twice"), ("thrice", "thrice")])
def test_a_key_that_repeats_multiplies_nothing(server, key):
    """Its rows stand for themselves, on both sides, and no line is paired with any of them."""
    often = {"once": 1, "twice": 2, "thrice": 3}
    ledger, vendor = ([row("F1", "10.00")] * often[count] for count in key)
    found = lines(server, compared(), ledger, [*vendor, row("F2", "1.00")])

    assert [line["status"] for line in found].count("duplicate_key") == sum(often[count] for count in key)
    assert len(found) == sum(often[count] for count in key) + 1


MULTISETS = {
    "re-ordered": (["10", "20"], ["20", "10"], {"identical": (1, 2, 2, 30, 30)}),
    "billed three times": (["10"], ["10"] * 3, {"identical": (1, 1, 1, 10, 10), "vendor_only": (1, 0, 2, 0, 20)}),
    "one of two changed": (
        ["10", "20"], ["10", "25"], {"identical": (1, 1, 1, 10, 10), "amount_differs": (1, 1, 1, 20, 25)}),
    "nothing alike": (["10"], ["1", "2"], {"amount_differs": (1, 1, 2, 10, 3)}),
}  # fmt: skip


@pytest.mark.parametrize(("mine", "theirs", "figures"), MULTISETS.values(), ids=list(MULTISETS))
def test_lines_that_repeat_are_counted(server, mine, theirs, figures):
    """By key and amount, never by the order in which they stand."""
    found = lines(server, compared("multiset"), [row("A", a) for a in mine], [row("A", a) for a in theirs])

    assert tally(found) == {word: (*f[:3], Decimal(f[3]), Decimal(f[4])) for word, f in figures.items()}


def test_further_columns(server):
    """They differ under a word of their own: no money follows from it. Absent and blank are the same."""
    ledger = [row(k, "1.00", tax=t, memo=m) for k, t, m in [("A", "1.00", "x"), ("B", "1.00", "x"), ("C", None, " ")]]
    ledger += [row("D", "1.00", tax="1.00", memo="x"), row("E", "2.00", tax="1.00", memo="x")]
    vendor = [row(k, "1.00", tax=t, memo=m) for k, t, m in [("A", "1.01", "x "), ("B", "1.02", "y"), ("C", None, None)]]
    vendor += [row("D", "1.00", tax=None, memo="x"), row("E", "1.00", tax="5.00", memo="x"), row("F", "1.00")]
    found = {line["id"]: line for line in lines(server, compared(**FURTHER), ledger, vendor)}

    assert {key: (line["status"], line["differing"]) for key, line in found.items()} == {
        "A": ("identical", None), "B": ("column_differs", "tax memo"), "C": ("identical", None),
        "D": ("column_differs", "tax"), "E": ("amount_differs", "tax"), "F": ("vendor_only", None),
    }  # fmt: skip
    assert (found["B"]["ledger_tax"], found["B"]["vendor_tax"], found["B"]["vendor_memo"]) == (
        Decimal("1.00"), Decimal("1.02"), "y",
    )  # fmt: skip


def test_a_group_of_several_currencies_is_not_added_up(server):
    """Its rows stand for themselves."""
    vendor = [row("A", "1.00"), row("A", "1.00", currency="EUR")]
    found = lines(server, compared("one-to-many", by_row=True), [row("A", "2.00")], vendor)

    assert [line["status"] for line in found] == ["currency_differs"] * 3


@pytest.mark.parametrize(
    ("amounts", "taxes", "became"),
    [
        (("1.00", "1.00"), (None, None), ("column_differs", "tax")),
        (("1.00", "1.00"), ("0.40", "0.60"), ("identical", None)),
        (("1.00", "1.00"), ("1.00", None), ("column_differs", "tax")),
        (("2.00", None), ("0.40", "0.60"), ("amount_differs", None)),
        ((None, None), ("1.00", None), ("amount_differs", "tax")),
    ],
)
def test_a_group_that_lacks_an_amount_agrees_with_nothing(server, amounts, taxes, became):
    """A sum leaves out what is missing: what the other rows come to is not what the group comes to."""
    vendor = [row("A", amount, tax=tax) for amount, tax in zip(amounts, taxes, strict=True)]
    comparison = compared("one-to-many", numbers=FURTHER["numbers"])
    (found,) = lines(server, comparison, [row("A", "2.00", tax="1.00")], vendor)

    assert (found["status"], found["differing"]) == became


def test_amounts_that_nobody_knows_come_to_nothing_known(server):
    """Out of the period too: no amount is not an amount of zero."""
    found = lines(server, compared("multiset"), [row("A", None, day=APRIL)], [row("A", None), row("B", "1.00")])
    out = lines(server, compared("multiset"), [row("A", None, day=APRIL)], [row("A", "2.00", day=APRIL)])

    assert [(line["status"], line["ledger_amount"]) for line in found if line["ledger_rows"]] == [
        ("amount_differs", None)
    ]
    assert [(line["status"], line["ledger_amount"], line["vendor_amount"]) for line in out] == [
        ("out_of_period", None, Decimal("2.00"))
    ]


def test_keys_that_normalising_changed_are_counted(server):
    """By side; a blank that goes is a change too."""
    comparison = replace(compared(), normalise=("strip_leading_zeros",))
    with_keys = changed_keys_sql(comparison, "postgres")
    with server.transaction(force_rollback=True):
        for side, keys in (("ledger", ["007", "7", None]), ("vendor", [" 8", "08", "9"])):
            server.execute(f"create temp table {side} (id text)")
            for key in keys:
                server.execute(f"insert into {side} values (%s)", [key])
        assert dict(server.execute(with_keys).fetchall()) == {"ledger": 1, "vendor": 2}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("match", ["one-to-one", "one-to-many", "multiset"])
def test_the_text_for_every_dialect(dialect, match):
    """It parses there, names its inputs in quotes, and holds no float."""
    further = {} if match != "one-to-one" else FURTHER
    tolerance = {} if match == "multiset" else {"tolerance": Tolerance("relative", "0.001")}
    comparison = compared(
        match, by_row=True, normalise=("collapse_spaces", "strip_leading_zeros"), **further, **tolerance
    )
    tree = sqlglot.parse_one(comparison_sql(comparison, dialect), read=dialect)

    tables = {table.name for table in tree.find_all(exp.Table)} - {cte.alias for cte in tree.find_all(exp.CTE)}
    assert tables == {"ledger", "vendor"}
    assert all(identifier.quoted for identifier in tree.find_all(exp.Identifier))
    floats = {exp.DataType.Type.FLOAT, exp.DataType.Type.DOUBLE}
    assert not [kind for kind in tree.find_all(exp.DataType) if kind.this in floats]
    assert not [x for x in tree.find_all(exp.Literal) if not x.is_string and "." in x.this], "1.5 is a float somewhere"


HOSTILE = 'x" from secrets; drop table ledger; --'


@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_are_never_more_than_names(dialect):
    """A column's name cannot end its quotes, and a currency's text not its own."""
    comparison = compared()
    odd = replace(comparison.first, key=(HOSTILE,), currency="US'D; --")
    tree = sqlglot.parse(comparison_sql(replace(comparison, first=odd), dialect), read=dialect)

    assert len(tree) == 1
    assert HOSTILE in {column.name for column in tree[0].find_all(exp.Column)}


WIDE = {
    "a difference": (compared(), (38, 38), (2, 2), "needs 40 digits"),
    "a sum": (compared("multiset"), (28, 28), (2, 2), "needs 40 digits"),
    "other scales": (compared(), (38, 38), (0, 18), "comparing it one-to-one needs 58 digits"),
    "a share": (compared(tolerance=Tolerance("relative", "0.000000001")), (30, 30), (2, 2), "needs 43 digits"),
    "a finer tolerance": (compared(tolerance=Tolerance("absolute", "0.005")), (18, 18), (2, 2), "finer than its last"),
}


@pytest.mark.parametrize(("comparison", "precision", "scale", "text"), WIDE.values(), ids=list(WIDE))
def test_what_could_round_or_overflow_is_refused(comparison, precision, scale, text):
    """Before anything runs, with the digits it would need."""
    amount = replace(comparison.amount, precision=precision, scale=scale)

    with pytest.raises(PlanexecError, match=text) as error:
        comparison_sql(replace(comparison, amount=amount), "duckdb")
    assert error.value.code == "BAD_CONTRACT"


KEYS = st.sampled_from(["A", "B", "C", "A ", "\tB", None, "", " "])
AMOUNTS = st.sampled_from([None, *map(Decimal, ("0.00", "0.01", "0.02", "1.00", "-1.00", "123456789.01"))])
ROWS = st.lists(
    st.tuples(
        KEYS, AMOUNTS, st.sampled_from(["USD", "EUR", None]), st.sampled_from([DAY, APRIL, None]), st.none(), st.none()
    ),
    max_size=7,
)


@pytest.mark.parametrize("match", ["one-to-one", "one-to-many", "multiset"])
def test_random_sides_are_what_plain_python_says(server, match):
    """Statuses, rows and sums; and whatever the statuses, every row and every cent is in the result once."""

    @given(ROWS, ROWS, st.booleans(), st.sampled_from(["0", "0.01"]))
    @settings(max_examples=15, deadline=None, derandomize=True)
    def prove(ledger, vendor, by_row, cents):
        tolerance = {} if match == "multiset" else {"tolerance": Tolerance("absolute", cents)}
        comparison = compared(match, by_row=by_row, **tolerance)
        found = lines(server, comparison, ledger, vendor)
        assert tally(found) == model(comparison, ledger, vendor)
        for side, rows in (("ledger", ledger), ("vendor", vendor)):
            assert sum(line[f"{side}_rows"] for line in found) == len(rows)
            worth = sum((one[1] for one in rows if one[1] is not None), Decimal(0))
            assert sum((line[f"{side}_amount"] or Decimal(0) for line in found), Decimal(0)) == worth

    prove()
