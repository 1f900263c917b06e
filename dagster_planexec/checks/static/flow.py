"""Where what a step uses comes from: what fills a named input, who writes a table last, which result is judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dagster_planexec.checks.static.arg_shape import ANY, Shape, accepts, shape_at, shape_of_model
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.structure import StepView
from dagster_planexec.contract.task import Deliverable, NamedInput
from dagster_planexec.plan.reference import Reference, as_reference


@dataclass(frozen=True, slots=True)
class Taken:
    """A table that a step takes in one of its arguments."""

    view: StepView
    path: str
    """Where it stands, e.g. `inputs.ledger`."""
    value: Any
    reference: Reference | None
    source: StepView | None
    """The step that makes it; None of a literal, and where other rules say that the reference is none."""


@dataclass(frozen=True, slots=True)
class Binding:
    """A named input of the task, bound in a step that reads inputs by name."""

    declared: NamedInput
    taken: Taken


def bindings(proposal: Proposal) -> Iterator[Binding]:
    """Every declared input that a step binds, in the order of the plan."""
    declared = {named.name: named for named in proposal.task.inputs}
    for view in proposal.steps:
        inputs = view.step.args.get("inputs")
        if not isinstance(inputs, Mapping) or _kind(view, "inputs", "*") != "table":
            continue
        for name, value in inputs.items():
            if name in declared:
                yield Binding(declared[name], _taken(proposal, view, ("inputs", name), value))


def judgements(proposal: Proposal) -> tuple[Deliverable | None, tuple[Taken, ...]]:
    """The deliverable that has the task's result, and every place where a step reports it or acts on it."""
    made = proposal.task.deliverables
    at = next((n for n, deliverable in enumerate(made) if deliverable.result is not None), None)
    if at is None or not made[at].tools:
        return None, ()
    before = {tool for deliverable in made[: at + 1] if deliverable.repeatable for tool in deliverable.tools}
    after = {tool for n, d in enumerate(made) if n > at or not d.repeatable for tool in d.tools} - before
    users = (v for v in proposal.steps if v.step.tool in after and "source" in v.step.args)
    taken = (_taken(proposal, v, ("source",), v.step.args["source"]) for v in users if _kind(v, "source") == "table")
    return made[at], tuple(taken)


def finals_of(proposal: Proposal, name: str) -> frozenset[str]:
    """The last tools of the deliverables that are this input; none if the task does not say how it is made."""
    return frozenset(made.tools[-1] for made in proposal.task.deliverables if made.input == name and made.tools)


def rewriter(proposal: Proposal, view: StepView) -> StepView | None:
    """A step that writes by reference what this one wrote, and not before it."""
    written = proposal.target(view)
    for other, target in proposal.writers[written.kind, written.name] if written is not None else ():
        if other is view or not target.by_reference:
            continue  # a second literal is write-conflict's matter
        if not proposal.ancestry.precedes(other.id, view.id):
            return other
    return None


def _taken(proposal: Proposal, view: StepView, segments: tuple[str, ...], value: Any) -> Taken:  # noqa: ANN401 - any JSON
    path = ".".join(segments)
    reference = as_reference(value, path)
    source = proposal.by_id.get(reference.step) if reference is not None else None
    if reference is not None and source is not None:
        given, taker = proposal.given(reference), _shape(view, *segments)
        if source is view or given is None or not accepts(taker or ANY, given):
            source = None  # unknown-tool, self-ref or ref-type-mismatch says so
    return Taken(view, path, value, reference, source)


def _kind(view: StepView, *segments: str) -> str | None:
    shape = _shape(view, *segments)
    return shape.single_kind if shape is not None else None


def _shape(view: StepView, *segments: str) -> Shape | None:
    return shape_at(shape_of_model(view.contract.args), segments) if view.contract is not None else None
