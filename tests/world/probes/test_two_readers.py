"""The loader and the counter agree on every cell: what one adds up or refuses, the other adds up or refuses."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.resources.loading.ingest import ingest_text
from dagster_planexec.world.delivery.text.texts import Texts
from dagster_planexec.world.ingest import Counted, FileFormat, NumberStyle, SignRule, TextColumn, TextIngest, TextRule
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract
from tests.support.loads import create

RULES: tuple[TextRule, ...] = (
    "trim", "upper", "lower", "collapse_spaces", "remove_spaces", "strip_leading_zeros",
)  # fmt: skip
MARKS = ["", ",", ".", " ", "'", "\u2019", "\u00a0", "\u202f", "_"]
SIGNS = ["$", "\u20ac", "EUR", "US$", "kr", "Rs.", "R$"]
NEGATIVES = ["minus", "trailing_minus", "parentheses", "credit"]
HOSTILE = [
    *(
        "\u0663",
        "\u2212",
        "+",
        "-",
        "(",
        ")",
        "()",
        " ",
        "\u00a0",
        "CR",
        "dr",
        "e",
        "E",
        "E400",
        "1E-400",
        "1e+07",
        ".",
    ),
    *(",", "'", "NULL", "n/a", "-", "nan", "inf", "0x1", "1_0", "00", "0", "$", "EUR", "%", "\t", "\n", "1" * 40),
]


@st.composite
def styles(draw) -> NumberStyle:
    mark = draw(st.sampled_from([".", ","]))
    minor = draw(st.sampled_from([0, 0, 0, 2]))
    return NumberStyle(
        draw(st.sampled_from([one for one in MARKS if one != mark])),
        mark,
        draw(st.sampled_from(["western", "indian"])),
        tuple(draw(st.lists(st.sampled_from(NEGATIVES), min_size=1, max_size=4, unique=True))),
        tuple(draw(st.lists(st.sampled_from(SIGNS), max_size=3, unique=True))),
        not minor and draw(st.booleans()),
        draw(st.sampled_from([(), ("-",), ("nil", "0.00")])),
        minor,
    )


@st.composite
def written(draw, style: NumberStyle) -> str:
    """A number as the style has it, or nearly so."""
    whole = str(draw(st.integers(0, 10 ** draw(st.integers(1, 20)))))
    if style.thousands and draw(st.booleans()):
        size = 2 if style.grouping == "indian" and draw(st.integers(0, 9)) else 3
        head, last = whole[:-3], whole[-3:]
        groups = [head[max(0, at - size) : at] for at in range(len(head), 0, -size)][::-1]
        whole = style.thousands.join([*groups, last])
    places = draw(st.integers(0, 4))
    text = whole + (
        style.decimal_mark + draw(st.text("0123456789", min_size=places, max_size=places)) if places else ""
    )
    if draw(st.integers(0, 9)) == 0:
        text = text[draw(st.integers(0, len(text))) :]
    if draw(st.integers(0, 3)) == 0:
        text += f"{draw(st.sampled_from('eE'))}{draw(st.sampled_from(['', '+', '-']))}{draw(st.integers(0, 30))}"
    gap = draw(st.sampled_from(["", "", " ", "\u00a0", "  "]))
    sign = draw(st.sampled_from([*(style.currency_signs or [""]), "", "\u00a3"]))
    if draw(st.booleans()):
        text = sign + gap + text if draw(st.booleans()) else text + gap + sign
    around = draw(
        st.sampled_from([("", ""), ("-", ""), ("+", ""), ("", "-"), ("(", ")"), ("", " CR"), ("", "dr"), ("-", "-")])
    )
    text = around[0] + text + around[1]
    if draw(st.integers(0, 4)) == 0:
        text = sign + text if draw(st.booleans()) else text + gap + sign
    return draw(st.sampled_from(["", "", " ", "\t"])) + text + draw(st.sampled_from(["", " "]))


@st.composite
def cells(draw, style: NumberStyle) -> str:
    """Mostly numbers, some nonsense."""
    if draw(st.integers(0, 3)):
        return draw(written(style))
    return "".join(draw(st.lists(st.sampled_from(HOSTILE), max_size=4)))


@st.composite
def files(draw):
    """Columns, what is counted, and records."""
    style = draw(styles())
    scale = draw(st.integers(style.minor_units, 6))
    nulls = draw(st.sampled_from([(), ("NULL", "n/a"), ("0",)]))
    minus = ("off",) if draw(st.integers(0, 3)) == 0 else ()
    amount = TextColumn(
        "amount", "amount", "decimal", draw(st.booleans()), precision=draw(st.integers(max(1, scale), 38)), scale=scale,
        number=style, aliases=("amount",), minus=minus, nulls=nulls,
    )  # fmt: skip
    rules = tuple(draw(st.lists(st.sampled_from(RULES), max_size=2)))
    kind = TextColumn("kind", "kind", "text", aliases=("kind",), nulls=nulls, normalise=rules)
    money = TextColumn("money", "money", "text", aliases=("money",), normalise=rules)
    sign = SignRule("kind", ("INV", "inv"), ("CRN", "crn", " crn")) if draw(st.booleans()) else None
    counted = Counted(amount, sign, kind if sign else None, money if draw(st.booleans()) else None)
    records = draw(
        st.lists(
            st.tuples(
                st.sampled_from(["A", "A", "B", "", " ", "\t"]),
                cells(style),
                cells(style) if draw(st.booleans()) else st.just(""),
                st.sampled_from(["INV", "CRN", "inv", " crn", "crn ", "x", "", "NULL"]),
                st.sampled_from(["USD", "EUR", "usd", "U SD", ""]),
            ),
            min_size=1,
            max_size=12,
        )
    )
    return (TextColumn("id", "id", "text"), amount, kind, money), counted, records


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("read twice") / "file.csv"


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files())
def test_whatever_is_loaded_adds_up_and_whatever_is_refused_is_unreadable(connection, path, file):
    columns, counted, records = file
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "amount", "off", "kind", "money"])
    writer.writerows(records)
    path.write_text(out.getvalue(), encoding="utf-8", newline="")
    create(connection, columns)
    request = TextIngest(
        (path,), FileFormat(), columns, "staging.t", "staging.t__rejects", ("id",), "amount", counted.sign
    )

    report = ingest_text(connection, request)

    seen = CountExtract(path, FileFormat(), counted).tally()
    loaded, total, nothing = connection.execute(
        "select count(*), coalesce(sum(amount), 0), count(*) - count(amount) from staging.t"
    ).fetchone()
    refused, worth, unread = connection.execute(
        "select count(*), coalesce(sum(amount), 0), count(*) - count(amount) from "
        "(select distinct source, line, amount from staging.t__rejects)"
    ).fetchone()
    assert (loaded, sum(report.rejects.values())) == (report.rows_loaded, refused)
    assert seen.rows == loaded + refused
    assert seen.amounts.total == total + worth
    assert seen.amounts.unparsable + seen.amounts.empty == nothing + unread
    if counted.currency is not None:
        assert sum(seen.amounts.sums.values()) == seen.amounts.total
        by = dict(
            connection.execute(
                "select coalesce(money, ''), sum(amount) from staging.t where amount is not null group by 1"
            ).fetchall()
        )
        if not refused:
            assert seen.amounts.sums == by


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.text(max_size=8), min_size=1, max_size=20),
    st.lists(st.sampled_from(RULES), min_size=1, max_size=3, unique=True),
)
def test_text_rules_are_the_same_to_both(connection, texts, rules):
    """Also where one letter in capitals would be two, or depends on its neighbours."""
    from dagster_planexec.resources.loading.cells import cell

    given_ = [text.replace("\x00", "") for text in texts]
    column = TextColumn("t", "t", "text", normalise=tuple(rules))
    made = cell(column, "nullif(f0, '')").value

    found = connection.execute(f"select {made} from (select unnest(?) as f0)", [given_]).fetchall()

    assert [row[0] for row in found] == [Texts(column).read(text) for text in given_]
