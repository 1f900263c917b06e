"""One sheet of a workbook: which, how far it reaches, and which of its cells have no value to be had."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.delivery.workbook.container import (
    Attributes,
    bad_format,
    container,
    local,
    read_xml,
    sheets_in,
)

_NAMED = 5
_MOST_CELLS = 20_000_000
"""Cells of the rectangle that a sheet fills; libraries make room for all of them."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet that is safe to read."""

    name: str
    refused: Mapping[tuple[int, int], str]
    """By row and column, both from 0: what stands in a cell that has no value: an error, or a formula not computed."""


def sheet_of(part: Part) -> Sheet:
    """The sheet that a contract means, after a look at every cell of it.

    Raises:
        PortError: AMBIGUOUS_ARCHIVE if there are several and none is declared; BAD_FORMAT if the declared one is not
            there; TOO_LARGE if it reaches further than anybody fills; and as `container`.
    """
    stat = part.path.stat()
    return _looked_at(part, (stat.st_ino, stat.st_mtime_ns, stat.st_size))


@lru_cache(maxsize=4)
def _looked_at(part: Part, _bytes: tuple[int, int, int]) -> Sheet:
    """One look serves all readers of a landed copy: it takes longer than they do."""
    with container(part) as opened:
        for info in opened.infolist():
            if info.filename.endswith((".xml", ".rels")):
                _no_types(part, opened, info.filename)
        sheets = sheets_in(part, opened)
        name = _named(part, list(sheets))
        look = _Look()
        read_xml(part, opened, sheets[name], look.start, look.end)
        if look.rows * look.columns > _MOST_CELLS:
            raise PortError(
                "TOO_LARGE",
                f"{part.name}: sheet {shown(name)} reaches over {look.rows} rows and {look.columns} columns; "
                f"{_MOST_CELLS:,} cells are the most that is read",
                hint="have the vendor deliver text or Parquet, or take away what stands far outside the table",
            )
    return Sheet(name, look.refused)


def bad_number(part: Part, name: str) -> str | None:
    """In words, the first cell of a sheet that is stated to be a number and is none; None if there is none such.

    Asked only where a library gave up on a sheet: those do not say where.
    """
    found: list[str] = []
    look, text = _Look(), list[str]()

    def start(tag: str, attributes: Attributes) -> None:
        look.start(tag, attributes)
        text.clear()

    def end(tag: str) -> None:
        is_number = local(tag) == "v" and look.kind == "n"
        if is_number and not found and not _NUMBER.fullmatch("".join(text).strip()):
            found.append(f"row {look.row + 1}, column {look.column + 1} is {shown(''.join(text))}, stated as a number")
        look.end(tag)
        text.clear()

    with container(part) as opened:
        read_xml(part, opened, sheets_in(part, opened)[name], start, end, text.append)
    return found[0] if found else None


def _named(part: Part, names: list[str]) -> str:
    if part.form.sheet is not None:
        if part.form.sheet not in names:
            raise bad_format(part, f"it has no sheet {shown(part.form.sheet)}; it has {_few(names)}")
        return part.form.sheet
    if len(names) != 1:
        raise PortError(
            "AMBIGUOUS_ARCHIVE",
            f"{part.name} has {len(names)} sheets, and its contract names none: {_few(names)}",
            hint="name the one that is data in `sheet` of the file contract",
        )
    return names[0]


def _few(names: list[str]) -> str:
    return (", ".join(shown(name) for name in names[:_NAMED]) or "none") + (", ..." if len(names) > _NAMED else "")


def _no_types(part: Part, opened: zipfile.ZipFile, member: str) -> None:
    read_xml(part, opened, member, lambda _tag, _attributes: None)


class _Look:
    """Walks over the cells of a sheet."""

    def __init__(self) -> None:
        self.rows = self.columns = 0
        self.refused: dict[tuple[int, int], str] = {}
        self.row = self.column = -1
        self.kind, self._formula, self._value = "", False, False

    def start(self, tag: str, attributes: Attributes) -> None:
        match local(tag):
            case "row":
                stated = attributes.get("r", "")
                self.row = int(stated) - 1 if stated.isdigit() and len(stated) < 8 else self.row + 1  # noqa: PLR2004
                self.column = -1
            case "c":
                at = _CELL.fullmatch(attributes.get("r", ""))
                if at is not None:
                    self.row, self.column = int(at[2]) - 1, _number(at[1])
                else:
                    self.column += 1
                self.kind, self._formula, self._value = attributes.get("t", "n"), False, False
            case "f":
                self._formula = True
            case "v" | "is":
                self._value = True

    def end(self, tag: str) -> None:
        if local(tag) != "c" or not (self._value or self._formula):
            return
        self.rows, self.columns = max(self.rows, self.row + 1), max(self.columns, self.column + 1)
        if self.kind == "e":
            self.refused[self.row, self.column] = "an error of the spreadsheet"
        elif not self._value:
            self.refused[self.row, self.column] = "a formula that was never computed"


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1
