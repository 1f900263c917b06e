"""An expectation that nothing can measure."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.expectation_words import measures, measures_of_steps
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted


def expectation_unknown(proposal: Proposal) -> Iterator[StaticFinding]:
    """An expectation is about drop, named input, watched thing or step, and counts what can be counted of it."""
    known = {**measures(proposal.task), **measures_of_steps(proposal.plan, proposal.registry)}
    for at, expected in enumerate(proposal.plan.expects):
        possible = known.get(expected.about)
        if possible is None:
            near = nearest(expected.about, known)
            yield StaticFinding(
                "expectation-unknown",
                None,
                f"expects[{at}].about",
                f"one of {listed(known)}",
                quoted(expected.about),
                f"write {near!r}" if near else "leave it out, or make it a claim of the step that can judge it",
            )
        elif expected.measure not in possible:
            yield StaticFinding(
                "expectation-unknown",
                None,
                f"expects[{at}].measure",
                f"of {expected.about}: {listed(possible)}",
                quoted(expected.measure),
                "name one of these, or leave the expectation out",
            )
        if isinstance(expected.value, str) or expected.value < 0:
            yield StaticFinding(
                "expectation-unknown",
                None,
                f"expects[{at}].value",
                "a count: an integer from 0",
                quoted(expected.value),
                "write the number without quotes",
            )
