"""An argument that the tool needs is not there."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.arg_shape import shape_at, shape_of_model
from dagster_planexec.checks.static.rule import StaticFinding
from dagster_planexec.checks.static.structure import Structure


def missing_arg(structure: Structure) -> Iterator[StaticFinding]:
    """A step gives every argument that its tool requires."""
    for view in structure.steps:
        for error in view.errors:
            if error.type != "missing" or view.contract is None:
                continue
            taker = shape_at(shape_of_model(view.contract.args), (error.path,))
            yield StaticFinding(
                "missing-arg",
                view.name,
                f"args.{error.path}",
                f"{taker or 'a value'} (required by {view.contract.name})",
                "nothing",
                f"give {error.path}, as a literal or a reference",
                arg=error.argument,
            )
