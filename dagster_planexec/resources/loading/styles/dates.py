"""Dates in their declared formats, in order, as DuckDB expressions over the text of a cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from zoneinfo import ZoneInfo

from dagster_planexec.errors import PortError
from dagster_planexec.resources.loading.styles.sql import BLANKS, filled, literal
from dagster_planexec.world.ingest import EXCEL_1900, EXCEL_1904, TextColumn

_FIRST_DAY, _LAST_DAY = "date '1900-01-01'", "date '9999-12-31'"
"""Days outside are typing errors: `%Y` reads the 26 of 02/03/26 as the year 26. `infinity`, a day to DuckDB, is
behind the last."""
_FIRST_SERIAL = 61
"""Day numbers below it are refused: two calendars disagree on those of 1900, and an empty date is written as 0 or 1."""
_DAY_ZERO = {EXCEL_1900: "date '1899-12-30'", EXCEL_1904: "date '1904-01-01'"}
_WIDTHS = {"%Y": 4, "%y": 2, "%m": 2, "%d": 2, "%j": 3, "%H": 2, "%I": 2, "%M": 2, "%S": 2, "%f": 6}
"""Digits of a directive where no separator says where it ends."""
_DIRECTIVE = re.compile("%[A-Za-z]")
_TIGHT = re.compile(f"(?:{'|'.join(_WIDTHS)})(?:[0-9]|{'|'.join(_WIDTHS)})|[0-9](?:{'|'.join(_WIDTHS)})")
_OFFSET = r"[+-](?:0[0-9]|1[0-4])(?::?[0-5][0-9])?"


def day(column: TextColumn, text: str) -> str:
    """The day of a cell; NULL if none of the formats reads it.

    Raises:
        PortError: BAD_CONTRACT if a format cannot be followed, or there is no such zone.
    """
    days = [_checked(one, text) for one in _days(column, text)]
    return days[0] if len(days) == 1 else f"coalesce({', '.join(days)})"


def _days(column: TextColumn, text: str) -> Iterator[str]:
    for kind, formats in groupby(column.formats, _kind):
        match kind:
            case "plain":
                # One by one: a list would stop at `%d-%m-%Y`, which takes 12-08-20 for a day of the year 20.
                yield from (f"cast(try_strptime({text}, {literal(form)}) as date)" for form in formats)
            case "tight":
                for form in formats:
                    read = f"cast(try_strptime({text}, {literal(form)}) as date)"
                    yield f"case when regexp_full_match({text}, {_in_full(form)}) then {read} end"
            case "offset":
                zone = _zone(column)
                yield from (_in_zone(column, form, zone, text) for form in formats)
            case _:
                # A fraction is the time of that day, which other formats drop too.
                number = f"regexp_extract({filled(text)}, '^([0-9]{{1,7}})([.][0-9]+)?$', 1)"
                serial = f"try_cast({number} as integer)"
                yield f"case when {serial} >= {_FIRST_SERIAL} then {_DAY_ZERO[kind]} + {serial} end"


def _kind(form: str) -> str:
    if form in _DAY_ZERO:
        return form
    if "%z" in form or "%Z" in form:
        return "offset"
    return "tight" if _TIGHT.search(form) else "plain"


def _in_full(form: str) -> str:
    """The pattern of a format in which digits follow digits: 2026111 is 1 November or 11 January, so it is neither."""
    parts, last = [], 0
    for found in _DIRECTIVE.finditer(form):
        parts.append(_verbatim(form[last : found.start()]))
        last, width = found.end(), _WIDTHS.get(found[0])
        if width is None:
            parts.append(".+")
        elif _follows(form, found.start()) or _goes_on(form, found.end()):
            parts.append(f"[0-9]{{{width}}}")
        else:
            parts.append("[0-9]+")
    parts.append(_verbatim(form[last:]))
    return literal(f"(?s)[{BLANKS}]*{''.join(parts)}[{BLANKS}]*")


def _goes_on(form: str, at: int) -> bool:
    return form[at : at + 1].isdigit() or form[at : at + 2] in _WIDTHS


def _follows(form: str, at: int) -> bool:
    return form[at - 1 : at].isdigit() or form[max(0, at - 2) : at] in _WIDTHS


def _verbatim(text: str) -> str:
    r"""What stands between directives; DuckDB takes a run of blanks for any other."""
    return r"\s+".join(re.escape(part) for part in re.split(r"\s+", text, flags=re.ASCII))


def _in_zone(column: TextColumn, form: str, zone: str, text: str) -> str:
    if "%Z" in form or not form.endswith("%z") or form.count("%z") > 1:
        raise PortError(
            "BAD_CONTRACT",
            f"column {column.name!r} declares the date format {form[:80]!r}: an offset is %z, and ends the format",
            hint="names of zones (%Z) mean different offsets to different people; declare the format with %z",
        )
    # DuckDB takes +99:00 for an offset, and the Z of UTC for none.
    bounded = f"regexp_full_match({text}, {literal(f'(?s).*(?:[zZ]|{_OFFSET})[{BLANKS}]*')})"
    numeric = f"regexp_replace({text}, '[zZ]([{BLANKS}]*)$', '+00:00')"
    if _TIGHT.search(form):
        bounded += f" and regexp_full_match({text}, {_in_full(form)})"
    at = f"timezone({literal(zone)}, try_strptime({numeric}, {literal(form)}))"
    return f"case when {bounded} then cast({at} as date) end"


def _zone(column: TextColumn) -> str:
    try:
        return ZoneInfo(column.zone).key
    except (ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise _no_zone(column) from error
    except KeyError as error:
        raise _no_zone(column) from error


def _no_zone(column: TextColumn) -> PortError:
    return PortError(
        "BAD_CONTRACT",
        f"column {column.name!r} declares the zone {column.zone[:60]!r}, which there is not",
        hint="name an IANA zone, such as Europe/London",
    )


def _checked(found: str, text: str) -> str:
    # `epoch` is a day to DuckDB in any format; it is the only one of its words that lies between the two bounds.
    meant = f"({found} <> date '1970-01-01' or not contains(lower({text}), 'epoch'))"
    return f"case when {found} between {_FIRST_DAY} and {_LAST_DAY} and {meant} then {found} end"
