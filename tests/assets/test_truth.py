"""The truth that the generators state is what anybody finds who compares the two sides line by line."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections.abc import Mapping
from decimal import Decimal

import pytest

from assets.demo import council as council_data
from assets.demo import saturday as saturday_data
from assets.demo.world import DemoWorld
from assets.pair import Pair, Truth
from assets.reconciliation import CREDIT_CAP, CREDIT_LINES_THRESHOLD, SQL_FOLDER


def vendor_of(content: bytes, key: str, amount: str) -> dict[str, Decimal]:
    rows = list(csv.DictReader(content.decode().splitlines()))
    found = {row[key]: Decimal(row[amount]) for row in rows}
    assert len(found) == len(rows), "a key repeats"
    return found


def ledger_of(world: DemoWorld) -> dict[str, Decimal]:
    with world.connection() as warehouse:
        rows = warehouse.execute(
            f"select charge_id, amount from {world.data.ledger_table} where charged_on >= ? and charged_on < ?",
            [world.period.start, world.period.end],
        ).fetchall()
    assert len(dict(rows)) == len(rows), "a key repeats"
    return dict(rows)


def compared(ledger: Mapping[str, Decimal], vendor: Mapping[str, Decimal]) -> dict[str, tuple]:
    """Every difference by its definition: key to (status, ledger, vendor, credit)."""
    found = {}
    for key in ledger.keys() | vendor.keys():
        ours, theirs = ledger.get(key), vendor.get(key)
        if ours == theirs:
            continue
        if theirs is None:
            found[key] = ("ledger_only", ours, None, ours)
        elif ours is None:
            found[key] = ("vendor_only", None, theirs, Decimal(0))
        else:
            found[key] = ("amount_differs", ours, theirs, max(ours - theirs, Decimal(0)))
    return found


def stated(truth: Truth) -> dict[str, tuple]:
    def decimal(cents: int | None) -> Decimal | None:
        return None if cents is None else Decimal(cents) / 100

    return {
        d.charge_id: (d.status, decimal(d.ledger_cents), decimal(d.vendor_cents), Decimal(d.credit_cents) / 100)
        for d in truth.differences
    }


def agrees(pair: Pair, ledger: Mapping[str, Decimal], vendor: Mapping[str, Decimal]) -> None:
    truth, differences = pair.truth, compared(ledger, vendor)

    assert differences == stated(truth)
    assert (len(ledger), len(vendor)) == (truth.ledger_rows, truth.vendor_rows)
    assert (sum(ledger.values()), sum(vendor.values())) == (truth.ledger_sum, truth.vendor_sum)
    assert len(ledger.keys() & vendor.keys()) - truth.count("amount_differs") == truth.identical
    assert {key: credit for key, (*_, credit) in differences.items() if credit} == truth.credits
    assert sum(truth.credits.values()) == truth.credit_sum


@pytest.mark.parametrize("period", saturday_data.DELIVERED)
def test_saturday_truth_is_what_a_plain_comparison_finds(saturday, period):
    world = DemoWorld(saturday.home, saturday.endpoint, period=period)
    vendor = vendor_of(saturday.read(world.export_key), "Charge Ref", "Net Amount")

    agrees(world.pair, ledger_of(world), vendor)


@pytest.mark.parametrize("period", council_data.FILES)
def test_council_truth_is_what_a_plain_comparison_finds(council, period):
    world = DemoWorld(council.home, council.endpoint, data="council", period=period)
    vendor = vendor_of(council.read(world.export_key), "Trans No", "Amount")

    agrees(world.pair, ledger_of(world), vendor)


@pytest.mark.parametrize("variant", ["healthy", "perfect", "inflated"])
def test_every_variant_of_march_states_its_truth(variant):
    pair = saturday_data.month("2026-03", variant)
    ledger = {line.charge_id: Decimal(line.cents) / 100 for line in pair.ledger}
    vendor = vendor_of(saturday_data.export_csv(pair.vendor), "Charge Ref", "Net Amount")

    agrees(pair, ledger, vendor)


def test_healthy_march_is_the_month_of_the_story():
    """61,400 charges, 22 differences of all four kinds, 15 credits under cap and threshold."""
    truth = saturday_data.month("2026-03").truth

    assert (truth.ledger_rows, truth.vendor_rows, truth.identical) == (61_400, 61_397, 61_381)
    assert (truth.count("amount_differs"), truth.count("ledger_only"), truth.count("vendor_only")) == (13, 6, 3)
    assert (len(truth.credits), truth.credit_sum) == (15, Decimal("192.49"))


@pytest.mark.parametrize(
    "truth",
    [
        *(saturday_data.month(f"2026-{n:02d}").truth for n in (1, 2, 3, 4, 5, 11)),
        *(council_data.quarter(period).truth for period in council_data.FILES),
    ],
)
def test_credits_of_every_healthy_period_stay_under_cap_and_threshold(truth):
    assert Decimal(0) < truth.credit_sum < CREDIT_CAP
    assert len(truth.credits) < CREDIT_LINES_THRESHOLD
    assert truth.count("vendor_only") > 0


def test_inflated_march_exceeds_the_cap_and_not_the_threshold():
    """So that a hold names the cap for the only reason there is."""
    truth = saturday_data.month("2026-03", "inflated").truth

    assert truth.credit_sum > CREDIT_CAP
    assert len(truth.credits) < CREDIT_LINES_THRESHOLD


def test_perfect_march_has_the_same_ledger_and_no_difference():
    healthy, perfect = saturday_data.month("2026-03"), saturday_data.month("2026-03", "perfect")

    assert perfect.ledger == healthy.ledger
    assert sorted(perfect.vendor) == sorted(perfect.ledger)
    assert not perfect.truth.differences


def test_a_month_reaches_from_its_first_to_its_last_day():
    days = {line.charged_on for line in saturday_data.month("2026-03").ledger}

    assert days == {f"2026-03-{day:02d}" for day in range(1, 32)}


def test_ledger_holds_more_than_the_month_asked_for():
    """A reconciliation that forgets its scope finds thousands of differences."""
    months = {line.charged_on[:7] for line in saturday_data.DATA.ledger()}

    assert months == {"2026-01", "2026-02", "2026-03", "2026-04"}


def test_two_processes_with_other_hash_seeds_make_the_same_bytes():
    program = (
        "import hashlib; from assets.demo import council, saturday\n"
        "h = hashlib.sha256()\n"
        "for data in (saturday.DATA, council.DATA):\n"
        "    h.update(repr(data.ledger()).encode()); h.update(b''.join(data.exports().values()))\n"
        "print(h.hexdigest())"
    )
    made = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            check=True, capture_output=True, text=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip

    assert len(made) == 1


@pytest.mark.parametrize(
    ("period", "rows", "total"),
    [
        ("2017-Q2", 4052, "16264882.46"),
        ("2017-Q3", 3259, "11344005.35"),
        ("2017-Q4", 3855, "17382055.90"),
        ("2018-Q1", 1220, "4339765.85"),
    ],
)
def test_published_files_have_the_sums_of_their_readme(period, rows, total):
    vendor = vendor_of(council_data.published(period), "Trans No", "Amount")

    assert (len(vendor), sum(vendor.values())) == (rows, Decimal(total))
    assert f"| {council_data.FILES[period]} | {period} | {rows} | {total} |" in (
        council_data.FOLDER / "data" / "README.md"
    ).read_text(encoding="utf-8")


def test_published_january_to_march_holds_january_only():
    """While its ledger has payments in all three months, so only the file is incomplete."""
    pair = council_data.quarter(council_data.INCOMPLETE)

    assert {line.charged_on[:7] for line in pair.vendor} == {"2018-01"}
    assert {line.charged_on[:7] for line in pair.ledger} == {"2018-01", "2018-02", "2018-03"}


@pytest.mark.parametrize("name", ["saturday", "council"])
def test_reconcile_sql_finds_the_truth(request, name):
    """Read as named inputs, the query returns every line of both sides once, and the stated differences."""
    world = request.getfixturevalue(name)
    truth = world.pair.truth
    query = (SQL_FOLDER / "reconcile.sql").read_text(encoding="utf-8")
    with world.connection() as warehouse:
        for side, lines in (("ledger", world.pair.ledger), ("vendor", world.pair.vendor)):
            warehouse.execute(f"create temp table {side} (charge_id varchar, charged_on date, amount decimal(18,2))")
            cells = "\n".join(f"{x.charge_id},{x.charged_on},{Decimal(x.cents).scaleb(-2)}" for x in lines)
            path = world.home / f"{side}.csv"
            path.write_text(cells, encoding="utf-8")
            warehouse.execute(f"copy {side} from '{path}' (header false)")
        rows = warehouse.execute(query).fetchall()
        names = [column[0] for column in warehouse.description]

    assert names == ["charge_id", "charged_on", "status", "ledger_amount", "vendor_amount"]
    assert len({row[0] for row in rows}) == len(rows) == truth.ledger_rows + truth.count("vendor_only")
    assert sum(1 for row in rows if row[2] == "identical") == truth.identical
    assert {row[0]: row[2:] for row in rows if row[2] != "identical"} == {
        key: sides[:3] for key, sides in stated(truth).items()
    }
