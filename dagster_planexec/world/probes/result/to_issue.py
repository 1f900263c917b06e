"""What is due, what is issued already, and what would be issued now: everything that is judged before a credit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.world import subject
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Credit, Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.credits import count_lines, digest_of_lines, holds_money, money, sum_lines
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.result import CreditShape
from dagster_planexec.world.subject import Subject

MOST_SHOWN = 20
"""Lines that a person is shown, the largest first."""
_LONGEST_KEY = 80

Elsewhere = tuple[tuple[str, int, Decimal], ...]
"""(line key, ordinal, amount) of what another system has issued for the same scope and period."""


@dataclass(frozen=True, slots=True)
class CreditsToIssue(Probe):
    """The lines of a result, counted and summed by SQL, against what the credit system holds, key by key."""

    table: str
    shape: CreditShape
    scope: str
    period: str
    elsewhere: Elsewhere = ()

    @property
    def subject(self) -> Subject:
        """The credits of that scope and period."""
        return subject.credits_of(self.scope, self.period)

    @property
    def reader(self) -> str:
        """The credit system's list, looked up by the keys of the result."""
        return f"credits issued, compared by key with {self.table}"

    def observe(self, ports: Ports) -> Observation:
        """What is due, what is issued, and the difference.

        Facts, all of them of the period:

        * `count`, `amount`, `digest`: what would be issued now, each line key once, with what is issued taken off;
        * `due_count`, `due_amount`, `due_digest`: what the result credits in all, and how many of its lines cannot be
          credited as they are: `keyless`, `repeated`, `unpriced`, `inexact` (see `CreditLines`);
        * `issued_count`, `issued_amount`: what is issued, `elsewhere_count` of it by another system;
        * `same`; `raised`, `raised_amount` (known keys for which more is due); `lowered` (less is due), `not_due`
          (nothing is due any more), `over_amount` (issued beyond what is due); `delta`, all of these together;
        * `after_count`, `after_amount`, `after_digest`: what this system holds when that is done;
        * `largest`: up to 20 lines that would be issued, `example`: the first that was issued and differs.
        """
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            if not holds_money(session, self.table, self.shape.money):
                return self.absent(ports, f"no table {self.table!r}")
            counted = count_lines(session, self.table, self.shape)
            due = sum_lines(session, self.table, self.shape)
        here = by_place(ports.credits.listed(self.scope, self.period))
        known = standing(here, self.elsewhere)
        return self.seen(ports, {**_renamed(counted), **self._compared(due, known), **self._after(due, known, here)})

    def _compared(self, due: Mapping[str, Decimal], known: Mapping[str, Decimal]) -> dict[str, Fact]:
        scale = self.shape.scale
        need = still_to_issue(due, known)
        raised = {key for key in need if key in known}
        not_due = {key for key in known if key not in due}
        lowered = {key for key, amount in known.items() if key in due and due[key] < amount}
        over = sum((known[key] - due.get(key, Decimal(0)) for key in not_due | lowered), Decimal(0))
        more = sum((need[key] for key in raised), Decimal(0))
        first = next(iter(sorted((raised | lowered) or not_due)), None)
        return {
            "count": len(need),
            "amount": money(sum(need.values(), Decimal(0)), scale),
            "digest": digest_of_lines(need.items(), scale),
            "issued_count": len(known),
            "issued_amount": money(sum(known.values(), Decimal(0)), scale),
            "elsewhere_count": len({key for key, _, _ in self.elsewhere}),
            "same": len(known) - len(raised) - len(lowered) - len(not_due),
            "raised": len(raised),
            "raised_amount": money(more, scale),
            "lowered": len(lowered),
            "not_due": len(not_due),
            "over_amount": money(over, scale),
            "delta": money(more - over, scale),
            "largest": tuple(
                _shown(key, need, known) for key in sorted(need, key=lambda k: (-need[k], k))[:MOST_SHOWN]
            ),
            "example": ""
            if first is None
            else f"{first[:_LONGEST_KEY]!r}: issued {known[first]}, now due {due.get(first, Decimal(0))}",
        }

    def _after(
        self, due: Mapping[str, Decimal], known: Mapping[str, Decimal], here: Mapping[tuple[str, int], Decimal]
    ) -> dict[str, Fact]:
        """What this system holds when everything that is due is issued: what is over stays."""
        after = standing(here, ())
        for key, amount in still_to_issue(due, known).items():
            after[key] = after.get(key, Decimal(0)) + amount
        total = sum(after.values(), Decimal(0))
        digest = digest_of_lines(after.items(), self.shape.scale)
        return {"after_count": len(after), "after_amount": money(total, self.shape.scale), "after_digest": digest}


def standing(
    here: Mapping[tuple[str, int], Decimal], elsewhere: Iterable[tuple[str, int, Decimal]]
) -> dict[str, Decimal]:
    """What is issued under each line key by anybody; what both systems list under one ordinal counts once."""
    both = {(key, ordinal): amount for key, ordinal, amount in elsewhere} | dict(here)
    totals: dict[str, Decimal] = {}
    for (key, _), amount in both.items():
        totals[key] = totals.get(key, Decimal(0)) + amount
    return totals


def still_to_issue(due: Mapping[str, Decimal], known: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """What is due under each line key beyond what is issued, in order of the keys."""
    needed = {key: due[key] - known.get(key, Decimal(0)) for key in sorted(due)}
    return {key: amount for key, amount in needed.items() if amount > 0}


def by_place(credits_: Iterable[Credit]) -> dict[tuple[str, int], Decimal]:
    """(line key, ordinal) to amount."""
    return {(credit.key, credit.ordinal): credit.amount for credit in credits_}


def _renamed(counted: Mapping[str, Fact]) -> dict[str, Fact]:
    return {f"due_{name}" if name in {"count", "amount", "digest"} else name: fact for name, fact in counted.items()}


def _shown(key: str, need: Mapping[str, Decimal], known: Mapping[str, Decimal]) -> dict[str, Fact]:
    return {"line": key[:_LONGEST_KEY], "amount": need[key], "issued_before": known.get(key, Decimal(0))}
