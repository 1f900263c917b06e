"""A query that may answer differently on the same data."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted


def nondeterministic_query(proposal: Proposal) -> Iterator[StaticFinding]:
    """A query is one readable statement that gives the same rows for the same inputs."""
    for view in proposal.steps:
        for problem in proposal.sql_problems(view):
            if problem.code == "undeclared-input":
                continue  # has a rule of its own; everything else makes the answer uncertain
            reason = "" if problem.code == "nondeterministic-query" else f" ({problem.code})"
            yield StaticFinding(
                "nondeterministic-query",
                view.id,
                "args.file",
                "one statement with a total order wherever order matters",
                f"{quoted(view.step.args.get('file'))}: {problem.text}{reason}",
                "correct the query",
            )
