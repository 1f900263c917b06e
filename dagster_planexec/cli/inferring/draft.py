"""A first draft of a file contract from a sample, in which every guess is marked for a person."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dagster_planexec.cli.inferring.guesses import DATES, Guess, guess_column
from dagster_planexec.cli.inferring.seen import Sample
from dagster_planexec.cli.inferring.tails import trailers_of
from dagster_planexec.contract.file_contract import SUFFIXES
from dagster_planexec.journal.told.line import one_line

_CURRENCY = re.compile(r"[A-Z]{3}")
_MONEY = ("amount", "cost", "total", "net", "gross", "price", "charge", "betrag", "summe", "value")
_CURRENCIES = ("curr", "ccy", "wahr", "waehr", "devise", "divisa", "moneda", "valuta")
_USUAL = frozenset((
    "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "ILS", "INR", "JPY", "KRW",
    "MXN", "MYR", "NOK", "NZD", "PHP", "PLN", "RON", "SEK", "SGD", "THB", "TRY", "TWD", "USD", "ZAR",
))  # fmt: skip
"""Codes that stand for their currencies in a column whose header says nothing."""
_LONGEST_KEY = 3
_MOST_FOR_KEYS = 20_000
_LONGEST = 160
_HEADER = 200
"""Characters that a contract's header may have."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the draft."""

    name: str
    value: Any
    why: str = ""
    """Why it is guessed; empty for what is no guess."""


def draft_of(sample: Sample, name: str) -> tuple[list[Word], list[Guess]]:
    """The words of a contract and the guesses of its columns.

    Args:
        sample: What was read.
        name: The contract's name.
    """
    names, unsayable = _names(sample.header), _unsayable(sample.header)
    cells = list(zip(*sample.records, strict=True)) or [() for _ in names]
    headers = names if unsayable else sample.header
    columns = [guess_column(n, h, c) for n, h, c in zip(names, headers, cells, strict=True)]
    by_name: dict[str, Sequence[str]] = dict(zip(names, cells, strict=True))
    words = [Word("name", name), Word("version", "1"), *_framing(sample, unsayable)]
    meaning = list(_meaning(columns, by_name))
    return [*words, *_trailers(sample, columns, by_name), *meaning], columns


def as_yaml(sample: Sample, words: Sequence[Word], columns: Sequence[Guess]) -> str:
    """The draft as a person reads and edits it; every guess has its reason beside it, and stands in `unconfirmed`."""
    read = f"{len(sample.records):,} records" + ("" if sample.is_whole else ", the first of more")
    lines = [
        f"# A draft, made from {one_line(sample.name, _LONGEST)} ({read}).",
        "# Nothing loads by it while any of its words is unconfirmed.",
        "# Ask whoever makes the file. Correct or keep each word, then take it out of `unconfirmed`.",
        *(f"# {one_line(note, 600)}" for note in sample.notes),
    ]
    for word in words:
        lines.append(f"{word.name}: {_plain(word.value)}" + (f"  # GUESS: {_said(word.why)}" if word.why else ""))
        if word.name == "version":
            lines += ["unconfirmed:", *(f"  - {_plain(path)}" for path in guessed(words, columns))]
    lines.append("columns:")
    for column in columns:
        lines += [f"  - name: {_plain(column.words['name'])}"]
        for key, value in column.words.items():
            if key != "name":
                why = column.reasons.get(key)
                lines.append(f"    {key}: {_plain(value)}" + (f"  # GUESS: {_said(why)}" if why else ""))
        lines += [f"    # {key}: {_said(why)}" for key, why in column.reasons.items() if key not in column.words]
    return "\n".join(lines) + "\n"


def guessed(words: Sequence[Word], columns: Sequence[Guess]) -> list[str]:
    """The paths of everything that is guessed, or that could not even be guessed."""
    found = [word.name for word in words if word.why]
    for column in columns:
        name = column.words["name"]
        found += [f"columns.{name}.{key}" for key in column.reasons]
    return found


