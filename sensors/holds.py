"""Who is told when a month waits for a person. Replace the body by your mail, chat or pager."""

from __future__ import annotations

import logging

from dagster_planexec import HoldNews


def ask(news: HoldNews) -> None:
    """Called when a hold opens, ages, expires or is superseded, with what waits and the exact commands."""
    logging.getLogger("holds").warning(news.text)
