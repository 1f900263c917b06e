"""A named input is filled with something that it is not."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.flow import Binding, bindings, finals_of, rewriter
from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, quoted, shown_name
from dagster_planexec.checks.static.structure import StepView
from dagster_planexec.contract.task import NamedInput


def input_from_elsewhere(proposal: Proposal) -> Iterator[StaticFinding]:
    """A named input is bound by reference to the step that makes it: the copy of its source, or the delivery's load."""
    served: dict[tuple[str, str], str] = {}
    for binding in bindings(proposal):
        source = binding.taken.source
        if source is None:
            if isinstance(binding.taken.value, str):
                yield _finding(
                    proposal, binding, f"{quoted(binding.taken.value)}, a table that no step of the plan made"
                )
            continue  # a reference to no step, or to something else than a table, has a rule of its own
        if not _makes(proposal, source, binding.declared):
            yield _finding(proposal, binding, f"{_shown(binding)}, made by {source.step.tool}")
        yield from _alone(proposal, binding, source, served)
        after = rewriter(proposal, source)
        if after is not None:
            yield StaticFinding(
                "input-from-elsewhere",
                binding.taken.view.id,
                f"args.{binding.taken.path}",
                "the last step that writes the table",
                f"{_shown(binding)}; {quoted(after.id)} writes the same table",
                f"write another table in {shown_name(after.id)}, or refer to its result",
            )


def _makes(proposal: Proposal, source: StepView, declared: NamedInput) -> bool:
    if declared.source is not None:
        copied = source.step.args.get("source")
        return isinstance(copied, str) and copied.casefold() == declared.source.casefold()
    finals = finals_of(proposal, declared.name)
    if not finals:
        return True  # the task does not say how it is made
    # A load whose file contract cannot be told may be the one; another contract's load is not.
    contracts = proposal.file_contracts(source)
    return source.step.tool in finals and (not contracts or declared.contract in contracts)


def _alone(
    proposal: Proposal, binding: Binding, source: StepView, served: dict[tuple[str, str], str]
) -> Iterator[StaticFinding]:
    """No two inputs of one step are one table, whatever the steps are called through which they get it."""
    view, name = binding.taken.view, binding.declared.name
    target = proposal.target(source)
    what = (view.id, f"table {target.name}" if target is not None else f"step {source.id}")
    first = served.setdefault(what, name)
    if first != name:
        yield StaticFinding(
            "input-from-elsewhere",
            view.id,
            f"args.{binding.taken.path}",
            f"a table of its own, which is not that of {first}",
            _shown(binding),
            f"refer to {_wanted(proposal, binding.declared)}",
        )


def _finding(proposal: Proposal, binding: Binding, seen: str) -> StaticFinding:
    wanted = _wanted(proposal, binding.declared)
    fits = [v for v in proposal.steps if _is_told(proposal, binding.declared) and _makes(proposal, v, binding.declared)]
    return StaticFinding(
        "input-from-elsewhere",
        binding.taken.view.id,
        f"args.{binding.taken.path}",
        f"a reference to {wanted}",
        seen,
        f"refer to the table of {shown_name(fits[0].id)}" if fits else f"refer to {wanted}; add it if there is none",
    )


def _is_told(proposal: Proposal, declared: NamedInput) -> bool:
    return declared.source is not None or bool(finals_of(proposal, declared.name))


def _wanted(proposal: Proposal, declared: NamedInput) -> str:
    if declared.source is not None:
        return f"a step whose source is {declared.source}"
    finals = finals_of(proposal, declared.name)
    return f"a step of {listed(sorted(finals))} by contract {declared.contract}" if finals else "the step that makes it"


def _shown(binding: Binding) -> str:
    return quoted(str(binding.taken.reference))