def as_document(sample: Sample, words: Sequence[Word], columns: Sequence[Guess]) -> dict[str, Any]:
    """The draft for programs: the contract, and why each word of it is guessed."""
    contract = {word.name: word.value for word in words} | {"columns": [column.words for column in columns]}
    reasons = {word.name: word.why for word in words if word.why}
    for column in columns:
        reasons |= {f"columns.{column.words['name']}.{key}": why for key, why in column.reasons.items()}
    return {
        "version": 1, "file": sample.name, "records": len(sample.records), "is_whole": sample.is_whole,
        "contract": contract | {"unconfirmed": guessed(words, columns)}, "guesses": reasons,
        "notes": list(sample.notes),
    }  # fmt: skip


def _unsayable(header: Sequence[str]) -> str:
    """Why no contract can tell these columns by their headers; empty if it can."""
    titles = [title.strip() for title in header]
    twice = next((title for title, count in Counter(titles).items() if count > 1), None)
    if "" in titles:
        return f"column {titles.index('') + 1} has no header, so columns are told by their place"
    if twice is not None:
        return f"two columns are called {twice[:60]!r}, so columns are told by their place"
    return "a header is too long, so columns are told by their place" if max(map(len, titles)) > _HEADER else ""


def _framing(sample: Sample, unsayable: str) -> Iterator[Word]:
    if not sample.name.endswith(tuple(SUFFIXES)) or sample.kind != "delimited":
        yield Word("format", sample.kind, "its first bytes are those of one")
        yield Word("compression", sample.compression, "its first bytes say so")
    if sample.kind != "delimited":
        if sample.sheet is not None:
            yield Word("sheet", sample.sheet, "the first of several")
        yield from _above(sample, unsayable)
        if sample.left_out:
            yield Word("other_columns", "ignore", "the notes say which are left out; new ones will be, too")
        return
    why = "every byte of the sample decodes so" if sample.encoding == "utf-8" else "see the note above"
    yield Word("encoding", sample.encoding, why)
    yield Word("delimiter", sample.delimiter, f"it makes {len(sample.header)} fields of almost every line")
    if sample.compression == "zip":
        yield Word("members", list(sample.members), "the members that seem to be data; write a pattern")
        if sample.ignored:
            yield Word("ignored_members", list(sample.ignored), "they seem to be none")
    yield from _above(sample, unsayable)
    if sample.odd:
        yield Word("quote", '"', f"{sample.odd} records have another number of fields than the header; look at them")


def _above(sample: Sample, unsayable: str) -> Iterator[Word]:
    if unsayable and sample.kind != "parquet":
        lines = 1 + sum(title.count("\n") for title in sample.header) if sample.kind == "delimited" else 1
        yield Word("header", value=False, why=unsayable)
        yield Word("skip_lines", sample.skipped + lines, "what stands above, and the header itself")
    elif sample.skipped:
        yield Word("skip_lines", sample.skipped, f"{sample.skipped} lines stand above what seems to be the header")


def _trailers(sample: Sample, columns: Sequence[Guess], cells: dict[str, Sequence[str]]) -> Iterator[Word]:
    found = list(trailers_of(sample.tail, [column.words for column in columns], cells))
    if found:
        yield Word("trailers", [rule for rule, _ in found], found[-1][1])


