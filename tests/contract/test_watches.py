"""Tasks without a delivery, without money, and with things they watch."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from dagster_planexec.contract.layout import credit_cap_of, currency_of, drop_of
from dagster_planexec.contract.task import CreditRule, Deliverable, Limits, NamedInput, Scope, Task, Watch
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.probes.table.tables import CountTable

TASK = Task(
    name="bare", version="1", goal="", granularity="month", first_period="2026-01", zone="UTC", tools=(),
    deliverables=(), limits=Limits(), scope=Scope(frozenset(), frozenset()),
)  # fmt: skip
WATCH = Watch("files", lambda task, period, roots: CountTable("a.b"), {"count": "how many"})


@pytest.mark.parametrize("asked", [drop_of, currency_of, credit_cap_of])
def test_what_a_task_does_not_state_is_refused_and_not_guessed(asked) -> None:
    """Whoever needs it is told what to state."""
    with pytest.raises(PlanexecError) as caught:
        asked(TASK)
    assert (caught.value.code, bool(caught.value.hint)) == ("BAD_CONTRACT", True)


def test_a_task_that_pays_states_its_bounds() -> None:
    """A default could pay."""
    pays = (Deliverable("credits", ("pay",), repeatable=False, credit_rule=CreditRule("a", "b")),)
    with pytest.raises(ValueError, match="credit_cap"):
        replace(TASK, deliverables=pays)
    replace(TASK, deliverables=pays, limits=Limits("USD", Decimal(1), 1))


def test_a_task_that_compares_states_the_share() -> None:
    """There is no default for how much must match."""
    sides = (NamedInput("a", "side", "x"), NamedInput("b", "side", "x"))
    with pytest.raises(ValueError, match="min_matched_share"):
        replace(TASK, inputs=sides)
    replace(TASK, inputs=sides, limits=Limits(min_matched_share=Decimal("0.5")))


@pytest.mark.parametrize("names", [("drop",), ("input:x",), ("step:a",), ("A",), ("",), ("a", "a")])
def test_a_watch_has_a_name_of_its_own(names: tuple[str, ...]) -> None:
    """A plan names it, so it may not be something else a plan can name."""
    with pytest.raises(ValueError, match="watches"):
        replace(TASK, watches=tuple(replace(WATCH, name=name) for name in names))


@pytest.mark.parametrize(
    ("before", "now", "lost"),
    [
        ({"count": 1, "sha": {"a": "1"}}, {"count": 1, "sha": {"a": "1"}}, None),
        ({"count": 1, "sha": {"a": "1"}}, {"count": 2, "sha": {"a": "1", "b": "2"}}, None),
        ({"count": 1, "sha": {"a": "1"}}, {"count": 1, "sha": {"a": "2"}}, "'a' was replaced"),
        ({"count": 1, "sha": {"a": "1"}}, {"count": 1, "sha": {"b": "1"}}, "'a' is gone"),
        ({"digest": "1"}, {"digest": "2"}, "digest changed"),
        ({"digest": "1"}, {}, "digest changed"),
        ({"sha": {"a": "1"}}, {"sha": "1"}, "sha changed"),
        ({"count": 1}, None, "is gone"),
        (None, {"count": 1}, None),
        (None, None, None),
    ],
)  # fmt: skip
def test_what_was_there_may_be_joined_and_not_changed(before, now, lost) -> None:
    """Things by name may be joined by others, measures may count, nothing else may change."""
    found = WATCH.lost(before, now)
    assert (found is None) if lost is None else (found is not None and lost in found and "files" in found)
