"""An argument that the tool does not take."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted


def unknown_arg(proposal: Proposal) -> Iterator[StaticFinding]:
    """A step gives no argument that its tool does not take: nothing is passed over in silence."""
    for view in proposal.steps:
        for error in view.errors:
            if error.type != "extra_forbidden" or view.contract is None:
                continue
            known = tuple(view.contract.args.model_fields)
            near = nearest(error.path, known)
            yield StaticFinding(
                "unknown-arg",
                view.id,
                f"args.{error.path}",
                f"only {listed(known)}",
                quoted(error.seen),
                f"write {near!r}" if near else "remove it",
            )
