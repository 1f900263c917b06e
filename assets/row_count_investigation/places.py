"""The tables of one month's investigation, and what counts as a drop."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from dagster_planexec.world.period import Period

WEEKS_BEFORE = 8
"""Weeks before the period that say what is usual."""
A_DROP = Decimal("0.05")
"""Share of the usual rows that must be missing before there is anything to explain."""
LOW = Decimal("0.85")
"""A day with less than this share of its usual rows is low."""
CARRIES = Decimal("0.8")
"""Share of the missing rows that a cause must account for."""


def orders(period: Period) -> str:
    """The view whose row count dropped."""
    return f"shop.orders_{period.compact}"


def landed(period: Period) -> str:
    """The table that the view is made of."""
    return f"shop.landed_{period.compact}"


def load_log(period: Period) -> str:
    """What the loader says of each day and source."""
    return f"shop.load_log_{period.compact}"


def usual_from(period: Period) -> date:
    """The first day of the weeks that say what is usual."""
    return period.start - timedelta(weeks=WEEKS_BEFORE)
