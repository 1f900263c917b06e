"""A step needs itself."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.rule import StaticFinding, quoted
from dagster_planexec.checks.static.structure import Structure


def self_ref(structure: Structure) -> Iterator[StaticFinding]:
    """A step neither refers to its own result nor depends on itself."""
    for view in structure.steps:
        for named in structure.named_by(view):
            if named.id == view.id:
                yield StaticFinding(
                    "self-ref",
                    view.name,
                    named.field,
                    "another step",
                    quoted(view.name),
                    "name the step that makes the value",
                    arg=named.argument,
                    ref=view.name,
                )
