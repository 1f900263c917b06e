"""The difference of two plans as a list of edits. Steps are matched by what they do, not by their ids alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from dagster_planexec.plan.digest import canonical_bytes, semantic_digest
from dagster_planexec.plan.model import Plan, Step, walk
from dagster_planexec.plan.reference import Reference, resolve

_ALIKE = 0.5
"""Least share of equal arguments at which two steps of one tool count as one step that changed."""
_SHOWN = 60
_SHOWN_ARGUMENTS = 3


@dataclass(frozen=True, slots=True)
class Insert:
    """A step of the new plan that the old one has no counterpart of."""

    step: Step
    index: int


@dataclass(frozen=True, slots=True)
class Remove:
    """A step of the old plan that the new one has no counterpart of."""

    step: Step
    index: int


@dataclass(frozen=True, slots=True)
class Update:
    """A step that does something else than its counterpart: arguments, dependencies or claims differ."""

    old: Step
    new: Step
    fields: tuple[str, ...]
    """Which of `args`, `depends_on`, `claims` differ."""


@dataclass(frozen=True, slots=True)
class Move:
    """A step that does the same at another place in the order."""

    step: Step
    was: int
    now: int


@dataclass(frozen=True, slots=True)
class Keep:
    """A step that does the same at the same place, whatever it is called and however it is explained."""

    old: Step
    new: Step


Edit: TypeAlias = Insert | Remove | Update | Move | Keep


def diff(old: Plan, new: Plan) -> tuple[Edit, ...]:
    """The edits that turn one plan into the other: in the new plan's order, then what is gone.

    Steps are paired by tool and id, then by tool and equal arguments, then by tool and likeness of arguments.
    References and dependencies are compared by the steps they stand for: a new name is not a changed step.
    """
    pairs = _pairs(old, new)
    names = {old.steps[was].id: new.steps[now].id for now, was in pairs.items()}
    stays = _keeps_its_place(pairs)
    edits: list[Edit] = []
    for now, step in enumerate(new.steps):
        was = pairs.get(now)
        if was is None:
            edits.append(Insert(step, now))
            continue
        before = old.steps[was]
        changed = _changed(before, step, names)
        if changed:
            edits.append(Update(before, step, changed))
        elif now in stays:
            edits.append(Keep(before, step))
        else:
            edits.append(Move(step, was, now))
    matched = set(pairs.values())
    edits.extend(Remove(step, was) for was, step in enumerate(old.steps) if was not in matched)
    return tuple(edits)


def is_substantially_same(old: Plan, new: Plan) -> bool:
    """Whether only words differ: intent and rationale. Their semantic digests are then equal."""
    return semantic_digest(old) == semantic_digest(new)


def describe(edit: Edit) -> str:
    """One bounded line for people: what is added, gone, changed, moved or kept."""
    match edit:
        case Insert(step, index):
            return f"+ {_name(step)} ({_short(step.tool)}) at {index + 1}"
        case Remove(step, index):
            return f"- {_name(step)} ({_short(step.tool)}) from {index + 1}"
        case Update(old, new, fields):
            renamed = f" (was {_name(old)})" if old.id != new.id else ""
            what = "; ".join(_what_changed(old, new, field) for field in fields)
            return f"~ {_name(new)}{renamed}: {what}"
        case Move(step, was, now):
            return f"> {_name(step)} moved from {was + 1} to {now + 1}"
        case Keep(old, new):
            return f"= {_name(new)}" + (f" (was {_name(old)})" if old.id != new.id else "")
        case _:
            assert_never(edit)


def _pairs(old: Plan, new: Plan) -> dict[int, int]:
    """Index in the new plan to index in the old one."""
    free: dict[str, list[int]] = {}
    for was, step in enumerate(old.steps):
        free.setdefault(step.tool, []).append(was)
    by_id = {(step.tool, step.id): was for was, step in reversed(tuple(enumerate(old.steps)))}
    pairs: dict[int, int] = {}

    def pair(now: int, was: int) -> None:
        pairs[now] = was
        free[old.steps[was].tool].remove(was)

    for now, step in enumerate(new.steps):
        found = by_id.pop((step.tool, step.id), None)
        if found is not None:
            pair(now, found)
    leaves_old = [_leaves(step) for step in old.steps]
    leaves_new = [_leaves(step) for step in new.steps]
    for now, step in enumerate(new.steps):
        if now not in pairs:
            same = next((was for was in free.get(step.tool, ()) if leaves_old[was] == leaves_new[now]), None)
            if same is not None:
                pair(now, same)
    for now, step in enumerate(new.steps):
        if now not in pairs and free.get(step.tool):
            likeness = [(_likeness(leaves_old[was], leaves_new[now]), -was) for was in free[step.tool]]
            best, was = max(likeness)
            if best >= _ALIKE:
                pair(now, -was)
    return pairs


def _keeps_its_place(pairs: Mapping[int, int]) -> set[int]:
    """New indexes of the longest run of pairs whose old order is kept; every other pair has moved."""
    order = sorted(pairs)
    tails: list[int] = []  # tails[k]: the new index that ends the best run of k + 1 pairs so far
    previous: dict[int, int | None] = {}
    for now in order:
        was = pairs[now]
        low, high = 0, len(tails)
        while low < high:
            middle = (low + high) // 2
            if pairs[tails[middle]] < was:
                low = middle + 1
            else:
                high = middle
        previous[now] = tails[low - 1] if low else None
        tails[low : low + 1] = [now]
    at = tails[-1] if tails else None
    run: set[int] = set()
    while at is not None:
        run.add(at)
        at = previous[at]
    return run


def _changed(old: Step, new: Step, names: Mapping[str, str]) -> tuple[str, ...]:
    def renamed(found: Reference) -> dict[str, str]:
        return {"ref": f"{names.get(found.step, found.step)}.{found.field}"}

    def as_written(found: Reference) -> dict[str, str]:
        return {"ref": f"{found.step}.{found.field}"}

    fields = []
    if canonical_bytes(resolve(old.args, renamed)) != canonical_bytes(resolve(new.args, as_written)):
        fields.append("args")
    if sorted(names.get(name, name) for name in old.depends_on) != sorted(new.depends_on):
        fields.append("depends_on")
    if old.claims != new.claims:
        fields.append("claims")
    return tuple(fields)


def _leaves(step: Step) -> frozenset[tuple[str, str]]:
    """The arguments as (path, value); references by field only, the step they name is compared elsewhere."""
    plain = resolve(step.args, lambda found: f"ref {found.field}")
    return frozenset((path, repr(value)) for path, value in walk(plain) if not value or not _nests(value))


def _nests(value: object) -> bool:
    return isinstance(value, Mapping | list | tuple)


def _likeness(old: frozenset[tuple[str, str]], new: frozenset[tuple[str, str]]) -> float:
    return 2 * len(old & new) / max(len(old) + len(new), 1)


def _what_changed(old: Step, new: Step, field: str) -> str:
    if field != "args":
        left = ", ".join(_words(old, field)) or "none"
        right = ", ".join(_words(new, field)) or "none"
        return f"{field} {_cut(left)} -> {_cut(right)}"
    both = {key: (old.args.get(key, _ABSENT), new.args.get(key, _ABSENT)) for key in {**old.args, **new.args}}
    keys = [key for key, (left, right) in both.items() if left != right]
    shown = [f"{_short(key)} {_value(both[key][0])} -> {_value(both[key][1])}" for key in keys[:_SHOWN_ARGUMENTS]]
    if len(keys) > _SHOWN_ARGUMENTS:
        shown.append(f"{len(keys) - _SHOWN_ARGUMENTS} more arguments")
    return ", ".join(shown) or "references follow the renamed steps"


_ABSENT = object()


def _words(step: Step, field: str) -> list[str]:
    if field == "depends_on":
        return [_short(name) for name in step.depends_on[:10]]
    return [_short(claim.claim) for claim in step.claims[:10]]


def _name(step: Step) -> str:
    return _short(step.id)


def _short(text: str) -> str:
    """A name as it is if it is plain, else quoted; never longer than a line bears."""
    plain = text.replace("_", "").replace(".", "").replace("-", "").isalnum() and text.isascii()
    return _cut(text) if plain else _cut(repr(text[:_SHOWN]))


def _value(value: object) -> str:
    if value is _ABSENT:
        return "nothing"
    return _cut(repr(value[:_SHOWN] if isinstance(value, str) else value))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
