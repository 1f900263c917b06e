"""A check: two sources that can disagree, or it cannot be built; and only an answer opens its gate."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest

from dagster_planexec.checks.check import Check, Finding, NotApplicable, Stated, equal
from dagster_planexec.contract.verdict import Side, Status, Verdict, first_shut, worst
from dagster_planexec.errors import IndependenceError
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.subject import Subject

NINE = datetime(2026, 3, 7, 9, 2, tzinfo=UTC)
TEN = datetime(2026, 3, 7, 9, 12, tzinfo=UTC)
TABLE = Subject("warehouse", "staging.x")


@dataclass(frozen=True)
class Look(Probe):
    """A probe that is only built here, never run."""

    of: Subject = TABLE
    by: str = "SQL count(*)"

    @property
    def subject(self) -> Subject:
        """What it was given."""
        return self.of

    @property
    def reader(self) -> str:
        """What it was given."""
        return self.by

    def observe(self, ports: Ports) -> Observation:
        """Nothing looks in this file."""
        raise AssertionError(ports)


def check(observes: Probe = Look(), against: Probe | Stated | None = None, *, by_time: bool = False) -> Check:
    """A check of rows."""
    expected = against or Stated(3, Source(Subject("contract", "c"), "min_rows"))
    return Check("rows", "post", observes, expected, lambda seen, _: equal("X", 3, seen["rows"], what="rows"),
                 by_time=by_time)  # fmt: skip


def seen(rows: int) -> Observation:
    """An answer."""
    return Observation(Look().source(), "seen", {"rows": rows})


@pytest.mark.parametrize("system", ["plan", "tool", "journal"])
def test_what_only_repeats_is_never_the_observed_side(system: str) -> None:
    """The plan, a tool's report, the journal's copy of either."""
    with pytest.raises(IndependenceError, match="only repeats what was said"):
        check(Look(Subject(system, "x")))


def test_one_source_on_both_sides_cannot_be_built() -> None:
    """The same subject read by the same reader agrees with itself for ever."""
    with pytest.raises(IndependenceError, match="with itself"):
        check(Look(), Look())


@pytest.mark.parametrize(
    "other", [Look(Subject("warehouse", "staging.y")), Look(by="catalogue"), Look(Subject("s3", "b/k"), "HEAD")],
    ids=["another subject", "another reader", "another system"],
)  # fmt: skip
def test_another_subject_or_reader_is_independent(other: Probe) -> None:
    """It can disagree, so it may be compared."""
    assert check(Look(), other).probes == (Look(), other)


def test_another_moment_is_enough_only_for_unchanged_checks() -> None:
    """The same look, earlier: allowed where the question is whether it changed, refused elsewhere."""
    earlier = Stated(3, replace(Look().source(), at=NINE))

    assert check(Look(), earlier, by_time=True).by_time
    with pytest.raises(IndependenceError):
        check(Look(), earlier)


def test_an_unchanged_check_without_a_time_cannot_be_built() -> None:
    """An earlier look that does not say when is no earlier look."""
    with pytest.raises(IndependenceError):
        check(Look(), Stated(3, Look().source()), by_time=True)


def test_the_source_text_carries_the_time() -> None:
    """So that a person sees which moment was compared with which."""
    assert str(replace(Look().source(), at=TEN)).startswith(
        "warehouse:staging.x read by SQL count(*) at 2026-03-07T09:12:00"
    )


def test_the_error_survives_a_process_border() -> None:
    """Exceptions with their own constructors must say how to be rebuilt."""
    error = IndependenceError("rows", "would compare x with itself")

    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301 - our own bytes


@pytest.mark.parametrize(("rows", "status", "code"), [(3, "passed", None), (2, "failed", "X")])
def test_a_verdict_shows_both_sides(rows: int, status: Status, code: str | None) -> None:
    """Values and sources, and the code only if the gate stays shut."""
    verdict = check().verdict({Look(): seen(rows)})

    assert (verdict.status, verdict.code) == (status, code)
    assert (verdict.expected.value, verdict.observed.value) == (3, rows)
    assert verdict.expected.source != verdict.observed.source


def test_nothing_observed_is_not_evaluated() -> None:
    """A missing observation shuts the gate."""
    verdict = check().verdict({})

    assert (verdict.status, verdict.opens) == ("not-evaluated", False)
    assert verdict.observed.value == "not observed"


def test_an_errored_probe_is_an_errored_verdict_with_its_code() -> None:
    """Whatever the judge would say, it is not asked."""
    errored = Observation(Look().source(), "errored", {}, "LOCKED", "held by PID 7")

    verdict = check().verdict({Look(): errored})

    assert (verdict.status, verdict.code, verdict.text, verdict.opens) == ("errored", "LOCKED", "held by PID 7", False)


def test_an_errored_other_side_is_an_errored_verdict() -> None:
    """Both sides must have answered."""
    other = Look(by="catalogue")
    errored = Observation(other.source(), "errored", {}, "TIMEOUT", "late")

    verdict = check(Look(), other).verdict({Look(): seen(3), other: errored})

    assert (verdict.status, verdict.code) == ("errored", "TIMEOUT")


def test_a_judge_that_raises_shuts_the_gate() -> None:
    """A judge that cannot judge has not passed anything."""
    verdict = check().verdict({Look(): Observation(Look().source(), "seen", {})})

    assert (verdict.status, verdict.code, verdict.opens) == ("errored", "INTERNAL", False)


def test_a_failure_without_a_code_is_internal() -> None:
    """Every shut gate has a code."""
    odd = replace(check(), judge=lambda _seen, _against: Finding("failed", 1, 2, "no"))

    assert odd.verdict({Look(): seen(3)}).code == "INTERNAL"


def test_not_applicable_names_the_clause_and_opens() -> None:
    """Decided before the run: the clause on one side, `not observed` on the other."""
    clause = Source(Subject("contract", "vendor_invoice v1"), "control_totals")
    verdict = NotApplicable("control_totals_agree", "post", "none declared", clause).verdict()

    assert verdict.opens
    assert (verdict.expected.source, verdict.observed.value) == (clause, "not observed")


@pytest.mark.parametrize(
    ("status", "opens"),
    [("passed", True), ("not-applicable", True), ("failed", False), ("errored", False), ("not-evaluated", False)],
)
def test_only_passed_and_not_applicable_open_a_gate(status: Status, opens: bool) -> None:
    """Stated for every status there is."""
    side = Side(1, Look().source())

    assert Verdict("c", "post", status, side, side).opens is opens


def test_the_first_shut_verdict_is_the_steps() -> None:
    """In contract order, not by badness."""
    side = Side(1, Look().source())
    verdicts = [Verdict("a", "post", "passed", side, side), Verdict("b", "post", "not-evaluated", side, side, "B"),
                Verdict("c", "post", "failed", side, side, "C")]  # fmt: skip

    assert first_shut(verdicts) == verdicts[1]
    assert first_shut(verdicts[:1]) is None


def test_the_worst_of_several() -> None:
    """One gate over several steps shows the worst."""
    assert worst(["passed", "failed", "not-applicable"]) == "failed"
    assert worst(["not-applicable", "passed"]) == "passed"
    assert worst([]) is None
