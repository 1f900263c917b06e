"""A file of the delivery is fetched and not compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dagster_planexec.checks.static.arg_shape import shape_of_model
from dagster_planexec.checks.static.flow import bindings, finals_of, judgements
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, quoted, shown_name
from dagster_planexec.checks.static.structure import StepView, Use
from dagster_planexec.plan.digest import canonical_bytes


def delivery_unread(proposal: Proposal) -> Iterator[StaticFinding]:
    """Everything that is fetched is loaded, by reference and once, into the table that fills the delivery's input."""
    declared = {named.name for named in proposal.task.inputs}
    yield from _literals(proposal) if declared else ()
    filled = {proposal.task.drop.input} if proposal.task.drop is not None else set()
    names = (filled | {made.input for made in proposal.task.deliverables if made.input}) & declared
    fills = _fills(proposal, names)
    if not fills or any(fill.errors for fill in fills):
        return  # missing-deliverable, undeclared-input, bad-arg-type, ... say so
    reached = _reached(proposal, fills)
    for view in proposal.steps:
        if _lands(view) and view.id not in reached:
            users = [other.id for other in proposal.steps if any(use.reference.step == view.id for use in other.uses)]
            seen = f"only {listed(users, limit=5)} uses it" if users else "no step uses it"
            yield StaticFinding(
                "delivery-unread",
                view.id,
                None,
                f"to be loaded by {listed(fill.id for fill in fills)}, which fills {listed(sorted(names))}",
                f"{seen}; what it fetched is not compared",
                f"add its landed copy to the sources of {shown_name(fills[0].id)}, or do not fetch it",
            )
    yield from _repeated(proposal, fills)


def _literals(proposal: Proposal) -> Iterator[StaticFinding]:
    for view in proposal.steps:
        for text in view.texts:
            if text.taker is not None and text.taker.single_kind == "landed":
                yield StaticFinding(
                    "delivery-unread",
                    view.id,
                    f"args.{text.path}",
                    "a reference to what a step of the plan fetched",
                    quoted(text.value),
                    "fetch the file in a step, and refer to its landed copy",
                )


def _fills(proposal: Proposal, names: Iterable[str]) -> tuple[StepView, ...]:
    """The steps that fill the delivery's inputs of the judged comparison; without one, those that could."""
    finals = {name: finals_of(proposal, name) for name in names}
    judged = {taken.source.id for taken in judgements(proposal)[1] if taken.source is not None}
    found: dict[str, StepView] = {}
    for binding in bindings(proposal):
        name, source, user = binding.declared.name, binding.taken.source, binding.taken.view.id
        if name not in finals or source is None or (finals[name] and source.step.tool not in finals[name]):
            continue  # input-from-elsewhere says so
        if not judged or user in judged or any(proposal.data_ancestry.precedes(user, other) for other in judged):
            found[source.id] = source
    return tuple(found.values()) or proposal.makers(frozenset[str]().union(*finals.values()))


def _reached(proposal: Proposal, fills: Iterable[StepView]) -> set[str]:
    """The steps whose landed copies get to these, directly or through steps that make other copies of them."""
    reached: set[str] = set()
    pending = list(fills)
    while pending:
        for use in pending.pop().uses:
            name = use.reference.step
            if name not in reached and name in proposal.by_id and _takes_landed(proposal, use):
                reached.add(name)
                pending.append(proposal.by_id[name])
    return reached


def _repeated(proposal: Proposal, fills: Iterable[StepView]) -> Iterator[StaticFinding]:
    first: dict[bytes, str] = {}
    for view in fills:
        for use in view.uses:
            source = proposal.by_id.get(use.reference.step)
            if source is None or not _takes_landed(proposal, use):
                continue
            key = canonical_bytes([source.step.tool, source.step.args, use.reference.field])
            place = f"{shown_name(view.id)} at {use.reference.path}"
            if first.setdefault(key, place) != place:
                yield StaticFinding(
                    "delivery-unread",
                    view.id,
                    f"args.{use.reference.path}",
                    "a file that is not loaded yet",
                    f"{quoted(str(use.reference))}, which {first[key]} loads",
                    "load each file once",
                )


def _lands(view: StepView) -> bool:
    return view.contract is not None and shape_of_model(view.contract.result).holds("landed")


def _takes_landed(proposal: Proposal, use: Use) -> bool:
    given = proposal.given(use.reference)
    return given is not None and given.holds("landed") and use.taker is not None and use.taker.holds("landed")
