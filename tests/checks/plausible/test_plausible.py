"""Volume, match rate and bytes beside the past that was admitted: bounds at their edges, and when nothing is judged."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.checks.plausible.match_rate_is_plausible import match_rate_is_plausible
from dagster_planexec.contract.delivery.plausible import Plausible
from dagster_planexec.contract.outcome import Done
from dagster_planexec.contract.tool import Admission
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.errors import PlanexecError
from dagster_planexec.tools.run_sql import RunSql, RunSqlArgs
from dagster_planexec.world.history import PastPeriod
from tests.checks.plausible.test_expectations_hold import FULL
from tests.support.loading import Loading, invoice_contract
from tests.support.reconciling import Bench, bench, make_world

MONTHS = ("2025-11", "2025-12", "2026-01", "2026-02")


def past(*rows: int, each: str = "10.00", unmatched: int = 0) -> tuple[PastPeriod, ...]:
    """Settled months with so many rows of 10.00 each, of a hundred lines on either side."""
    return tuple(
        PastPeriod(
            month, f"att_{month}", frozenset({month}), count, count * Decimal(each),
            dict.fromkeys(("ledger", "vendor"), (100, 100 - unmatched)),
        )
        for month, count in zip(MONTHS, rows, strict=False)
    )  # fmt: skip


@pytest.fixture(scope="module")
def loading(tmp_path_factory: pytest.TempPathFactory) -> Loading:
    """Ten rows of 10.00."""
    made = Loading(tmp_path_factory.mktemp("volume"))
    made.land("id,day,amount,note\n" + "".join(f"{n},2026-03-01,10.00,\n" for n in range(10)))
    assert isinstance(made.load(), Done)
    return made


def volume(loading: Loading, plausible: Plausible | None, *before: PastPeriod) -> Verdict:
    """The verdict on the ten rows."""
    loading.task, loading.past = replace(loading.task, plausible=plausible), before
    return loading.verdict("volume_is_plausible")


NARROW = (Decimal("0.9"), Decimal("1.1"))
VOLUMES: dict[str, tuple[Plausible | None, tuple[PastPeriod, ...], str, str | None]] = {
    "nothing stated": (None, past(10, 10, 10), "not-applicable", None),
    "the first period ever": (Plausible(), (), "not-applicable", None),
    "two are no past": (Plausible(), past(1, 1), "not-applicable", None),
    "two, and a bound that holds": (Plausible(min_rows=10), past(1000, 1000), "passed", None),
    "two, and a bound that does not": (Plausible(min_rows=11), past(10, 10), "failed", "COVERAGE_LOW"),
    "as ever": (Plausible(), past(10, 10, 10), "passed", None),
    "half of the median": (Plausible(), past(20, 20, 20), "passed", None),
    "less than half": (Plausible(), past(21, 21, 21), "failed", "COVERAGE_LOW"),
    "twice the median": (Plausible(), past(5, 5, 5), "passed", None),
    "more than twice": (Plausible(), past(4, 4, 4), "failed", "VOLUME_HIGH"),
    "one odd month moves no median": (Plausible(), past(10, 9_000, 10, 10), "passed", None),
    "as many rows, less money": (Plausible(), past(10, 10, 10, each="20.01"), "failed", "COVERAGE_LOW"),
    "as many rows, more money": (Plausible(), past(10, 10, 10, each="4.99"), "failed", "VOLUME_HIGH"),
    "credits more than charges": (Plausible(), past(10, 10, 10, each="-3"), "passed", None),
    "no rows before": (Plausible(), past(0, 0, 0), "not-applicable", None),
    "the ratio switched off": (Plausible(volume_ratio=None), past(1, 1, 1), "not-applicable", None),
    "an own ratio": (Plausible(volume_ratio=NARROW), past(12, 12, 12), "failed", "COVERAGE_LOW"),
    "most rows": (Plausible(max_rows=9), (), "failed", "VOLUME_HIGH"),
    "least total": (Plausible(min_total=Decimal("100.01")), (), "failed", "COVERAGE_LOW"),
    "most total": (Plausible(max_total=Decimal("99.99")), (), "failed", "VOLUME_HIGH"),
    "total to the cent": (Plausible(min_total=Decimal(100), max_total=Decimal(100)), (), "passed", None),
    "what is stated holds beside the past": (Plausible(max_rows=9), past(10, 10, 10), "failed", "VOLUME_HIGH"),
}  # fmt: skip


@pytest.mark.parametrize("name", VOLUMES)
def test_volume(loading: Loading, name: str) -> None:
    """Rows and total against bounds; what is judged at all is known from task and past, whatever is loaded."""
    plausible, before, status, code = VOLUMES[name]
    seen = volume(loading, plausible, *before)
    assert (seen.status, seen.code) == (status, code), seen.text


def test_the_verdict_names_the_periods(loading: Loading) -> None:
    """Which months the median is of, and what it is."""
    seen = volume(loading, Plausible(), *past(30, 20, 40))
    assert seen.expected.value == (
        "rows from 15 to 60 expected (median 30)",
        "total from 150 to 600 expected (median 300)",
    )
    assert str(seen.expected.source).endswith("plausible, median of 2025-11, 2025-12, 2026-01")
    assert seen.observed.value == {"rows": 10, "total": Decimal("100.00")}
    nothing = volume(loading, Plausible(), *past(1))
    assert nothing.text == (
        "fewer than 3 settled earlier periods (1), and the task states no min_rows, max_rows, min_total or max_total"
    )


@pytest.mark.parametrize(
    "wrong",
    [{"min_rows": 2, "max_rows": 1}, {"volume_ratio": (Decimal(2), Decimal(1))}, {"max_unmatched_share": Decimal(2)},
     {"max_total": 0.1}, {"unmatched_above_median": 0.1}],
)  # fmt: skip
def test_bounds_that_bound_nothing_are_refused(wrong: dict[str, Any]) -> None:
    """When they are written, not when a month is judged. A float is no bound of money."""
    with pytest.raises(PlanexecError, match="BAD_CONTRACT"):
        Plausible(**wrong)


def test_a_total_of_several_currencies_is_none(tmp_path: Path) -> None:
    """Yen and euros have no sum that could be bounded; rows have."""
    several = {"currency": None, "currencies": {"EUR": 2, "JPY": 0}, "currency_column": "note"}
    task = Loading(tmp_path, invoice_contract(**several)).task

    replace(task, plausible=Plausible(max_rows=9))
    with pytest.raises(PlanexecError, match=r"BAD_CONTRACT: .* in EUR/JPY, which have none together"):
        replace(task, plausible=Plausible(max_total=Decimal(9)))


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A result of two sides of 1,000 lines, of which two are found on one side only, each."""
    made = bench(tmp_path_factory.mktemp("match"))
    make_world(made, "normal")
    (made.sql / "q.sql").write_text(FULL)
    assert isinstance(made.call(RunSql(), ARGS), Done)
    return made


