"""A key's text as it is compared: cast, trimmed, normalised; blank is null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sqlglot import exp

from dagster_planexec.world.sides.comparison.shape import BLANKS, Word

_CASE = frozenset({"upper", "lower"})


def key_parts(columns: Sequence[str], words: Sequence[Word], dialect: str) -> list[exp.Expr]:
    """For each column an expression for its text; null where nothing is left of it."""
    return [_part(column, words, dialect) for column in columns]


def _part(column: str, words: Sequence[Word], dialect: str) -> exp.Expr:
    text: exp.Expr = _trimmed(exp.cast(exp.column(column, quoted=True), "TEXT"), dialect)
    for word in words:
        text = _DO[word](text, dialect)
    if not _CASE.issuperset(words):
        text = _trimmed(text, dialect)  # a hyphen that went may have had a blank beside it
    return exp.func("NULLIF", text, exp.Literal.string(""))


def _trimmed(text: exp.Expr, dialect: str) -> exp.Expr:
    trimmed = exp.Trim(this=text, expression=exp.Literal.string(BLANKS), position="BOTH")
    if dialect != "duckdb":
        return trimmed
    # DuckDB trims named characters ten times slower than it finds out that there are none: a text of as many bytes as
    # characters is ASCII, and there all blanks come before the first visible character.
    visible = exp.Literal.string("!")
    plain = exp.and_(
        exp.EQ(this=exp.func("STRLEN", text.copy()), expression=exp.func("LENGTH", text.copy())),
        exp.GTE(this=text.copy(), expression=visible),
        exp.GTE(this=exp.func("RIGHT", text.copy(), exp.Literal.number("1")), expression=visible.copy()),
    )
    return exp.case().when(plain, text.copy()).else_(trimmed)


def _replaced(pattern: str, by: str, text: exp.Expr, dialect: str) -> exp.Expr:
    # DuckDB replaces the first match unless told otherwise; sqlglot tells Postgres by itself, the others replace all.
    every = {"modifiers": exp.Literal.string("g")} if dialect == "duckdb" else {}
    return exp.RegexpReplace(
        this=text, expression=exp.Literal.string(pattern), replacement=exp.Literal.string(by), **every
    )


def _without_zeros(text: exp.Expr, _: str) -> exp.Expr:
    """`007` is `7`; of nothing but zeros one stays."""
    cut = exp.Trim(this=text, expression=exp.Literal.string("0"), position="LEADING")
    only_zeros = exp.and_(
        exp.EQ(this=cut.copy(), expression=exp.Literal.string("")),
        exp.NEQ(this=text.copy(), expression=exp.Literal.string("")),
    )
    return exp.case().when(only_zeros, exp.Literal.string("0")).else_(cut)


_DO: dict[Word, Callable[[exp.Expr, str], exp.Expr]] = {
    "upper": lambda text, _: exp.func("UPPER", text),
    "lower": lambda text, _: exp.func("LOWER", text),
    "collapse_spaces": partial(_replaced, f"[{BLANKS}]+", " "),
    "remove_spaces": partial(_replaced, f"[{BLANKS}]+", ""),
    "remove_hyphens": lambda text, _: exp.func("REPLACE", text, exp.Literal.string("-"), exp.Literal.string("")),
    "strip_leading_zeros": _without_zeros,
}
