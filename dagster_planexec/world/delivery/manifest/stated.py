"""What a manifest states, read from its bytes in bounded steps. What cannot be read as declared is BAD_MANIFEST."""

from __future__ import annotations

import csv
import decimal
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

from dagster_planexec.world.delivery.manifest.form import (
    MOST_BYTES,
    MOST_PARTS,
    ManifestForm,
    PartWords,
    Place,
    WholeWords,
)
from dagster_planexec.world.delivery.manifest.names import key_of, quoted, refuse

_EXACT = decimal.Context(prec=200, traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow])
_DIGITS = 15
"""Digits of a size or a count at most."""


@dataclass(frozen=True, slots=True)
class StatedPart:
    """One part as the manifest states it; None is not stated."""

    key: str
    size: int | None = None
    sha256: str | None = None
    md5: str | None = None
    rows: int | None = None
    amount: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Stated:
    """All that a manifest states. A total of the whole is stated, or the sum of what each part states."""

    parts: Mapping[str, StatedPart] | None
    """By key; None if it names no parts."""
    count: int | None
    """How many parts there are."""
    rows: int | None
    amount: Decimal | None
    period: str | None = None
    final: bool | None = None


def read_manifest(raw: bytes, form: ManifestForm, place: Place, key: str) -> Stated:
    """Read a manifest.

    Args:
        raw: Its bytes, all of them.
        form: How it is written.
        place: Where its parts may lie.
        key: Its own key, beside which its parts may lie.

    Raises:
        PortError: BAD_MANIFEST with what is wrong, and where.
    """
    if len(raw) > MOST_BYTES:  # first: of a longer one only so many bytes were read, which may end within a letter
        refuse(f"it has more than {MOST_BYTES:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(f"it is no UTF-8: byte {error.start} cannot be read")
    if not text.strip():
        refuse("it is empty")
    words, of_parts = _read(text, form)
    return _closed(_whole(words, form), _parts(of_parts, form, place, key))


_Item = Mapping[str, Any]
_Items = Iterator[tuple[str, Any]]
"""Where it stands, and the item: a name, or a mapping."""


def _read(text: str, form: ManifestForm) -> tuple[Any, _Items]:
    """What holds the words of the whole, and the items of the parts."""
    match form.format:
        case "json":
            document = _json(text)
            return document, _json_items(document, form)
        case "csv":
            rows = _csv(text, form.delimiter)
            if form.part is not None:
                return {}, ((f"line {line}", row) for line, row in rows)
            only = list(rows)[:2]
            if len(only) != 1:
                refuse(f"a control file has a header and one line below it; this one has {'more' if only else 'none'}")
            return only[0][1], iter(())
        case "lines":
            return {}, ((f"line {at}", line) for at, line in _lines(text))
        case "pairs":
            return _pairs(text, form.delimiter), iter(())


class _Number(str):
    """A JSON number as it stands there: it is never a float."""

    __slots__ = ()


def _json(text: str) -> Any:  # noqa: ANN401 - JSON
    try:
        return json.loads(
            text, parse_float=_Number, parse_int=_Number, parse_constant=_no_number, object_pairs_hook=_once
        )
    except RecursionError:
        refuse("it is nested too deeply to be read")
    except json.JSONDecodeError as error:
        refuse(f"it is no JSON: {error.msg} at line {error.lineno}, column {error.colno}")


def _no_number(text: str) -> NoReturn:
    refuse(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose members each stand there once: which of two was meant nobody can say."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        refuse(f"the member {quoted(next(name for name in names if names.count(name) > 1))} stands in one object twice")
    return found


def _json_items(document: Any, form: ManifestForm) -> _Items:  # noqa: ANN401 - JSON
    if form.part is None:
        return
    found = _at(document, form.parts_at) if form.parts_at else document
    if not isinstance(found, list):
        refuse(f"{quoted(form.parts_at) if form.parts_at else 'the document'} is no list of parts")
    for at, item in enumerate(found, 1):
        yield f"part {at}", item


def _csv(text: str, delimiter: str) -> Iterator[tuple[int, dict[str, str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    try:
        for row in reader:
            if not any(cell.strip() for cell in row):
                continue
            if header is None:
                header = [cell.strip() for cell in row]
                if len(set(header)) < len(header):
                    refuse("two of its columns have one name")
                continue
            if len(row) != len(header):
                refuse(f"line {reader.line_num} has {len(row)} fields, the header has {len(header)}")
            yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        refuse(f"line {reader.line_num} cannot be read: {str(error)[:80]}")


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start, number = 0, 0
    while start < len(text):  # one by one: two million empty lines are no two million strings
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += 1
        line = text[start:end].removesuffix("\r")
        start = end + 1
        if line.strip():
            yield number, line


def _pairs(text: str, delimiter: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for at, line in _lines(text):
        name, mark, value = line.partition(delimiter)
        if not mark:
            refuse(f"line {at} has no {delimiter!r} between a name and a value")
        if name.strip() in found:
            refuse(f"line {at} states {quoted(name.strip())} a second time")
        found[name.strip()] = value.strip()
        if len(found) > MOST_PARTS:
            refuse(f"it has more than {MOST_PARTS:,} lines")
    return found


def _at(value: Any, path: str) -> Any:  # noqa: ANN401 - JSON
    """What stands at a dotted path; None if nothing does. A member whose own name has dots is found as well."""
    if isinstance(value, Mapping) and path in value:
        return value[path]
    for name in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(name)
    return value


def _parts(items: _Items, form: ManifestForm, place: Place, key: str) -> dict[str, StatedPart] | None:
    if form.part is None:
        return None
    found: dict[str, StatedPart] = {}
    part_key = key_of(place, key, form.names)
    for where, item in items:
        if len(found) == MOST_PARTS:
            refuse(f"it names more than {MOST_PARTS:,} parts")
        part = _part(item, form.part, form, where)
        named = part_key(part.key, where)
        if named in found:
            refuse(f"{where} names {quoted(named)} a second time")
        found[named] = StatedPart(named, part.size, part.sha256, part.md5, part.rows, part.amount)
    if not found:
        refuse("it names no part")
    return found


def _part(item: Any, words: PartWords, form: ManifestForm, where: str) -> StatedPart:  # noqa: ANN401 - JSON
    if not words.name:
        if isinstance(item, _Number) or not isinstance(item, str):
            refuse(f"{where} is no name of a part")
        return StatedPart(item)
    if not isinstance(item, Mapping):
        refuse(f"{where} has no members; expected {quoted(words.name)} in it")
    name = _at(item, words.name)
    if isinstance(name, _Number) or not isinstance(name, str):
        refuse(f"{where} has no text under {quoted(words.name)}")
    return StatedPart(
        name,
        _count(item, words.size, where),
        _digest(item, words.sha256, 64, where),
        _digest(item, words.md5, 32, where),
        _count(item, words.rows, where),
        _amount(item, words.amount, form, where),
    )


def _whole(words: Any, form: ManifestForm) -> Stated:  # noqa: ANN401 - JSON
    whole: WholeWords = form.whole
    period = _text(words, whole.period, "the manifest") if whole.period else None
    final = _text(words, whole.final, "the manifest").lower() in form.final_values if whole.final else None
    return Stated(
        None,
        _count(words, whole.parts, "the manifest"),
        _count(words, whole.rows, "the manifest"),
        _amount(words, whole.amount, form, "the manifest"),
        period,
        final,
    )


def _closed(whole: Stated, parts: dict[str, StatedPart] | None) -> Stated:
    """The whole with its parts; what both state must be the same."""
    if parts is None:
        return whole
    rows = [part.rows for part in parts.values() if part.rows is not None]
    amounts = [part.amount for part in parts.values() if part.amount is not None]
    count = len(parts)
    in_all = sum(rows) if rows else None
    total = Decimal(0)
    for amount in amounts:
        total = _EXACT.add(total, amount)
    sums = (whole.count, count), (whole.rows, in_all), (whole.amount, total if amounts else None)
    for what, (stated, added) in zip(("parts", "rows", "amount"), sums, strict=True):
        if stated is not None and added is not None and stated != added:
            refuse(f"it states {stated} as {what} of the whole, and its parts come to {added}")
    return Stated(
        parts, count, whole.rows if in_all is None else in_all, total if amounts else whole.amount, whole.period,
        whole.final,
    )  # fmt: skip


def _text(item: Any, word: str, where: str) -> str:  # noqa: ANN401 - JSON
    """A stated value as text. Numbers stand there as they were written; `true` is `true`."""
    found = _at(item, word)
    if isinstance(found, bool):
        return "true" if found else "false"
    if not isinstance(found, str) or not found.strip():
        refuse(f"{where} states nothing under {quoted(word)}")
    return found.strip()


def _count(item: Any, word: str, where: str) -> int | None:  # noqa: ANN401 - JSON
    if not word:
        return None
    text = _text(item, word, where)
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        refuse(f"{where} states {quoted(text)} under {quoted(word)}, which is no count")
    return int(text)


def _digest(item: Any, word: str, length: int, where: str) -> str | None:  # noqa: ANN401 - JSON
    if not word:
        return None
    text = _text(item, word, where).lower()
    if len(text) != length or set(text) - set("0123456789abcdef"):
        refuse(f"{where} states {quoted(text)} under {quoted(word)}, which is no digest of {length} hex digits")
    return text


def _amount(item: Any, word: str, form: ManifestForm, where: str) -> Decimal | None:  # noqa: ANN401 - JSON
    """The amount, exactly. A JSON number is written as JSON writes numbers, whatever the marks of texts."""
    if not word:
        return None
    text = _text(item, word, where)
    style = ManifestForm(form.format, whole=WholeWords(rows="x")) if isinstance(_at(item, word), _Number) else form
    if style.amount_style.fullmatch(text) is None:
        refuse(f"{where} states {quoted(text)} under {quoted(word)}, which is no amount as declared")
    plain = text.replace(style.thousands, "") if style.thousands else text
    return _EXACT.create_decimal(plain.replace(style.decimal_mark, "."))
