"""A result is used without depending on the step that makes it."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, shown_name


def undeclared_ref_dependency(proposal: Proposal) -> Iterator[StaticFinding]:
    """A step that refers to a result depends on the step that makes it, directly or through others."""
    declared = proposal.declared_ancestry
    for view in proposal.steps:
        told: set[str] = set()
        for use in view.uses:
            name = use.reference.step
            if name in told or name == view.id or name not in proposal.by_id or declared.precedes(name, view.id):
                continue
            told.add(name)
            yield StaticFinding(
                "undeclared-ref-dependency",
                view.id,
                "depends_on",
                f"{shown_name(name)}, to which args.{use.reference.path} refers",
                listed(view.step.depends_on),
                f"add {shown_name(name)} to depends_on of {shown_name(view.id)}",
            )
