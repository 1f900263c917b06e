"""An argument names something that the task does not open to plans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted
from dagster_planexec.checks.static.shape.vague_step import what_is_vague
from dagster_planexec.checks.static.structure import StepView, Text
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.reference import as_reference
from dagster_planexec.world.ingest import REJECTS
from dagster_planexec.world.period import Granularity, Period

FILES = frozenset({"file", "path"})
"""Arguments that name a file under one of the project's roots."""
LITERAL = ("bucket", "key", "prefix", "file", "path")
"""Arguments that are checked against allow-lists, so no reference can stand for them."""

_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}\.[A-Za-z_][A-Za-z0-9_]{0,62}")
_REPORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_PERIODS = re.compile(r"(?<!\d)(?:20\d\d-?(?:0[1-9]|1[0-2])(?!\d)|20\d\d-?[qQ][1-4](?!\d))")


def out_of_scope(proposal: Proposal) -> Iterator[StaticFinding]:
    """A plan names only what the task opens: its name, its period in all it writes, listed schemas, buckets, files."""
    yield from _plan(proposal)
    for view in proposal.steps:
        if view.contract is None:
            continue
        yield from _places(proposal, view)
        for text in view.texts:
            if what_is_vague(text) is not None:
                continue  # vague-step says so
            yield from _text(proposal, view, text)


def _plan(proposal: Proposal) -> Iterator[StaticFinding]:
    plan, task = proposal.plan, proposal.task
    if plan.task != task.name:
        yield _finding(None, "task", task.name, quoted(plan.task), f"write {task.name!r}")
    period, asked = proposal.period, proposal.expected_period
    if period is None or (asked is not None and period != asked):
        first_to_last = f"{task.first_period} to {task.last_period or 'now'}"
        expected = asked.text if asked else f"a {task.granularity} of {task.name}, {first_to_last}"
        yield _finding(
            None, "period", expected, quoted(plan.period), "write the period the plan was asked for, as YYYY-MM"
        )


def _places(proposal: Proposal, view: StepView) -> Iterator[StaticFinding]:
    """Buckets with their keys, and files: what has an allow-list and no kind."""
    args = view.step.args
    for name in LITERAL:
        if name in args and as_reference(args[name]) is not None:
            yield _finding(
                view, f"args.{name}", "a literal, which can be checked", "a reference", f"write the {name} itself"
            )
    buckets = proposal.task.scope.buckets
    bucket = args.get("bucket")
    if isinstance(bucket, str) and bucket not in buckets:
        yield _finding(view, "args.bucket", f"one of {listed(buckets)}", quoted(bucket), "read an allowed bucket")
    for name in ("key", "prefix"):
        value = args.get(name)
        prefixes = buckets.get(bucket) if isinstance(bucket, str) else None
        if not isinstance(value, str) or prefixes is None:
            continue
        if not any(value.startswith(prefix) for prefix in prefixes) or not _is_clean(value):
            expected = f"a plain key under {listed(prefixes)}"
            yield _finding(view, f"args.{name}", expected, quoted(value), "read only under these prefixes")


def _text(proposal: Proposal, view: StepView, text: Text) -> Iterator[StaticFinding]:
    found = [*_name(proposal, view, text), *_other_periods(proposal, view, text)]
    yield from found
    kind, period = text.taker.single_kind if text.taker is not None else None, proposal.period
    if found or period is None or kind not in {"table", "report"} or not _is_written(view, text):
        return
    if not names_period(text.value, period):
        yield _finding(
            view,
            f"args.{text.path}",
            f"a {kind} with {period.compact} in its name, so that no two periods write one",
            quoted(text.value),
            f"write {quoted(f'{text.value}_{period.compact}')}",
        )


def _name(proposal: Proposal, view: StepView, text: Text) -> Iterator[StaticFinding]:
    kind = text.taker.single_kind if text.taker is not None else None
    if kind == "table":
        yield from _table(proposal, view, text)
    elif kind == "report" and _REPORT.fullmatch(text.value) is None:
        yield _finding(
            view,
            f"args.{text.path}",
            "letters, digits, - and _: a name without folder and suffix",
            quoted(text.value),
            "write the name alone; the report root is the task's",
        )
    elif text.argument in FILES:
        yield from _file(proposal, view, text)


