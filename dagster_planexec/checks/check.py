"""A check: what is observed, against what, and how the two are judged. Pure; the executor does the looking.

A check declares probes. `execute.observer` runs them, `judge` compares. Building a check whose two sides come from one
source raises: such a check agrees with itself for ever and cannot fire.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dagster_planexec.contract.verdict import Phase, Side, Status, Verdict
from dagster_planexec.errors import IndependenceError
from dagster_planexec.world.observation import NOT_OBSERVERS, Fact, Observation, Source
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject


@dataclass(frozen=True, slots=True)
class Stated:
    """An expected value that is not observed now: stated by a contract, a task, a plan, or seen earlier."""

    value: Fact
    source: Source


@dataclass(frozen=True, slots=True)
class Finding:
    """What judging two sides gave: a status, both values, and words."""

    status: Status
    expected: Fact
    observed: Fact
    text: str
    code: str | None = None


Judge = Callable[[Observation, "Observation | Stated"], Finding]


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison, bound to its subjects, ready to be observed and judged.

    Args:
        name: The check's word, the same as its rule, file, fixture and test.
        phase: When it is judged: `live` before the run, `pre` before the call, `post` after it.
        observes: The probe whose answer is judged.
        against: Another probe, or a stated value.
        judge: Compares the answers. It is only called with an observation that is not errored.
        by_time: For *unchanged* checks only: the two sides may differ in nothing but the moment of observation.
        absent_code: The code if the observed subject is not there and the judge does not expect that.

    Raises:
        IndependenceError: The observed side is the plan, a tool's report or the journal, or both sides are one source.
    """

    name: str
    phase: Phase
    observes: Probe
    against: Probe | Stated
    judge: Judge
    by_time: bool = False
    absent_code: str | None = None

    def __post_init__(self) -> None:
        observed = self.observes.source()
        expected = self.against.source if isinstance(self.against, Stated) else self.against.source()
        if observed.subject.system in NOT_OBSERVERS:
            raise IndependenceError(self.name, f"would observe {observed.subject}, which only repeats what was said")
        if not observed.is_independent_of(expected, by_time=self.by_time):
            raise IndependenceError(self.name, f"would compare {observed} with itself")

    @property
    def probes(self) -> tuple[Probe, ...]:
        """Everything that must be observed before it can be judged."""
        return (self.observes,) if isinstance(self.against, Stated) else (self.observes, self.against)

    def verdict(self, seen: Mapping[Probe, Observation]) -> Verdict:
        """Judge the observations. A missing or errored one shuts the gate; so does a judge that raises."""
        observed = seen.get(self.observes)
        against = self.against if isinstance(self.against, Stated) else seen.get(self.against)
        expected_source = _source_of(self.against if against is None else against)
        observed_source = observed.source if observed is not None else self.observes.source()

        def closed(
            status: Status, code: str, text: str, *, left: Fact = "not observed", right: Fact = "not observed"
        ) -> Verdict:
            return Verdict(
                self.name, self.phase, status, Side(left, expected_source), Side(right, observed_source), code, text
            )

        stated = against.value if isinstance(against, Stated) else "not observed"
        for side in (observed, against):
            if side is None:
                return closed("not-evaluated", "INTERNAL", "nothing was observed", left=stated)
            if isinstance(side, Observation) and side.state == "errored":
                shut = closed("errored", side.code or "INTERNAL", side.message or "the probe failed", left=stated)
                return replace(shut, retry_after_s=side.retry_after_s)
        assert observed is not None  # noqa: S101 - narrowed by the loop above
        assert against is not None  # noqa: S101 - narrowed by the loop above
        if observed.state == "absent" and self.absent_code is not None:
            text = f"{self.observes.subject} is not there" + (f": {observed.message}" if observed.message else "")
            return closed("failed", self.absent_code, text, left=stated, right="absent")
        try:
            found = self.judge(observed, against)
        except Exception as error:  # noqa: BLE001 - a judge that cannot judge must shut the gate, whatever it raised
            return closed(
                "errored", "INTERNAL", f"the judge raised {type(error).__name__}: {str(error)[:200]}", left=stated
            )
        code = None if found.status in {"passed", "not-applicable"} else (found.code or "INTERNAL")
        return Verdict(
            self.name,
            self.phase,
            found.status,
            Side("none" if found.expected is None else found.expected, expected_source),
            Side("none" if found.observed is None else found.observed, observed_source),
            code,
            found.text,
        )


def _source_of(side: Probe | Stated | Observation) -> Source:
    return side.source() if isinstance(side, Probe) else side.source


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A check that the contract or task rules out beforehand. Never decided from what was seen."""

    name: str
    phase: Phase
    reason: str
    clause: Source
    """The clause that rules it out."""

    def verdict(self) -> Verdict:
        """The verdict that opens the gate and says which clause let it."""
        return Verdict(
            self.name,
            self.phase,
            "not-applicable",
            Side(self.reason, self.clause),
            Side("not observed", Source(Subject("world", "none"), "no probe")),
            None,
            self.reason,
        )


BoundCheck = Check | NotApplicable


def equal(code: str, expected: Fact, observed: Fact, *, what: str) -> Finding:
    """Passed if both values are the same, else failed with that code and both numbers in the text."""
    if expected == observed:
        return Finding("passed", expected, observed, f"{what}: {observed}, as expected")
    return Finding("failed", expected, observed, f"{what}: expected {expected}, saw {observed}", code)
