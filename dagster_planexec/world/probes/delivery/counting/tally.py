"""What a counter finds in one part of a file, and where the amounts stand in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.parts import Part
from dagster_planexec.world.delivery.text.headers import normal_header
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.ingest import Counted, TextColumn
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.probes.delivery.counting.amounts import Amounts, shortest


@dataclass(slots=True)
class Tally:
    """What was counted."""

    amounts: Amounts
    rows: int = 0
    whole: bool = True
    parts: int = 1
    dropped: Counter[str] = field(default_factory=Counter)
    """Records that are no data, by what they are."""

    def is_enough(self, at_most: int | None) -> bool:
        """Whether counting may stop; what is beyond is not reported."""
        if at_most is None or self.rows < at_most:
            return False
        self.rows, self.whole = at_most, False
        return True

    def include(self, other: Tally) -> None:
        """Take in what was counted elsewhere."""
        self.amounts.include(other.amounts)
        self.rows += other.rows
        self.parts += other.parts
        self.dropped += other.dropped
        self.whole = self.whole and other.whole

    def facts(self) -> dict[str, Fact]:
        """As facts of an observation.

        Facts: `rows`, `sum` (of the amounts that can be read), `unparsable`, `empty`, `whole` (all was counted),
        `parts` (how many were read), `sums` (by currency, if one is counted),
        `dropped` (records that are no data, by what they are; if there are any).
        """
        facts: dict[str, Fact] = {
            "rows": self.rows,
            "sum": shortest(self.amounts.total),
            "unparsable": self.amounts.unparsable,
            "empty": self.amounts.empty,
            "whole": self.whole,
            "parts": self.parts,
        }
        if self.amounts.sums:
            facts["sums"] = {name: shortest(amount) for name, amount in sorted(self.amounts.sums.items())}
        return facts | ({"dropped": dict(self.dropped)} if self.dropped else {})


NOTHING = Counted(TextColumn("amount", None, "decimal"))
"""What is read of no file: where only records are counted."""


def tally_of(counted: Counted | None) -> Tally:
    """Nothing yet."""
    return Tally(Amounts(counted or NOTHING))


def places(part: Part, counted: Counted | None, header: Sequence[str]) -> tuple[int, ...]:
    """Where the cells stand that are counted, in the order in which `Amounts` takes them; none: nothing is counted.

    Raises:
        PortError: MISSING_COLUMN if one of them is not there, or more than once.
    """
    if counted is None:
        return ()
    wanted = [("the amount", counted.amount.aliases)]
    if counted.amount.minus:
        wanted.append(("what is taken off the amount", counted.amount.minus))
    if counted.document is not None:
        wanted.append(("the kind of document", counted.document.aliases))
    if counted.currency is not None:
        wanted.append(("the currency", counted.currency.aliases))
    return tuple(_place(part, header, what, names) for what, names in wanted)


def columns_at(counted: Counted) -> tuple[TextColumn, ...]:
    """The declaration of each of these cells, in the same order."""
    told = [one for one in (counted.document, counted.currency) if one is not None]
    return (counted.amount, *((counted.amount,) if counted.amount.minus else ()), *told)


def _place(part: Part, header: Sequence[str], what: str, names: Sequence[str]) -> int:
    rules = part.form.header_rules
    known = {normal_header(name, rules): name for name in names}
    at = [index for index, name in enumerate(header) if normal_header(name, rules) in known]
    if len(at) == 1:
        return at[0]
    seen = "no column" if not at else f"{len(at)} columns"
    raise PortError(
        "MISSING_COLUMN",
        f"{part.name} has {seen} for {what} ({' or '.join(shown(n) for n in sorted(known.values()))})",
        hint="ask the vendor, or add the new header to the contract",
    )