def _meaning(columns: Sequence[Guess], cells: dict[str, Sequence[str]]) -> Iterator[Word]:
    typed = {column.words["name"]: column.words["type"] for column in columns}
    key = _key(columns, cells)
    yield Word("key", key or [next(iter(typed))], "it is unique in the sample" if key else "NO column is unique; ask")
    money = [n for n, k in typed.items() if k == "decimal"] or [n for n, k in typed.items() if k == "integer"]
    named = [n for n in money if any(word in n for word in _MONEY)]
    amount = next(reversed(named or money), None)
    why = "the last number column that is named like money" if named else "the last number column"
    yield Word("amount", amount, why if amount is not None else "NO column holds numbers; ask how amounts are written")
    for column in columns:
        if column.words["name"] == amount and column.words["type"] == "integer":
            column.words |= {"type": "decimal", "scale": 0}
            column.reasons["scale"] = "no cell has decimals; if they are minor units, say minor_units"
    days = [n for n, kind in typed.items() if kind == "date"]
    dated = [n for n in days if any(word in n for word in DATES)] or days
    yield Word("date", dated[0] if dated else None, "the first date column" if dated else "no column holds dates")
    yield from _currency(columns, cells, amount)
    yield Word("unique_key", bool(key), "no key repeats in the sample" if key else "no column is unique")


def _currency(columns: Sequence[Guess], cells: dict[str, Sequence[str]], amount: str | None) -> Iterator[Word]:
    for name, values in cells.items():
        found = sorted({value.strip() for value in values})
        is_named = any(word in name for word in _CURRENCIES) and all(_CURRENCY.fullmatch(word) for word in found)
        if found and (is_named or _USUAL.issuperset(found)):
            if len(found) == 1:
                yield Word("currency", found[0], f"every cell of {name} says so")
            else:
                yield Word("currencies", dict.fromkeys(found, 2), f"{name} holds them; say the minor units of each")
            yield Word("currency_column", name, "its cells are three capital letters")
            return
    header = next((title for c in columns if c.words["name"] == amount for title in c.words.get("headers", ())), "")
    named = sorted(_USUAL.intersection(re.findall(r"\b[A-Z]{3}\b", header)))
    if len(named) == 1:
        yield Word("currency", named[0], f"the header {header[:60]!r} says so")
        return
    yield Word("currency", "XXX", "NOTHING says which; ISO 4217's word for none stands here until you do")


def _key(columns: Sequence[Guess], cells: dict[str, Sequence[str]]) -> list[str] | None:
    """The first columns that are filled and unique together: one, or the first two or three."""
    fit = [c.words["name"] for c in columns if c.words["type"] in {"text", "integer"} and not c.words.get("nullable")]
    rows = {name: [value.strip() for value in cells[name][:_MOST_FOR_KEYS]] for name in fit}
    for name in fit:
        if rows[name] and len(set(rows[name])) == len(rows[name]):
            return [name]
    for width in range(2, _LONGEST_KEY + 1):
        for start in range(len(fit) - width + 1):
            together = list(zip(*(rows[name] for name in fit[start : start + width]), strict=True))
            if together and len(set(together)) == len(together):
                return fit[start : start + width]
    return None


def _names(header: Sequence[str]) -> list[str]:
    """A table's column names, from headers of any kind; each once."""
    names: dict[str, None] = {}  # in order, and found at once among 100,000
    for number, title in enumerate(header, 1):
        plain = re.sub(r"[^a-z0-9]+", "_", _without_marks(title.lower())).strip("_")[:50].rstrip("_")
        if not plain or not plain[0].isalpha():
            plain = f"c{number}_{plain}".rstrip("_")
        once = plain
        while once in names:
            once = f"{once}_{number}"
        names[once] = None
    return list(names)


def _without_marks(title: str) -> str:
    """Letters as they are without accents and dots: `w\u00e4hrung` is `wahrung`."""
    split = unicodedata.normalize("NFKD", title.replace("\u00df", "ss"))
    return "".join(letter for letter in split if not unicodedata.combining(letter))


def _plain(value: Any) -> str:  # noqa: ANN401 - any word of the vocabulary
    """JSON, which is YAML: whatever a vendor wrote in a header stays one text, to the eye too."""
    said = json.dumps(value, ensure_ascii=False)
    return "".join(one if one.isprintable() or one == " " else f"\\U{ord(one):08x}" for one in said)


def _said(why: str | None) -> str:
    return one_line(why or "", 300)
