"""What the ledger, the target and the result say together of one scope and period. Pure: nothing is asked here.

The rule for each (line key, ordinal):

* the target lists it: it is issued, with the target's amount, whatever the ledger says; what the ledger does not know
  is taken into it;
* the ledger says issued, by another target or by a person's word: it counts as issued;
* the ledger says issued by this target, which does not list it, or lists another amount: `missing`, and nothing more
  is issued;
* a look-up alone once said that it is not there: what was sent may still arrive, so if it is due again it goes on under
  the same key, and if less is due a person settles it;
* the ledger has an intent without outcome for this target, which does not list it: it is sent again, under its own
  amount and key, so a first delivery that arrives late is the same one. Never by the run that may have sent it;
* the same for another target, or for a target that cannot be asked by key: `unsure`, and a person settles it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.journal.money.effects import OPEN, Effect, Ended, Intent, issued_elsewhere
from dagster_planexec.world.ports import Credit, CreditLine
from dagster_planexec.world.probes.result.to_issue import by_place, standing, still_to_issue

SENDING = "is being sent"
"""What the ledger says of a line that is sent to a target which cannot be asked by key."""


@dataclass(frozen=True, slots=True)
class Where:
    """Of whom the reckoning is."""

    scope: str
    period: str
    currency: str
    target: str
    run_id: str
    by_key: bool
    """Whether the target can say of a key that it is not there."""


@dataclass(frozen=True, slots=True)
class Reckoning:
    """What follows."""

    known: Mapping[str, Decimal]
    """What is issued under each line key."""
    need: Mapping[str, Decimal]
    """What is to be issued now, by line key: what is due, less what is issued."""
    intents: tuple[Intent, ...]
    """`need`, line by line: earlier intents first, then what is left of it under the next ordinal."""
    raised: int
    over: Mapping[str, Decimal]
    """What is issued beyond what is due."""
    ended: tuple[Ended, ...]
    adopted: tuple[Credit, ...]
    missing: tuple[Effect, ...]
    unsure: tuple[Effect, ...]
    dropped: tuple[Effect, ...]
    """Intents that are not there, and for which nothing is due any more."""
    elsewhere: frozenset[str]
    """Line keys that another target has issued, or a person says so."""


def reckon(due: Sequence[CreditLine], listed: Sequence[Credit], effects: Sequence[Effect], where: Where) -> Reckoning:
    """Put the three together.

    Args:
        due: Every line that is due, each key once.
        listed: What the target holds.
        effects: The ledger's lines of the scope and period.
        where: Of which target and run.
    """
    here = by_place(listed)
    rows = {(effect.key, effect.ordinal): effect for effect in effects}
    outside = issued_elsewhere(effects, where.target)
    known = standing(here, outside)
    ended = [change for at, amount in here.items() if (change := _ended(rows.get(at), amount, where)) is not None]
    missing, unsure, waiting = [], [], dict[str, list[Effect]]()
    for at, effect in rows.items():
        if effect.state in OPEN and effect.target != where.target:
            unsure.append(effect)
        elif is_lost(effect, here.get(at), where.target):
            missing.append(effect)
        elif at in here:
            continue
        elif effect.state in OPEN and _may_not_be_sent(effect, where):
            unsure.append(effect)
        elif effect.state in OPEN or _may_still_arrive(effect, where):
            waiting.setdefault(effect.key, []).append(effect)
    due_by_key = {line.key: line.amount for line in due}
    need = still_to_issue(due_by_key, known)
    last: dict[str, int] = {}
    for key, ordinal in (*here, *rows):
        last[key] = max(ordinal, last.get(key, 0))
    intents: list[Intent] = []
    for key, amount in need.items():
        mine = sorted(waiting.pop(key, ()), key=lambda effect: effect.ordinal)
        promised = sum((effect.amount for effect in mine), Decimal(0))
        if promised > amount:
            unsure += mine  # less is due than what may still arrive under the earlier keys
            continue
        intents += [Intent(effect.credit, effect.id, look_first=True) for effect in mine]
        if promised < amount:
            intents.append(_next(key, amount - promised, last.get(key, 0), rows, where))
    over = {key: amount - due_by_key.get(key, Decimal(0)) for key, amount in sorted(known.items())}
    return Reckoning(
        known, need, tuple(intents), sum(1 for key in need if key in known),
        {key: amount for key, amount in over.items() if amount > 0}, tuple(ended),
        tuple(credit for credit in listed if (credit.key, credit.ordinal) not in rows),
        tuple(missing), tuple(unsure),
        tuple(effect for left in waiting.values() for effect in left if effect.state in OPEN),
        frozenset(key for key, _, _ in outside),
    )  # fmt: skip


def is_lost(effect: Effect, listed: Decimal | None, target: str) -> bool:
    """Whether the ledger says that a target has issued a line which it does not list so. A person's word counts."""
    own = effect.state == "issued" and effect.target == target and effect.settled_by is None
    return own and listed != effect.amount


def _may_still_arrive(effect: Effect, where: Where) -> bool:
    """Whether it was sent, perhaps, and only a look-up has said that it is not there."""
    return effect.state == "not-issued" and effect.settled_by is None and effect.target == where.target


def _ended(effect: Effect | None, amount: Decimal, where: Where) -> Ended | None:
    """What follows for the ledger from what the target lists."""
    if effect is None or effect.state == "issued" or effect.target != where.target:
        return None
    if effect.amount == amount:
        return Ended(effect.id, "issued", "the target knows it")
    if effect.state in OPEN:
        return Ended(effect.id, "refused", f"the target holds {amount} under this key, of somebody else")
    return None


def _may_not_be_sent(effect: Effect, where: Where) -> bool:
    """Whether this run may not send it: it may have done so itself, or nobody can say whether an earlier one has."""
    if effect.run_id == where.run_id:
        return True
    return not where.by_key and (effect.state == "unknown" or effect.said == SENDING)


def _next(key: str, amount: Decimal, last: int, rows: Mapping[tuple[str, int], Effect], where: Where) -> Intent:
    """The line under the next ordinal, or under the last if that is known not to be issued and was the same."""
    before = rows.get((key, last))
    if before is not None and before.state not in OPEN | {"issued"} and _is(before, amount, where):
        return Intent(before.credit, before.id)
    return Intent(Credit(where.scope, where.period, key, last + 1, amount, where.currency))


def _is(effect: Effect, amount: Decimal, where: Where) -> bool:
    return (effect.amount, effect.currency, effect.target) == (amount, where.currency, where.target)
