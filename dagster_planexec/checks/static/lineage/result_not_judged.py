"""What is reported or paid is not what was judged."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.flow import judgements, rewriter
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted, shown_name
from dagster_planexec.checks.static.structure import StepView


def result_not_judged(proposal: Proposal) -> Iterator[StaticFinding]:
    """Report and credits refer to one result, and to the step whose checks have judged it."""
    made, users = judgements(proposal)
    if made is None:
        return
    final = made.tools[-1]
    judged: StepView | None = None
    for taken in users:
        source = taken.source
        if source is None:
            if isinstance(taken.value, str):
                yield _finding(
                    taken.view,
                    taken.path,
                    f"a reference to a step of {final}, which makes {made.name}",
                    f"{quoted(taken.value)}, a table that no check has judged",
                    _hint(proposal, final),
                )
        elif source.step.tool != final:
            yield _finding(
                taken.view,
                taken.path,
                f"a reference to a step of {final}, which makes {made.name}",
                f"{quoted(str(taken.reference))}, made by {source.step.tool}",
                _hint(proposal, final),
            )
        elif judged is None:
            judged = source
        elif source is not judged:
            yield _finding(
                taken.view,
                taken.path,
                f"the result of {shown_name(judged.id)}, which another step reports",
                quoted(str(taken.reference)),
                "refer to one result everywhere: what a person reads is what is paid",
            )
    after = rewriter(proposal, judged) if judged is not None else None
    if judged is not None and after is not None:
        yield _finding(
            after,
            after.contract.writes if after.contract is not None else None,
            f"another table than that of {shown_name(judged.id)}, which was judged",
            "the same table",
            "write a table of its own",
        )


def _hint(proposal: Proposal, final: str) -> str:
    makers = proposal.makers((final,))
    return f"refer to the table of {shown_name(makers[0].id)}" if makers else f"add a step of {final}, and refer to it"


def _finding(view: StepView, argument: str | None, expected: str, seen: str, hint: str) -> StaticFinding:
    return StaticFinding("result-not-judged", view.id, f"args.{argument}" if argument else None, expected, seen, hint)