ARGS = RunSqlArgs(file="q.sql", inputs={"ledger": "staging.ledger", "vendor": "staging.vendor"}, target="recon.lines")

MATCHES: dict[str, tuple[Plausible | None, tuple[PastPeriod, ...], str, str | None]] = {
    "nothing stated": (None, past(1, 1, 1), "not-applicable", None),
    "the first period ever": (Plausible(), (), "not-applicable", None),
    "as ever": (Plausible(), past(1, 1, 1), "passed", None),
    "at the edge": (Plausible(unmatched_above_median=Decimal("0.002")), past(1, 1, 1), "passed", None),
    "above it": (Plausible(unmatched_above_median=Decimal("0.0019")), past(1, 1, 1), "failed", "COVERAGE_LOW"),
    "better than ever": (Plausible(), past(1, 1, 1, unmatched=50), "passed", None),
    "a bound, no past": (Plausible(max_unmatched_share=Decimal("0.001")), (), "failed", "COVERAGE_LOW"),
    "a bound that holds": (Plausible(max_unmatched_share=Decimal("0.002")), (), "passed", None),
    "a bound by a hair": (Plausible(max_unmatched_share=Decimal("0.00199999")), (), "failed", "COVERAGE_LOW"),
}


@pytest.mark.parametrize("name", MATCHES)
def test_match_rate(on: Bench, name: str) -> None:
    """2 of 1,000 on either side, so 0.002."""
    plausible, before, status, code = MATCHES[name]
    on.task = replace(on.task, plausible=plausible)
    admission = Admission((), {}, on.admission().sql_sha256, past=before)
    (seen,) = on.verdicts(match_rate_is_plausible, RunSql(), ARGS, admission=admission)
    assert (seen.status, seen.code) == (status, code), seen.text
    if status != "not-applicable":
        assert "ledger 2 of 1000, vendor 2 of 1000" in seen.text


def landed(loading: Loading, *before: PastPeriod) -> Verdict:
    """The verdict of `period_is_current`."""
    loading.past = before
    return loading.verdict("period_is_current", phase="pre")


def test_the_bytes_of_an_earlier_period_are_stale(tmp_path: Path) -> None:
    """The same set of files as the last settled period's; read again from the disk, not taken from the record."""
    loading = Loading(tmp_path)
    one = loading.land("id,day,amount\n1,2026-02-01,1.00\n", "vendor/2026-03-a.csv")
    two = loading.land("id,day,amount\n2,2026-02-01,1.00\n", "vendor/2026-03-b.csv")

    def month(text: str, *landed: str) -> PastPeriod:
        return PastPeriod(text, f"att_{text}", frozenset(landed))

    assert landed(loading).status == "not-applicable"
    assert landed(loading, month("2026-01")).status == "not-applicable"  # nothing was delivered for it
    seen = landed(loading, month("2025-12", "0" * 64), month("2026-02", one, two))
    assert (seen.status, seen.code) == ("failed", "STALE_PERIOD")
    assert "those of 2026-02 again" in seen.text
    assert (seen.expected.source.subject.system, seen.observed.source.reader) == ("journal", "SHA-256 of each file")
    for other in (month("2026-02", one), month("2026-02", one, two, "0" * 64)):
        assert landed(loading, other).status == "passed"
    assert landed(loading, month("2026-01", one, two), month("2026-02", "0" * 64)).status == "passed"
    loading.task = replace(loading.task, plausible=Plausible(may_repeat=True))
    assert landed(loading, month("2026-02", one, two)).status == "not-applicable"
    loading.task = replace(loading.task, plausible=None)
    path = loading.ports.roots.landed_path(two)
    path.write_bytes(b"altered")
    assert landed(loading, month("2026-02", one, two)).status == "passed"  # what is there now is something else
    path.unlink()
    assert landed(loading, month("2026-02", one, two)).code == "OBJECT_GONE"
