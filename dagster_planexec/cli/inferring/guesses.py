"""What the cells of a column seem to be: words of a column's contract, each with the reason for it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

NULL_WORDS = ("NULL", "null", "N/A", "n/a", "NA", "None", "-", "#N/A")
FORMATS = (
    "%Y-%m-%d", "%Y%m%d", "%Y/%m/%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d/%m/%y", "%m/%d/%y", "%d-%b-%Y", "%d %b %Y", "%b %d, %Y",
    "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S%z",
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S",
)  # fmt: skip
"""Date formats that are tried. Two that both read every cell are left for a person to choose from."""
DATES = ("date", "day", "datum", "period")
"""What columns of dates are called."""
_NUMBER = re.compile(r"[0-9][0-9.,' \u2019\u00a0\u202f]*(?:[eE][+-]?[0-9]+)?|[.,][0-9]+")
_MARKS = " '\u2019\u00a0\u202f"
_CREDIT = re.compile(r"\s*(?:CR|DR)\Z", re.IGNORECASE)


@dataclass(slots=True)
class Guess:
    """What a column seems to be."""

    words: dict[str, Any]
    """Words of the contract."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Word to why it is guessed, or why it is not."""


def guess_column(name: str, header: str, cells: Sequence[str]) -> Guess:
    """The column of a table, from the cells of a sample.

    Args:
        name: Its name in the table.
        header: Its header in the file, untrimmed.
        cells: Its cells.
    """
    filled = [cell.strip() for cell in cells if cell.strip()]
    nulls = tuple(word for word in NULL_WORDS if word in filled)
    values = [value for value in filled if value not in nulls]
    guess = Guess({"name": name, **({"headers": [header.strip()]} if header.strip() != name else {})})
    # 20260301 is a number as well; what a column is called decides.
    is_dated = any(word in name for word in DATES)
    for typed in (_as_date, _as_number) if is_dated else (_as_number, _as_date):
        found = typed(values)
        if found is not None:
            guess.words |= {"type": found.words["type"], **found.words}
            guess.reasons |= {"type": f"all {len(values)} filled cells read so", **found.reasons}
            break
    else:
        guess.words["type"] = "text"
        guess.reasons["type"] = "no number and no date format reads every cell" if values else "no cell is filled"
    if nulls:
        guess.words["nulls"] = list(nulls)
        guess.reasons["nulls"] = f"{len(filled) - len(values)} cells hold {' or '.join(map(repr, nulls))}"
    empty = len(cells) - len(values)
    if empty:
        guess.words["nullable"] = True
        guess.reasons["nullable"] = f"{empty} of {len(cells)} cells are empty"
    return guess


def _as_date(values: Sequence[str]) -> Guess | None:
    if not values:
        return None
    fits = [form for form in FORMATS if all(_is_date(value, form) for value in values)]
    if not fits:
        return None
    guess = Guess({"type": "date"})
    orders = {_order(form) for form in fits}
    if len(orders) > 1:
        guess.reasons["formats"] = f"NOT DECLARED: every cell can be read as {' and as '.join(fits)}; ask the vendor"
    else:
        guess.words["formats"] = [fits[0]]
        guess.reasons["formats"] = f"all {len(values)} cells read so, e.g. {values[0][:40]!r}"
    return guess


def _order(form: str) -> str:
    return "".join(c for c in form if c in "dmbYy").replace("b", "m").replace("y", "Y")


def _is_date(value: str, form: str) -> bool:
    try:
        datetime.strptime(value, form)  # noqa: DTZ007 - whether it can be read, not when it was
    except ValueError:
        return False
    return True


