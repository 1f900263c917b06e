"""Which date formats make one whole day, and which zones there are."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from dagster_planexec.world.ingest import EXCEL_1900, EXCEL_1904

_YEARS, _MONTHS, _TIMES = ("%Y", "%y"), ("%m", "%b", "%B"), ("%H", "%I", "%M", "%S", "%f", "%p")
_KNOWN = frozenset({*_YEARS, *_MONTHS, "%d", "%j", "%z", *_TIMES})
_UNKNOWN_TO_DUCKDB = frozenset({"localtime"})
"""Names that Python's list of zones has, and that mean something else on each machine."""


def wrong_format(form: str) -> str | None:
    """Why a declared date format cannot be followed; None if it can."""
    if form in {EXCEL_1900, EXCEL_1904}:
        return None
    found = Counter(re.findall("%.?", form, re.DOTALL))
    unknown = next((one for one in found if one not in _KNOWN), None)
    if unknown is not None:
        return f"{unknown!r} is none of {', '.join(sorted(_KNOWN))}"
    twice = next((one for one, times in found.items() if times > 1), None)
    if twice is not None:
        return f"{twice} stands there twice"
    years, months = (sum(found[one] for one in some) for some in (_YEARS, _MONTHS))
    if years != 1:
        return "it has no year, or two (%Y or %y)"
    if (months, found["%d"], found["%j"]) not in {(1, 1, 0), (0, 0, 1)}:
        return "a day is one month (%m, %b or %B) and one day (%d), or the day of the year (%j)"
    if found["%z"] and not form.endswith("%z"):
        return "an offset (%z) ends the format"
    return None


@lru_cache(maxsize=256)
def is_zone(name: str) -> bool:
    """Whether there is such an IANA zone, the same on every machine."""
    from zoneinfo import available_timezones  # noqa: PLC0415 - it looks at hundreds of files

    return name == "UTC" or (name not in _UNKNOWN_TO_DUCKDB and name in available_timezones())
