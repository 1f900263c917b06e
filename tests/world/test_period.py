"""The canonical period: one type that ties key, text and window."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.period import EARLIEST, LATEST, Granularity, Period


@pytest.mark.parametrize(
    ("text", "granularity", "key", "said"),
    [
        ("2026-03", "month", "2026-03-01", "2026-03"),
        ("2026-03-01", "month", "2026-03-01", "2026-03"),
        ("2018-Q1", "quarter", "2018-01-01", "2018-Q1"),
        ("2018-02", "quarter", "2018-01-01", "2018-Q1"),
        ("2017-12-01", "quarter", "2017-10-01", "2017-Q4"),
    ],
)
def test_every_way_to_name_a_period_is_one_period(text: str, granularity: Granularity, key: str, said: str) -> None:
    """Key and text are the period's own, whichever way it was named."""
    period = Period.parse(text, granularity)

    assert (period.key, period.text) == (key, said)


@pytest.mark.parametrize(
    "text",
    ["", "2026", "2026-3", "2026-00", "2026-13", "2026-03-02", "2026-03-01T00:00", "2026-Q1", "0000-01", "9999-12",
     "2026-03\n", " 2026-03", "٢٠٢٦-٠٣", "\uff12\uff10\uff12\uff16-03", "2026-03; drop table x", "../2026-03"],
)  # fmt: skip
def test_anything_else_is_no_month(text: str) -> None:
    """UNKNOWN_PARTITION with the forms that are read."""
    with pytest.raises(PlanexecError) as refused:
        Period.parse(text, "month")

    assert refused.value.code == "UNKNOWN_PARTITION"
    assert "YYYY-MM" in refused.value.message


def test_the_window_is_the_zones() -> None:
    """March in Berlin begins an hour before March in UTC and ends two hours before it: summer time has come."""
    start, end = Period.parse("2026-03", "month").window("Europe/Berlin")

    assert start == datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert end == datetime(2026, 3, 31, 22, tzinfo=UTC)


def test_a_quarter_is_its_three_months() -> None:
    """Named for what is missing when one has no rows."""
    assert [f"{first:%Y-%m}" for first, _ in Period.parse("2018-Q1", "quarter").months] == [
        "2018-01", "2018-02", "2018-03",
    ]  # fmt: skip


@given(st.dates(date(EARLIEST + 1, 1, 1), date(LATEST - 1, 12, 31)), st.sampled_from(["month", "quarter"]))
def test_periods_tile_the_calendar(day: date, granularity: Granularity) -> None:
    """A day lies in one period, which ends where the next begins, and reads back from key and text."""
    period = Period.containing(day, granularity)

    assert period.start <= day < period.end
    assert period.shifted(1).start == period.end
    assert period.shifted(1).shifted(-1) == period
    assert Period.parse(period.key, granularity) == Period.parse(period.text, granularity) == period