def _as_number(values: Sequence[str]) -> Guess | None:
    """A number, if every cell is one in one style. A leading zero makes a key of it, not a number."""
    if not values:
        return None
    bare, words, reasons = _bared(values)
    if bare is None or any(re.match(r"0[0-9]", number) for number in bare):
        return None
    style = _style(bare)
    if style is None:
        return None
    marks, why = style
    reasons |= {word: f"e.g. {max(values, key=len)[:40]!r}" for word in marks} | why
    decimal_mark = marks.get("decimal_mark", ".")
    plain = [number.lower().partition("e")[0].replace(marks.get("thousands", "") or "\0", "") for number in bare]
    decimals = max(len(number.partition(decimal_mark)[2]) for number in plain)
    if any("e" in number.lower() for number in bare):
        words["exponent"], reasons["exponent"] = True, "some cells are written like 1.5E-7"
        behind = [len(number.partition(decimal_mark)[2]) for number in plain]
        decimals = max(places + _shift(number) for places, number in zip(behind, bare, strict=True))
    if decimals == 0 and not marks and not words and not reasons:
        return Guess({"type": "integer"})
    digits = max(len(number.partition(decimal_mark)[0]) for number in plain)
    words |= {"type": "decimal", "scale": min(max(decimals, 0), 18), **marks}
    reasons["scale"] = f"no cell has more than {decimals} decimals"
    if digits + words["scale"] > 18:  # noqa: PLR2004 - the default of `precision`
        words["precision"] = 38
    return Guess(words, reasons)


def _bared(values: Sequence[str]) -> tuple[list[str] | None, dict[str, Any], dict[str, str]]:
    """The numbers without signs; the words for the signs that were taken off."""
    bare: list[str] = []
    negatives: dict[str, str] = {}
    signs: set[str] = set()
    for value in values:
        text = value
        if text.startswith("(") and text.endswith(")"):
            text = text[1:-1].strip()
            negatives["parentheses"] = value
        if _CREDIT.search(text):
            text = _CREDIT.sub("", text)
            negatives["credit"] = value
        if text.endswith("-"):
            text = text[:-1].strip()
            negatives["trailing_minus"] = value
        text = text.lstrip("+-").strip()
        while text and unicodedata.category(text[0]) == "Sc":
            signs.add(text[0])
            text = text[1:].strip()
        while text and unicodedata.category(text[-1]) == "Sc":
            signs.add(text[-1])
            text = text[:-1].strip()
        text = text.lstrip("+-")
        if _NUMBER.fullmatch(text) is None:
            return None, {}, {}
        bare.append(text)
    words: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    if negatives:
        words["negatives"] = ["minus", *negatives]
        reasons["negatives"] = f"e.g. {next(iter(negatives.values()))[:40]!r}"
    if signs:
        words["currency_signs"] = sorted(signs)
        reasons["currency_signs"] = "they stand beside numbers, and say nothing of the currency"
    return bare, words, reasons


def _style(numbers: Sequence[str]) -> tuple[dict[str, str], dict[str, str]] | None:
    """Thousands and decimal mark of numbers without signs."""
    mantissas = [number.lower().partition("e")[0] for number in numbers]
    other = {mark for number in mantissas for mark in number if mark in _MARKS}
    if len(other) > 1:
        return None
    commas = [number for number in mantissas if "," in number]
    dots = [number for number in mantissas if "." in number]
    thousands = next(iter(other), "")
    if commas and dots:
        last = {max(number.rfind(","), number.rfind(".")) == number.rfind(",") for number in commas if "." in number}
        comma_is_decimal = last == {True} if last else not _all_threes(commas, ",")
        if len(last) > 1 or thousands:
            return None
        return _marks(*((".", ",") if comma_is_decimal else (",", "."))), {}
    lone, mark = (commas, ",") if commas else (dots, ".")
    if not lone or not _all_threes(lone, mark):
        return _marks(thousands, mark if lone else "."), {}
    if any(number.count(mark) > 1 for number in lone):
        return _marks(mark, "." if mark == "," else ","), {}
    why = f"AMBIGUOUS: {lone[0][:40]!r} may be whole thousands or three decimals; ask the vendor"
    return (_marks(",", "."), {"thousands": why}) if mark == "," else (_marks("", "."), {"decimal_mark": why})


def _marks(thousands: str, decimal_mark: str) -> dict[str, str]:
    found = {"thousands": thousands, "decimal_mark": decimal_mark}
    return {word: mark for word, mark in found.items() if mark != {"thousands": "", "decimal_mark": "."}[word]}


def _all_threes(numbers: Sequence[str], mark: str) -> bool:
    return all(re.fullmatch(rf"[0-9]{{1,3}}(?:{re.escape(mark)}[0-9]{{3}})+", number) for number in numbers)


def _shift(number: str) -> int:
    exponent = number.lower().partition("e")[2]
    return max(-int(exponent), 0) if exponent else 0
