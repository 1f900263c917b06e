"""Asking an expectation suite: Great Expectations writes the SQL, DuckDB answers it, plain facts come back."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

# Before it is imported: it reads this once, and tells nobody of what is done here.
os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")

import great_expectations as gx
from great_expectations.core import ExpectationSuiteValidationResult, ExpectationValidationResult
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)

from dagster_planexec.resources.expectations.dialect import reachable
from dagster_planexec.resources.expectations.page import page_of
from dagster_planexec.world.suite import Expectation, Suite, SuiteTold, Told

if TYPE_CHECKING:
    import duckdb

EXAMPLES = 5
LONGEST = 80
_FORMAT = {"result_format": "BASIC", "partial_unexpected_count": EXAMPLES}


def ask(connection: duckdb.DuckDBPyConnection, suite: Suite, view: str, *, rows: int, with_page: bool) -> SuiteTold:
    """What the suite says of a relation.

    Args:
        connection: Of a locked-down session; nothing is written through it.
        suite: What to ask.
        view: The name that the session has bound to it.
        rows: Its rows, counted by the caller.
        with_page: Whether to make the page too.
    """
    with _silence(), reachable(connection) as url:
        context = gx.get_context(mode="ephemeral", project_config=_nothing_outside())
        source = context.data_sources.add_sql("warehouse", connection_string=url)
        asset = source.add_table_asset(view, table_name=view)
        batch = asset.add_batch_definition_whole_table("all").get_batch()
        asked = gx.ExpectationSuite(name=suite.name, expectations=[_as_gx(one) for one in suite.expectations])
        asked = context.suites.add(asked)
        places = {one.id: number for number, one in enumerate(asked.expectations)}  # results come in another order
        result = batch.validate(asked, result_format=_FORMAT)
        found = {places.get(one.expectation_config.id): one for one in result.results if one.expectation_config}
        for number in [number for number, one in found.items() if number is not None and _raised(one)]:
            # Several are answered by one statement; alone, only that which cannot be answered raises.
            found[number] = batch.validate(asked.expectations[number], result_format=_FORMAT)
    answered = [(one, found[number]) for number, one in enumerate(suite.expectations) if number in found]
    told = tuple(_told(one, seen) for one, seen in answered)
    return SuiteTold(rows, told, _page(result, [seen for _, seen in answered]) if with_page else "")


@contextmanager
def _silence() -> Iterator[None]:
    """What raises is told as a fact. The library would also log it, with whatever a cell holds."""
    logger = logging.getLogger("great_expectations")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


def _nothing_outside() -> DataContextConfig:
    """No project folder, no store on disk, no analytics, no progress bar."""
    return DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        analytics_enabled=False,
        progress_bars=ProgressBarsConfig(globally=False),
    )


def _as_gx(one: Expectation) -> dict[str, Any]:
    return {"type": one.type, "kwargs": one.arguments, "meta": {}}


def _told(one: Expectation, seen: ExpectationValidationResult) -> Told:
    result = seen.result or {}
    raised = _raised(seen)
    count, unexpected, missing = (_count(result.get(n)) for n in ("element_count", "unexpected_count", "missing_count"))
    about_rows = count is not None
    if raised:
        observed = "not evaluated"
    elif about_rows:
        observed = f"{unexpected or 0} of {count} rows break it"
        observed += f", {missing} have no value" if missing else ""
    else:
        observed = _short(result.get("observed_value", "it holds" if seen.success else "it does not hold"))
    return Told(
        str(one)[:300],
        success=bool(seen.success) and not raised,
        observed=observed,
        looked_at=None if count is None else count - (missing or 0),
        unexpected=(unexpected or 0) if about_rows else None,
        examples=tuple(_short(value) for value in (result.get("partial_unexpected_list") or ())[:EXAMPLES]),
        raised=raised,
    )


def _raised(seen: ExpectationValidationResult) -> str:
    """What was raised while it was asked, bounded; empty if nothing was."""
    info = seen.exception_info or {}
    # One exception by itself, or one for each number that could not be had.
    for one in (info, *(value for value in info.values() if isinstance(value, Mapping))):
        if one.get("raised_exception"):
            return " ".join(str(one.get("exception_message") or "it raised").split())[:300]
    return ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _page(result: ExpectationSuiteValidationResult, results: list[ExpectationValidationResult]) -> str:
    result.results[:] = results
    result.success = all(one.success for one in results)
    return page_of(result)
