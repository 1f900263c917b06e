"""A reference to something that the argument does not take."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.arg_shape import accepts, shape_of_model
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted
from dagster_planexec.checks.static.structure import StepView, Structure, Use
from dagster_planexec.contract.tool import ToolContract


def ref_type_mismatch(structure: Structure) -> Iterator[StaticFinding]:
    """A reference names a field of a step's result, and that field is what the argument takes."""
    for view in structure.steps:
        for use in view.uses:
            source = structure.by_id.get(use.reference.step)
            if source is None or source.contract is None or source is view:
                continue
            given = structure.given(use.reference)
            if given is None:
                yield _unknown_field(structure, view, use, source.contract)
            elif use.taker is not None and not accepts(use.taker, given):
                yield StaticFinding(
                    "ref-type-mismatch",
                    view.name,
                    f"args.{use.reference.path}",
                    f"{use.taker}",
                    f"{given}, which is what {quoted(structure.shown(use.reference))} is",
                    _hint(structure, use, source.contract),
                    arg=use.argument,
                    ref=source.name,
                )


def _unknown_field(structure: Structure, view: StepView, use: Use, contract: ToolContract) -> StaticFinding:
    fields = tuple(name for name, _ in shape_of_model(contract.result).fields)
    near = nearest(use.reference.field, fields)
    if near is None and len(fields) == 1:
        near = fields[0]
    name = structure.name_of(use.reference.step)
    return StaticFinding(
        "ref-type-mismatch",
        view.name,
        f"args.{use.reference.path}",
        f"a field of the result of {contract.name}: {listed(fields)}",
        quoted(use.reference.field) if use.reference.field else "no field",
        f"write {{'ref': '{name[:80]}.{near}'}}" if near else "name one of these fields",
        arg=use.argument,
        ref=name,
    )


def _hint(structure: Structure, use: Use, contract: ToolContract) -> str:
    assert use.taker is not None  # noqa: S101 - the caller asked
    fits = [name for name, shape in shape_of_model(contract.result).fields if accepts(use.taker, shape)]
    if fits:
        return f"write {{'ref': '{structure.name_of(use.reference.step)[:80]}.{fits[0]}'}}"
    if use.taker.base == "list":
        return "put the reference into a list: [{'ref': ...}]"
    return f"refer to a step whose result is a {use.taker}"
