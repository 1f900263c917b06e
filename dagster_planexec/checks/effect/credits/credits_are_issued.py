"""The credit system holds exactly the credit lines of the result: no fewer, no other, no other amount."""

from __future__ import annotations

from dataclasses import replace

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.layout import credit_shape, currency_of, effect_scope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.result.credits import CreditLines, CreditsIssued

NAME = "credits_are_issued"


def credits_are_issued(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The system's own list against the lines counted and hashed by SQL once more.

    Where something was issued beforehand that is no longer due, or by another system, and people have released that:
    against what was seen before the call, key by key the larger of what was due and what was issued.
    """
    issued_in, _ = effect_scope(scope.task)
    shape = credit_shape(scope.task)
    currency = currency_of(scope.task)

    def said(facts: Observation) -> str:
        return f"{facts['count']} credits of {facts['amount']:,} {currency}, digest {str(facts['digest'])[:12]}"

    def judge(seen: Observation, against: Observation | Stated) -> Finding:
        if isinstance(against, Stated) or against.state == "absent":
            return Finding("not-evaluated", "absent", said(seen), f"{scope.args.source} is not there", "TABLE_GONE")
        expected, observed = said(against), said(seen)
        if all(seen[fact] == against[fact] for fact in ("count", "amount", "digest")):
            return Finding("passed", expected, observed, f"issued as due: {observed}")
        text = f"the credit system does not hold what is due: expected {expected}, saw {observed}"
        return Finding("failed", expected, observed, text, "EFFECT_UNKNOWN")

    observes = CreditsIssued(issued_in, scope.period.text, shape.scale)
    before = scope.preview
    if before is not None and before.state == "seen" and (before["over_amount"] or before["elsewhere_count"]):
        after = {fact: before[f"after_{fact}"] for fact in ("count", "amount", "digest")}
        source = replace(before.source, reader=f"{before.source.reader}, what is over left as it is")
        stood = Observation(source, "seen", after)
        return (Check(NAME, phase, observes, Stated(said(stood), source), lambda seen, _: judge(seen, stood)),)
    return (Check(NAME, phase, observes, CreditLines(scope.args.source, shape), judge),)
