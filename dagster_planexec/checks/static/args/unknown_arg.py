"""An argument that the tool does not take."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.arg_shape import shape_of_model
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted
from dagster_planexec.checks.static.structure import Structure


def unknown_arg(structure: Structure) -> Iterator[StaticFinding]:
    """A step gives no argument that its tool does not take: nothing is passed over in silence."""
    for view in structure.steps:
        for error in view.errors:
            if error.type != "extra_forbidden" or view.contract is None:
                continue
            known = [name for name, _ in shape_of_model(view.contract.args).fields]
            near = nearest(error.path, known)
            yield StaticFinding(
                "unknown-arg",
                view.name,
                f"args.{error.path}",
                f"only {listed(known)}",
                quoted(error.seen),
                f"write {near!r}" if near else "remove it",
                arg=error.argument,
            )
