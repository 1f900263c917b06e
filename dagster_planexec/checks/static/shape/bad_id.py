"""An id that cannot name an op."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted

LONGEST = 100
"""Longer names do not fit the titles that Dagster shows."""
RESERVED = frozenset(
    {"arg_dict", "bool", "conf", "config", "context", "dict", "float", "input", "input_arg_dict", "int", "meta"}
    | {"output", "output_arg_dict", "str", "type"}
)
"""What Dagster refuses as a name beside Python's keywords. A test compares the set with Dagster's own."""

_PLAIN = re.compile(r"[A-Za-z0-9_]+")


def bad_id(proposal: Proposal) -> Iterator[StaticFinding]:
    """A step's id names an op: letters, digits and underscores only, and no word that Python or Dagster reserves."""
    for view in proposal.steps:
        problem = _problem(view.id)
        if problem is not None:
            yield StaticFinding(
                "bad-id",
                view.id,
                "id",
                f"1 to {LONGEST} of A-Z a-z 0-9 _, not reserved",
                f"{quoted(view.id)} {problem}",
                f"write {suggestion(view.id)!r}",
            )


def suggestion(text: str) -> str:
    """The nearest id that is allowed."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", text[: LONGEST - len("_step")]).strip("_") or "step"
    return plain if _problem(plain) is None else f"{plain}_step"


def _problem(text: str) -> str | None:
    if not text:
        return "is empty"
    if len(text) > LONGEST:
        return f"has {len(text)} characters"
    if _PLAIN.fullmatch(text) is None:
        return "has other characters"
    if text in RESERVED or keyword.iskeyword(text):
        return "is reserved"
    return None
