"""Names that can name an op: of steps, and of tools. What cannot gets another one, and no two get the same."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable

LONGEST = 100
"""Longer names do not fit the titles that Dagster shows."""
RESERVED = frozenset(
    {"arg_dict", "bool", "conf", "config", "context", "dict", "float", "input", "input_arg_dict", "int", "meta"}
    | {"output", "output_arg_dict", "str", "type"}
)
"""What Dagster refuses as a name beside Python's keywords. A test compares the set with Dagster's own."""

_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_OTHERS = re.compile(r"[^A-Za-z0-9_]+")
_ROOM = len("_99999")


def problem_of(name: str) -> str | None:
    """Why a word cannot name an op; None if it can."""
    if not name:
        return "is empty"
    if len(name) > LONGEST:
        return f"has {len(name)} characters"
    if _PLAIN.fullmatch(name) is None:
        return "has other characters"
    if name in RESERVED or keyword.iskeyword(name):
        return "is reserved"
    return None


def suggestion(word: str, noun: str = "step") -> str:
    """The nearest name that is allowed. `noun` says what it is the name of, where the word alone does not do."""
    plain = _OTHERS.sub("_", word[: LONGEST - len(noun) - 1]).strip("_") or noun
    return plain if problem_of(plain) is None else f"{plain}_{noun}"


def names_apart(words: Iterable[str], noun: str = "step") -> dict[str, str]:
    """A name for each word and no name twice: a word that can be a name is, the others get the nearest free one."""
    distinct = tuple(dict.fromkeys(words))
    taken = {word for word in distinct if problem_of(word) is None}
    names: dict[str, str] = {}
    last: dict[str, int] = {}
    for word in distinct:
        name = word if word in taken else suggestion(word, noun)
        if name != word and name in taken:
            stem = name[: LONGEST - _ROOM]
            while (name := f"{stem}_{last.get(stem, 1) + 1}") in taken:
                last[stem] = last.get(stem, 1) + 1
        if name != word:
            taken.add(name)
        names[word] = name
    return names