def _other_periods(proposal: Proposal, view: StepView, text: Text) -> Iterator[StaticFinding]:
    period = proposal.period
    if period is None:
        return
    for other in other_periods(text.value, period):
        yield _finding(
            view,
            f"args.{text.path}",
            f"names of {period.text} only",
            f"{quoted(text.value)}, which names {other}",
            f"write {period.text} or {period.compact} in its place",
        )


def _table(proposal: Proposal, view: StepView, text: Text) -> Iterator[StaticFinding]:
    field = f"args.{text.path}"
    if _TABLE.fullmatch(text.value) is None:
        yield _finding(view, field, "schema.table, plain identifiers", quoted(text.value), "name schema and table")
        return
    scope = proposal.task.scope
    schema = text.value.partition(".")[0].casefold()
    writes = _is_written(view, text)
    if writes and text.value.casefold().endswith(REJECTS):
        hint = f"write a name that does not end in {REJECTS}"
        yield _finding(view, field, "a table that the loader does not keep for rejected rows", quoted(text.value), hint)
    # What the task may write it may read again: its own staging tables are inputs of its next step.
    allowed = scope.schemas_write if writes else scope.schemas_read | scope.schemas_write
    if schema not in {name.casefold() for name in allowed}:
        verb = "write" if writes else "read"
        yield _finding(
            view, field, f"a table of {listed(sorted(allowed))}", quoted(text.value), f"{verb} only these schemas"
        )


def _file(proposal: Proposal, view: StepView, text: Text) -> Iterator[StaticFinding]:
    field = f"args.{text.path}"
    if text.value.startswith(("/", "~")) or re.match(r"[A-Za-z]:", text.value) or not _is_clean(text.value):
        yield _finding(
            view,
            field,
            "a relative path that stays under its root",
            quoted(text.value),
            "write the path below the root",
        )
    elif text.argument == "file" and proposal.sql_texts is not None and text.value not in proposal.sql_texts:
        near = nearest(text.value, proposal.sql_texts)
        yield _finding(
            view,
            field,
            f"one of {listed(sorted(proposal.sql_texts))}",
            quoted(text.value),
            f"write {near!r}" if near else "name a file of the task's SQL folder",
        )


def names_period(text: str, period: Period) -> bool:
    """Whether a name holds the period, as `2026-03` or `202603`, and not as part of a longer number."""
    name = text[:2000].casefold()
    forms = "|".join(re.escape(form.casefold()) for form in (period.text, period.compact))
    return re.search(rf"(?<![0-9])(?:{forms})(?![0-9])", name) is not None


def other_periods(text: str, period: Period) -> tuple[str, ...]:
    """Periods named in a text, as `2026-03`, `202603`, `2026-Q1` or `2026q1`, that are not that one or part of it."""
    found: dict[str, None] = {}
    for match in _PERIODS.findall(text[:2000]):
        word = match.replace("-", "").upper()
        granularity: Granularity = "quarter" if "Q" in word else "month"
        try:
            named = Period.parse(f"{word[:4]}-{word[4:]}", granularity)
        except PlanexecError:
            continue
        inside = Period.containing(named.start, period.granularity) == period
        around = Period.containing(period.start, named.granularity) == named
        if not inside and not around:
            found[named.text] = None
    return tuple(found)


def _is_written(view: StepView, text: Text) -> bool:
    return view.contract is not None and text.argument == view.contract.writes


def _is_clean(path: str) -> bool:
    parts = path.split("/")
    return path.isprintable() and "\\" not in path and ".." not in parts and "." not in parts and bool(path)


def _finding(view: StepView | None, field: str, expected: str, seen: Any, hint: str) -> StaticFinding:  # noqa: ANN401
    return StaticFinding("out-of-scope", view.id if view is not None else None, field, expected, seen, hint)
