"""An expectation suite: the JSON that Great Expectations saves, of which only what a warehouse can answer is taken.

Nothing here imports Great Expectations. What a suite says is judged when the task is built, in milliseconds; the
library is loaded where a table is looked at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn

from dagster_planexec.errors import PortError
from dagster_planexec.world.expectations.words import KWARGS, WHY_NOT
from dagster_planexec.world.local.regular import open_below
from dagster_planexec.world.suite import Expectation, Suite

MAX_SUITE_BYTES = 200_000
MAX_EXPECTATIONS = 100
_NUMBERS = frozenset({"min_value", "max_value", "value", "value_set", "sum_total"})
_OF_SUITE = frozenset({"name", "expectations", "meta", "id", "notes", "suite_parameters"})
_OF_EXPECTATION = frozenset({"type", "kwargs", "meta", "id", "notes", "description", "severity", "rendered_content"})


def suite_sha256(path: Path) -> str:
    """SHA-256 of a suite's file as it is now. Raises as `read_suite`."""
    return hashlib.sha256(_bytes_of(path)).hexdigest()


def read_suite(path: Path, *, sha256: str | None = None) -> Suite:
    """The suite in a file.

    Args:
        path: The file. A link is refused.
        sha256: The bytes that were admitted; None to take what is there.

    Raises:
        PortError: BAD_CONTRACT if it cannot be read or states something that a warehouse cannot answer; what is named
            says why. VALIDATION_ERROR if the bytes are not those that were admitted.
    """
    raw = _bytes_of(path)
    seen = hashlib.sha256(raw).hexdigest()
    if sha256 is not None and seen != sha256:
        raise PortError(
            "VALIDATION_ERROR",
            f"the suite changed since it was admitted: {path.name[:80]!r} has SHA-256 {seen[:12]}, "
            f"admitted was {sha256[:12]}",
            hint="run the month again: the new suite is admitted as a new attempt",
        )
    return parse_suite(raw, path.name)


def parse_suite(raw: bytes, file: str) -> Suite:
    """The suite in these bytes. Raises as `read_suite`; `file` is its name, for messages."""
    try:
        # Numbers keep the digits that were written: what a float would change of them is refused below.
        said = json.loads(raw.decode("utf-8"), parse_float=Decimal, parse_constant=_no_number)
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        _bad(file, f"is not JSON: {str(error)[:120]}")
    if not isinstance(said, dict) or not isinstance(said.get("name"), str) or not said["name"]:
        _bad(file, "is no suite: expected an object with `name` and `expectations`, as Great Expectations saves it")
    _known(file, "the suite", said, _OF_SUITE)
    if said.get("suite_parameters"):
        _bad(file, "has suite_parameters; expected what it states to be in it")
    listed = said.get("expectations")
    if not isinstance(listed, list) or not listed:
        _bad(file, "states no expectation: it would hold of every table")
    if len(listed) > MAX_EXPECTATIONS:
        _bad(file, f"has {len(listed)} expectations, of {MAX_EXPECTATIONS} at most")
    return Suite(said["name"], tuple(_expectation(file, one) for one in listed), hashlib.sha256(raw).hexdigest())


def _expectation(file: str, said: Any) -> Expectation:  # noqa: ANN401 - JSON
    if not isinstance(said, dict) or not isinstance(said.get("type"), str):
        _bad(file, "has an expectation without a type")
    kind = said["type"]
    _known(file, kind[:80], said, _OF_EXPECTATION)
    if kind in WHY_NOT:
        _bad(file, f"states {kind}: {WHY_NOT[kind]}")
    if kind not in KWARGS:
        _bad(file, f"states {kind[:80]!r}, which is not one of those that are answered as SQL; {_nearest(kind)}")
    if said.get("severity", "critical") != "critical":
        _bad(file, f"states {kind} with severity {str(said['severity'])[:40]!r}; a gate is open or shut")
    kwargs = said.get("kwargs")
    if not isinstance(kwargs, dict):
        _bad(file, f"states {kind} without kwargs")
    needed, more = KWARGS[kind]
    missing = sorted(needed - set(kwargs))
    if missing:
        _bad(file, f"states {kind} without {missing[0]}")
    unknown = sorted(set(kwargs) - needed - more)
    if unknown:
        _bad(file, f"states {kind} with {unknown[0][:60]!r}; it takes {', '.join(sorted(needed | more))}")
    for name, value in kwargs.items():
        _argument(file, kind, name, value)
    return Expectation(kind, json.dumps(kwargs, sort_keys=True, default=_number))


def _argument(file: str, kind: str, name: str, value: Any) -> None:  # noqa: ANN401 - JSON
    """Refuse what would be read otherwise than it was written."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict | list):
            _bad(file, f"states {kind} with {name} that is no plain value")
        if name == "mostly" and not (isinstance(one, int | Decimal) and 0 < one <= 1):
            _bad(file, f"states {kind} with mostly {str(one)[:40]}; expected a number above 0 and up to 1")
        if name == "value_set" and isinstance(one, str):
            continue  # a member that is text stays text, however many digits it has
        if name in _NUMBERS and not _survives(one):
            _bad(file, f"states {kind} with {name} {str(one)[:60]}, which a binary number does not hold to its last"
                 " digit; write fewer digits")  # fmt: skip


def _survives(value: Any) -> bool:  # noqa: ANN401 - JSON
    """Whether a number is the same after the library has made a float of it and the warehouse a decimal of that.

    Great Expectations keeps bounds as floats. The shortest text of a float is bound as DECIMAL, so 0.1 is compared as
    0.1; what has more digits than a float holds would be another number.
    """
    if isinstance(value, str):
        try:
            value = Decimal(value)
        except InvalidOperation:
            return True  # a date or a text
        if not value.is_finite():
            return False
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return True
    try:
        return Decimal(repr(float(value))) == Decimal(value)
    except OverflowError:
        return False


def _number(value: Any) -> float:  # noqa: ANN401 - json's hook
    assert isinstance(value, Decimal)  # noqa: S101 - nothing else is left that json does not know
    return float(value)


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _known(file: str, what: str, said: Mapping[str, Any], names: frozenset[str]) -> None:
    unknown = sorted(set(said) - names)
    if unknown:
        _bad(file, f"says {unknown[0][:60]!r} of {what}, which would be left unread")


def _nearest(kind: str) -> str:
    import difflib  # noqa: PLC0415 - only a wrong name pays for it

    close = difflib.get_close_matches(kind, KWARGS, 1, 0.5)
    return f"did you mean {close[0]}?" if close else "docs/expectations.md lists them"


def _bytes_of(path: Path) -> bytes:
    try:
        with open_below(path.parent, (path.name,)) as file:
            raw = file.read(MAX_SUITE_BYTES + 1)
    except OSError as error:
        raise PortError(
            "BAD_CONTRACT", f"the suite {path.name[:80]!r} cannot be read: {error.strerror or type(error).__name__}",
            hint="give the deliverable the path of a file that Great Expectations saved",
        ) from error  # fmt: skip
    if len(raw) > MAX_SUITE_BYTES:
        _bad(path.name, f"has more than {MAX_SUITE_BYTES} bytes")
    return raw


def _bad(file: str, what: str) -> NoReturn:
    raise PortError("BAD_CONTRACT", f"the suite {file[:80]!r} {what}", hint="correct the suite's file")
