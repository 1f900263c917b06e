"""Small inputs on which two comparers can disagree, each with the reason why the answer matters."""

from __future__ import annotations

from typing import NamedTuple

Side = tuple[tuple[str, str], ...]


class Case(NamedTuple):
    """One input: (key, amount) of both sides."""

    name: str
    ledger: Side
    vendor: Side
    why: str
    tolerance: str | None = None
    match: str = "one-to-one"
    """How `planexec reconcile` is told to match."""


_TWICE: Side = (("A", "10.00"), ("A", "20.00"))

CASES = (
    Case("repeated keys in another order", _TWICE, _TWICE[::-1],
         "The same two lines. Pairing repeated keys by their order makes two differences of them. A key that must be "
         "unique and is not is refused here before anything is paired."),
    Case("repeated keys, declared to repeat", _TWICE, _TWICE[::-1],
         "The same input with `match: multiset`: lines of one key and amount are counted against each other.",
         match="multiset"),
    Case("one line billed three times", (("A", "10.00"),), (("A", "10.00"),) * 3,
         "Over-billing. Counted as two lines that only the vendor has, it is told apart from two lines of other keys "
         "only by reading them."),
    Case("leading zeros", (("007", "5.00"),), (("7", "5.00"),),
         "Two accounts. Read as numbers they are one, and their amounts match."),
    Case("leading zeros on one side", (("007", "5.00"), ("x", "1.00")), (("7", "5.00"),),
         "One text among the keys of one side gives the two sides different types."),
    Case("cents of a large amount", (("A", "90071992547409.93"),), (("A", "90071992547409.92"),),
         "A cent at the seventeenth digit. A double has fifteen to rely on."),
    Case("a tenth and two tenths", (("A", "0.30"),), (("A", "0.30000000000000004"),),
         "What a spreadsheet's sum leaves in a file. It has more decimals than the contract declares: it is refused, "
         "not rounded into agreement."),
    Case("a tolerance of one cent", (("A", "1.01"), ("B", "1.11")), (("A", "1.00"), ("B", "1.10")),
         "Both lines are exactly one cent apart, and one cent is allowed. The difference of two doubles is a little "
         "more.",
         tolerance="0.01"),
    Case("no key on both sides", (("", "90.00"), ("A", "1.00")), (("", "90.00"), ("A", "1.00")),
         "Two lines without an id have nothing in common but that."),
    Case("an empty vendor side", (("A", "10.00"), ("B", "20.00")), (),
         "A deleted export. Every ledger row is a difference of the same kind as a real one, unless the empty side is "
         "a verdict of its own."),
    Case("both sides empty", (), (),
         "Nothing was compared, so nothing agrees."),
    Case("amounts that are absent", (("A", ""), ("B", "1.00")), (("A", ""), ("B", "1.00")),
         "Two lines that say nothing of money agree about nothing. An empty amount is refused unless the contract "
         "allows it."),
    Case("blanks around a key", (("A", "1.00"),), (("A ", "1.00"),),
         "Keys are compared without the blanks at their ends, and how many were changed is counted."),
)  # fmt: skip
