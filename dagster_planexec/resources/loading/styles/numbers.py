"""Numbers as their style declares them, as DuckDB expressions over the text of a cell; what would be rounded is NULL.

A style is two patterns, one for numbers and one for those below zero. Where it is no plain number, the digits are taken
out of the text and put together again, as text: no value is computed before the one cast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dagster_planexec.resources.loading.styles.sql import BLANKS, filled, literal, one_of
from dagster_planexec.world.ingest import NumberStyle, TextColumn

_GAP = "[ \t\u00a0\u202f]?"
"""Between a number and its currency sign, or CR: one blank at most."""
_PRECISE = 99
"""The exponents that are unfolded lie between this and its negative; no column holds more digits than 38."""


def number(column: TextColumn, text: str) -> str:
    """The value of a cell; NULL if it is empty, is not written as declared, or does not fit the column's type."""
    style, kind = column.number, column.sql_type
    plain = style.negatives == ("minus",) and not (style.currency_signs or style.exponent or style.minor_units)
    parts = []
    if style.zeros:
        parts.append(f"when {filled(text)} in {one_of(style.zeros)} then cast(0 as {kind})")
    if style.decimal_mark == "." and "minus" in style.negatives and not style.minor_units:
        # Most cells are what the number is written as. That is of any style, and told in half the time of a pattern.
        cast = f"try_cast({text} as {kind})"
        parts.append(f"when cast({cast} as varchar) = {text} then {cast}")
    if plain:
        # The cast alone would take E notation and underscores, and would round; the style admits neither.
        above, below = _patterns(column, column.scale)
        digits = _dotted(style, text)
        parts.append(f"when regexp_full_match({text}, {_either(above, below)}) then try_cast({digits} as {kind})")
    else:
        above, below = _patterns(column, None if style.exponent else column.scale)
        digits = _digits(column, text)
        parts.append(f"when regexp_full_match({text}, {_either(above)}) then try_cast({digits} as {kind})")
        if below:
            minus = f"try_cast('-' || {digits} as {kind})"  # the lowest integer has no positive twin
            parts.append(f"when regexp_full_match({text}, {_either(below)}) then {minus}")
    return f"case {' '.join(parts)} end"


def written(column: TextColumn, text: str) -> str:
    """The condition that a cell is written as declared, whether or not its value fits the column's type."""
    above, below = _patterns(column, None)
    return f"regexp_full_match({text}, {_either(above, below)})"


def _patterns(column: TextColumn, scale: int | None) -> tuple[list[str], list[str]]:
    """Patterns of numbers, and of those that are written as below zero, with at most `scale` decimals (None: any)."""
    signs = sorted(column.number.currency_signs, key=len, reverse=True)
    above, below = _wrappings(column.number)
    return list(_signed(column, scale, signs, above)), list(_signed(column, scale, signs, below))


def _signed(column: TextColumn, scale: int | None, signs: list[str], around: list[tuple[str, str]]) -> Iterator[str]:
    bare, strict = _unsigned(column, scale), _unsigned(column, scale, begins_with_digit=True)
    sign = "(?:" + "|".join(re.escape(one) for one in signs) + ")"
    for before, behind in around:
        yield f"{before}{bare}{behind}"
        if signs:
            # `Rs.50` is fifty to whoever declares `Rs`: with a sign, a number begins with a digit.
            yield f"{before}{sign}{_GAP}{strict}{behind}"
            yield f"{before}{strict}{_GAP}{sign}{behind}"
            if before or behind:
                yield f"{sign}{_GAP}{before}{strict}{behind}"
                yield f"{before}{strict}{behind}{_GAP}{sign}"


def _wrappings(style: NumberStyle) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """What stands around a number, and around one below zero."""
    above, below = [("", "")], []
    if "minus" in style.negatives:
        above.append((r"\+", ""))
        below.append(("-", ""))
    if "trailing_minus" in style.negatives:
        above.append(("", r"\+"))
        below.append(("", "-"))
    if "parentheses" in style.negatives:
        below.append((r"\(", r"\)"))
    if "credit" in style.negatives:
        above.append(("", f"{_GAP}[dD][rR]"))
        below.append(("", f"{_GAP}[cC][rR]"))
    return above, below


