"""A reference to something that the argument does not take."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.arg_shape import accepts, shape_of_model
from dagster_planexec.checks.static.proposal import Proposal, Use
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted
from dagster_planexec.contract.tool import ToolContract


def ref_type_mismatch(proposal: Proposal) -> Iterator[StaticFinding]:
    """A reference names a field of a step's result, and that field is what the argument takes."""
    for view in proposal.steps:
        for use in view.uses:
            source = proposal.by_id.get(use.reference.step)
            if source is None or source.contract is None or source is view:
                continue
            given = proposal.given(use.reference)
            if given is None:
                yield _unknown_field(view.id, use, source.contract)
            elif use.taker is not None and not accepts(use.taker, given):
                yield StaticFinding(
                    "ref-type-mismatch",
                    view.id,
                    f"args.{use.reference.path}",
                    f"{use.taker}",
                    f"{given}, which is what {quoted(str(use.reference))} is",
                    _hint(use, source.contract),
                )


def _unknown_field(step: str, use: Use, contract: ToolContract) -> StaticFinding:
    fields = tuple(contract.result.model_fields)
    near = nearest(use.reference.field, fields)
    if near is None and len(fields) == 1:
        near = fields[0]
    return StaticFinding(
        "ref-type-mismatch",
        step,
        f"args.{use.reference.path}",
        f"a field of the result of {contract.name}: {listed(fields)}",
        quoted(use.reference.field) if use.reference.field else "no field",
        f"write {{'ref': '{use.reference.step[:80]}.{near}'}}" if near else "name one of these fields",
    )


def _hint(use: Use, contract: ToolContract) -> str:
    assert use.taker is not None  # noqa: S101 - the caller asked
    fits = [name for name, shape in shape_of_model(contract.result).fields if accepts(use.taker, shape)]
    if fits:
        return f"write {{'ref': '{use.reference.step[:80]}.{fits[0]}'}}"
    if use.taker.base == "list":
        return "put the reference into a list: [{'ref': ...}]"
    return f"refer to a step whose result is a {use.taker}"
