"""What a static rule is and what it says: findings with code, step, field, both values and a remedy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Literal, Protocol, TypeVar

Subject = TypeVar("Subject")
_Read_contra = TypeVar("_Read_contra", contravariant=True)
Severity = Literal["error", "warning"]

MAX_FINDINGS = 100
"""Findings of one rule at most. A plan that needs more has been refused long before."""
_SHOWN = 80
_LONGEST = 300
_COMPARED = 200


@dataclass(frozen=True, slots=True)
class AddDependency:
    """A dependency that a step's own reference says already. Ids as they stand in the plan."""

    step: str
    on: str


@dataclass(frozen=True, slots=True)
class StaticFinding:
    """One thing that is wrong with a plan, with where it stands and the next thing to do. Plain, bounded text."""

    code: str
    """The rule's name with dashes, e.g. `unknown-tool`."""
    step: str | None
    """The step's id; None if it is about the plan as a whole."""
    field: str | None
    """The place in the step or plan, e.g. `args.sources[0]` or `depends_on[1]`."""
    expected: str | None
    seen: str | None
    hint: str | None
    severity: Severity = "error"
    arg: str | None = None
    """The top-level argument it is about, exactly; for programs, `field` is for people."""
    ref: str | None = None
    """The id of the step that is referred to or depended on, exactly."""
    fix: AddDependency | None = None
    """What code can do about it without changing what the plan means; see `checks.static.edits`."""

    def __post_init__(self) -> None:
        for name in ("step", "field", "expected", "seen", "hint", "arg", "ref"):
            text = getattr(self, name)
            if text is not None:
                shown = shown_name(text) if name in {"step", "field"} else _printable(text)
                object.__setattr__(self, name, shown)

    def as_json(self) -> dict[str, str | None]:
        """The finding as documents show it; how code would correct it shows in the plan it makes."""
        return {name: value for name, value in asdict(self).items() if name != "fix"}


class Rule(Protocol[_Read_contra]):
    """One rule: a function in a file of its own name. Its docstring is what people and the planner are told."""

    __name__: str

    def __call__(self, subject: _Read_contra, /) -> Iterator[StaticFinding]:
        """Everything in the subject that breaks the rule, in the order of the plan."""


def findings_of(rule: Rule[Subject], subject: Subject) -> Iterator[StaticFinding]:
    """A rule's findings, bounded; one more says so if there are too many."""
    found = rule(subject)
    yield from islice(found, MAX_FINDINGS)
    if next(found, None) is not None:
        yield StaticFinding(
            code_of(rule), None, None, f"at most {MAX_FINDINGS} findings", "more of the same", "correct these first"
        )


def code_of(rule: Rule[Subject]) -> str:
    """The rule's code: its name with dashes."""
    return rule.__name__.replace("_", "-")


def quoted(value: object) -> str:
    """Foreign text as a bounded literal: no control characters, no line breaks, at most about 80 characters."""
    if isinstance(value, str):
        return f"{value!a}" if len(value) <= _SHOWN else f"{value[:_SHOWN]!a}... ({len(value)} characters)"
    if isinstance(value, dict | list | tuple):
        return f"{_NOUNS[type(value)]} of {len(value)}" if _is_large(value) else _cut(ascii(value))
    return _cut(ascii(value))


def shown_name(text: str) -> str:
    """A name as it is if it is plain and short, else quoted."""
    plain = text.isascii() and text.isprintable() and 0 < len(text) <= _SHOWN
    return text if plain else quoted(text)


def listed(names: Iterable[str], *, limit: int = 12) -> str:
    """Names as one bounded line; says how many were left out."""
    known = tuple(names)
    more = f" and {len(known) - limit} more" if len(known) > limit else ""
    return (", ".join(shown_name(name) for name in known[:limit]) or "none") + more


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one most likely means, or None if none is near."""
    if len(word) > _SHOWN:
        return None
    return next(iter(get_close_matches(word, list(islice(known, _COMPARED)), n=1, cutoff=0.6)), None)


_NOUNS = {dict: "object", list: "list", tuple: "list"}


def _is_large(value: dict[str, object] | list[object] | tuple[object, ...]) -> bool:
    children = value.values() if isinstance(value, dict) else value
    return len(value) > 5 or any(  # noqa: PLR2004 - what still reads as one line
        isinstance(child, dict | list | tuple) or len(str(child)) > _SHOWN for child in children
    )


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _printable(text: str) -> str:
    clean = text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:_LONGEST])
    return clean if len(clean) <= _LONGEST else clean[: _LONGEST - 3] + "..."