def _unsigned(column: TextColumn, scale: int | None, *, begins_with_digit: bool = False) -> str:
    """The pattern of the digits."""
    style, whole = column.number, _whole(column.number)
    pattern = whole
    # An integer may have decimals that its exponent takes up: spreadsheets write 120000 as 1.2E+05.
    if (column.type == "decimal" or style.exponent) and not style.minor_units and scale != 0:
        mark = re.escape(style.decimal_mark)
        decimals = f"{mark}[0-9]" + ("+" if scale is None else f"{{1,{scale}}}")
        pattern = f"(?:{whole}(?:{decimals})?" + (")" if begins_with_digit else f"|{decimals})")
    return pattern + ("(?:[eE][+-]?[0-9]+)?" if style.exponent else "")


def _whole(style: NumberStyle) -> str:
    if not style.thousands:
        return "[0-9]+"
    mark = re.escape(style.thousands)
    if style.grouping == "indian":
        return f"(?:[0-9]{{1,2}}(?:{mark}[0-9]{{2}})*{mark}[0-9]{{3}}|[0-9]+)"
    return f"(?:[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+|[0-9]+)"


def _either(*patterns: list[str]) -> str:
    every = "|".join(one for some in patterns for one in some)
    return literal(f"[{BLANKS}]*(?:{every})[{BLANKS}]*")


def _dotted(style: NumberStyle, digits: str) -> str:
    """The same digits without marks between thousands, and with a dot."""
    if style.thousands:
        digits = f"replace({digits}, {literal(style.thousands)}, '')"
    return digits if style.decimal_mark == "." else f"replace({digits}, {literal(style.decimal_mark)}, '.')"


def _digits(column: TextColumn, text: str) -> str:
    """The digits of a cell that is known to be written as declared, as text that a cast reads."""
    style = column.number
    signs = sorted(style.currency_signs, key=len, reverse=True)
    before = "|".join([r"[-+( \t\x{a0}\x{202f}]", *(re.escape(sign) for sign in signs)])
    mark = re.escape(style.decimal_mark)
    found = f"{_whole(style)}(?:{mark}[0-9]+)?|{mark}[0-9]+"
    taken = f"^(?:{before})*({found})(?:[eE]([+-]?[0-9]+))?"
    if style.exponent:
        return _unfolded(column, text, taken)
    digits = _dotted(style, f"regexp_extract({text}, {literal(taken)}, 1)")
    if style.minor_units:
        padded = f"repeat('0', {style.minor_units}) || {digits}"
        return f"left({padded}, -{style.minor_units}) || '.' || right({padded}, {style.minor_units})"
    return digits


def _unfolded(column: TextColumn, text: str, taken: str) -> str:
    """The digits with their exponent worked in: `1.5E-3` is `0.0015`. NULL if they are more than the column holds."""
    mantissa = _dotted(column.number, f"regexp_extract({text}, {literal(taken)}, 1)")
    exponent = f"regexp_extract({text}, {literal(taken)}, 2)"
    # An exponent of many digits is none that a column could hold, and is never unfolded.
    bounded = f"try_cast(case {exponent} when '' then '0' else {exponent} end as integer)"
    parts = (
        f"{{'w': split_part({mantissa}, '.', 1), 'f': split_part({mantissa}, '.', 2), "
        f"'x': case when abs({bounded}) <= {_PRECISE} then {bounded} end}}"
    )
    point = "(length(p.w) + p.x)"
    moved = (
        f"case when p.x is null then null "
        f"when {point} <= 0 then '0.' || repeat('0', -{point}) || p.w || p.f "
        f"when p.x >= length(p.f) then p.w || p.f || repeat('0', p.x - length(p.f)) "
        f"else left(p.w || p.f, {point}) || '.' || substr(p.w || p.f, {point} + 1) end"
    )
    decimals = f"greatest(length(p.f) - p.x, 0) <= {column.scale if column.type == 'decimal' else 0}"
    return f"(list_transform([{parts}], lambda p: case when {decimals} then {moved} end)[1])"
