"""A result is used without depending on the step that makes it."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import AddDependency, StaticFinding, listed, shown_name
from dagster_planexec.checks.static.structure import Structure


def undeclared_ref_dependency(structure: Structure) -> Iterator[StaticFinding]:
    """A step that refers to a result depends on the step that makes it, directly or through others."""
    words = structure.writing.dependencies
    for view in structure.steps:
        told: set[str] = set()
        for use in view.uses:
            needed = use.reference.step
            if needed in told or needed not in structure.by_id or structure.is_declared(view, needed):
                continue
            told.add(needed)
            name = structure.name_of(needed)
            yield StaticFinding(
                "undeclared-ref-dependency",
                view.name,
                words,
                f"{shown_name(name)}, to which args.{use.reference.path} refers",
                listed(structure.name_of(other) for other in view.step.depends_on),
                f"add {shown_name(name)} to {words} of {shown_name(view.name)}",
                arg=use.argument,
                ref=name,
                fix=AddDependency(view.id, needed),
            )
