"""The council's world: the published files as they are, and a ledger made from them with seeded alterations.

The vendor's side is the published file, byte for byte. The ledger has its lines but for these, drawn by `SEED`
and the quarter:

* `OVERCHARGED` lines are booked with 1.00 to 25.00 more than was published: the surplus is credited;
* `UNDERCHARGED` lines are booked with 0.01 to 15.00 less: no credit;
* `VENDOR_ONLY` published lines are not in the ledger: no credit;
* `LEDGER_ONLY` lines of 10.00 to 60.00 are in the ledger only, each a copy of a published line under a number that
  ends in ` R`: credited in full.

The file named for January to March 2018 holds January only. Its ledger has `LATER` such ledger-only lines in each of
February and March as well: the council went on paying, the file ends early.

Contains public sector information licensed under the Open Government Licence v3.0.
Publisher: Oxford City Council, "Expenditure over £500".
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from functools import cache
from random import Random

from assets.council_spend.task import FOLDER, TASK
from assets.pair import DataSet, Difference, Line, Pair

SEED = 500
OVERCHARGED = 5
UNDERCHARGED = 3
VENDOR_ONLY = 4
LEDGER_ONLY = 4
LATER = 3

ALTERED_ABOVE_CENTS = 50_000
"""Only lines over 500 are altered: a change stays small beside the amount, and nothing turns negative."""

FILES = {
    "2017-Q2": "expenditure-over-500-apr-jun-2017.csv",
    "2017-Q3": "expenditure-over-500-jul-sep-2017.csv",
    "2017-Q4": "expenditure-over-500-oct-dec-2017.csv",
    "2018-Q1": "expenditure-over-500-jan-mar-2018.csv",
}
INCOMPLETE = "2018-Q1"
"""The quarter whose published file holds January only."""


def published(period: str) -> bytes:
    """The file of a quarter, byte for byte."""
    return (FOLDER / "data" / FILES[period]).read_bytes()


def export_key(period: str, suffix: str = ".csv") -> str:
    """Where the file of a quarter is delivered."""
    return f"{TASK.drop.prefix}{period}-expenditure{suffix}"


@cache
def quarter(period: str) -> Pair:
    """Both sides of one quarter, and the alterations as the truth."""
    rng = Random(f"{SEED}/{period}")  # noqa: S311 - data that must repeat
    vendor = list(_lines(published(period)))
    drawn = rng.sample(
        [index for index, line in enumerate(vendor) if line.cents > ALTERED_ABOVE_CENTS],
        OVERCHARGED + UNDERCHARGED + VENDOR_ONLY + LEDGER_ONLY,
    )
    changes: dict[int, int | None] = {}
    for index in drawn[:OVERCHARGED]:
        changes[index] = vendor[index].cents + rng.randrange(100, 2_500)
    for index in drawn[OVERCHARGED : OVERCHARGED + UNDERCHARGED]:
        changes[index] = vendor[index].cents - rng.randrange(1, 1_500)
    for index in drawn[OVERCHARGED + UNDERCHARGED : -LEDGER_ONLY]:
        changes[index] = None
    rebooked = [_rebooked(vendor[index], rng) for index in drawn[-LEDGER_ONLY:]]
    if period == INCOMPLETE:
        rebooked += _after_the_file_ends(vendor, rng)
    ledger = [
        line if cents == line.cents else line._replace(cents=cents)
        for index, line in enumerate(vendor)
        if (cents := changes.get(index, line.cents)) is not None
    ]
    return Pair.of(period, [*ledger, *rebooked], vendor, _differences(vendor, changes, rebooked))


def _lines(content: bytes) -> Iterator[Line]:
    for row in csv.DictReader(content.decode().splitlines()):
        yield Line(
            row["Trans No"],
            row["Supplier ID"] or None,
            datetime.strptime(row["Paid Date"], "%d/%m/%Y").date().isoformat(),  # noqa: DTZ007 - a calendar day
            row["Service Area"],
            int(Decimal(row["Amount"]).scaleb(2)),
        )


def _rebooked(line: Line, rng: Random) -> Line:
    return line._replace(charge_id=f"{line.charge_id} R", cents=rng.randrange(1_000, 6_000))


def _after_the_file_ends(vendor: list[Line], rng: Random) -> list[Line]:
    out = []
    for month in ("2018-02", "2018-03"):
        for line in rng.sample(vendor, LATER):
            day = f"{month}-{rng.randrange(1, 29):02d}"
            out.append(
                line._replace(
                    charge_id=f"{line.charge_id} {month} R", charged_on=day, cents=rng.randrange(1_000, 6_000)
                )
            )
    return out


def _differences(vendor: list[Line], changes: dict[int, int | None], rebooked: list[Line]) -> Iterator[Difference]:
    for index, cents in sorted(changes.items()):
        line = vendor[index]
        yield Difference(line.charge_id, "vendor_only" if cents is None else "amount_differs", cents, line.cents)
    for line in rebooked:
        yield Difference(line.charge_id, "ledger_only", line.cents, None)


def _whole_ledger() -> list[Line]:
    return [line for period in FILES for line in quarter(period).ledger]


def _exports() -> dict[str, bytes]:
    return {export_key(period): published(period) for period in FILES}


DATA = DataSet(
    name="council",
    task=TASK,
    default_period="2017-Q4",
    currency="GBP",
    ledger=_whole_ledger,
    exports=_exports,
    pair=quarter,
    export_key=export_key,
)
