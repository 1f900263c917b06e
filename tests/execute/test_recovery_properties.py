"""Whatever a tool answers, in whatever order: a step comes to an end, and what cannot be undone is called once."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.outcome import Failed
from dagster_planexec.contract.strategies import ALL_STRATEGIES, STRATEGIES
from dagster_planexec.journal.attempts.budget import left_of, spent
from dagster_planexec.recovery.choice import Choice, Chooser, Question
from dagster_planexec.recovery.decide import weigh
from dagster_planexec.recovery.situations import decode_situation
from tests.support.bench import BenchMaker
from tests.support.scripted import Scripted, ScriptedStore, decided, plan_of, step, with_tools

_run = itertools.count()
codes = st.sampled_from([*CODES, "NOT_A_CODE"])
acts = st.lists(
    st.builds(Failed, codes, st.just("no"), retry_after_s=st.none() | st.sampled_from([0.0, 5.0, 7200.0, 1e9, -1.0]))
    | st.none(),
    max_size=12,
)
narrowed = st.dictionaries(
    codes.filter(lambda c: c in STRATEGIES), st.sets(st.sampled_from(ALL_STRATEGIES)), max_size=3
)


class Anything(Chooser):
    """Picks by the turn, also what is not there."""

    name = "anything"
    calls_model = False

    def __init__(self, answers: list[str]) -> None:
        self._answers = answers

    def choose(self, question: Question) -> Choice:
        """The next answer; then nothing."""
        return Choice(self._answers.pop(0) if self._answers else "")


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=acts, by_other=acts, effect=st.sampled_from(["read", "write", "irreversible"]), idempotent=st.booleans(),
    max_tries=st.integers(1, 4), max_retries=st.integers(0, 6), less=narrowed, needed=st.booleans(),
    answers=st.lists(st.sampled_from([*ALL_STRATEGIES, "pay"]), max_size=6), fallback=st.booleans(),
)  # fmt: skip
def test_every_step_ends_within_its_tries_and_its_attempts_retries(  # noqa: PLR0917 - given by name
    bench: BenchMaker, said: list[Any], by_other: list[Any], effect: Any, idempotent: bool, max_tries: int,
    max_retries: int, less: dict[str, set[Any]], needed: bool, answers: list[str], fallback: bool,
) -> None:  # fmt: skip
    """Refreshed, corrected and made by the fallback at most once per run; every decision can be made again."""
    b = bench()
    strategies = {c: tuple(one for one in STRATEGIES[c] if one in kept) for c, kept in less.items()}
    named = "other" if fallback and effect != "irreversible" else None
    tool = Scripted("act", b.calls, said, effect=effect, idempotent=idempotent, max_tries=max_tries, fallback=named,
                    strategies=strategies)  # fmt: skip
    other = Scripted("other", b.calls, by_other, effect="read")
    base = with_tools(b, other if not needed else tool).work.task
    task = replace(base, recovery_choice=True, limits=replace(base.limits, max_retries=max_retries))
    b = with_tools(b, tool, other, task=task, chooser=Anything(answers),
                   ports=replace(b.work.ports, objects=ScriptedStore([])))  # fmt: skip
    plan, run_id = plan_of(step("a", "act")), f"run-{next(_run)}"

    tries = 0
    while (report := b.go(plan, run_id)[0]).state is None:
        tries += 1
        assert tries <= max_tries

    assert report.state in {"done", "failed", "held", "waiting", "not-run"}
    used = [event.payload for event in decided(b)]
    if effect == "irreversible":
        assert len(b.calls) <= 1
    assert len(b.calls) <= max_tries + 2  # one with other credentials, one by the fallback; nothing here is corrected
    assert spent(b.work.journal, b.attempt).retries <= max_retries
    assert (
        left_of(b.work.journal, b.attempt, task.limits).retries
        == max_retries - spent(b.work.journal, b.attempt).retries
    )
    for once in ("refresh-credentials", "retry-corrected", "use-fallback"):
        assert sum(payload.get("strategy") == once for payload in used) <= 1
    for payload in used:
        if payload["code"] is not None:
            again = weigh(decode_situation(dict(payload["situation"])), choice=payload["strategy"])
            assert (again.strategy, list(again.viable), dict(again.removed)) == (
                payload["strategy"], payload["viable"], {one["strategy"]: one["rule"] for one in payload["removed"]},
            )  # fmt: skip
            assert payload["strategy"] is None or payload["strategy"] in (
                *strategies.get(payload["code"], ALL_STRATEGIES),
                "stop",
            )
