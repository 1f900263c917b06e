"""What the task watches is what it was when it was admitted."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.task import Watch
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Fact, Observation, Source
from dagster_planexec.world.subject import Subject

NAME = "watched_is_unchanged"


def watched_is_unchanged(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """Each watched thing now against the admission. What was there is changed or gone, or something has joined it."""
    checks: list[BoundCheck] = []
    for watch in scope.task.watches:
        probe = watch.probe(scope.task, scope.period, scope.roots)
        was = scope.admission.watched.get(watch.name)
        source = Source(Subject("admission", probe.subject.name), f"{probe.reader} at admission", scope.admission.at)
        stated = Stated(_counted(watch, was), source)
        checks.append(Check(NAME, phase, probe, stated, _judge(watch, was), by_time=True, absent_code=watch.gone))
    return tuple(checks)


def _judge(watch: Watch, was: Mapping[str, Fact] | None) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        expected, seen = _counted(watch, was), _counted(watch, observed.facts)
        lost = watch.lost(was, observed.facts)
        if lost is not None:
            return Finding("failed", expected, seen, f"{lost} since admission", watch.changed)
        if dict(observed.facts) != dict(was or {}):
            joined = [str(thing)[:80] for thing in _things(observed.facts) if thing not in set(_things(was or {}))]
            named = f": {', '.join(map(repr, joined[:3]))}" if joined else ""
            text = f"{watch.name} holds more than was admitted{named}"
            return Finding("failed", expected, seen, text, "INPUT_UNREAD")
        return Finding("passed", expected, seen, f"{watch.name} is as it was admitted")

    return judge


def _things(facts: Mapping[str, Fact]) -> list[str]:
    return [thing for fact in facts.values() if isinstance(fact, Mapping) for thing in fact]


def _counted(watch: Watch, facts: Mapping[str, Fact] | None) -> str:
    if facts is None:
        return "nothing"
    counts = [f"{facts[name]} {name}" for name in watch.measures if name in facts]
    return ", ".join(counts) or f"{len(facts)} facts"
