"""A query reads what nobody declared, or leaves out a side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, listed, nearest, quoted
from dagster_planexec.contract.task import RECONCILE
from dagster_planexec.contract.tool import ToolContract


def _reads_by_name(contract: ToolContract) -> bool:
    """Whether a tool runs a query over the task's named inputs, be it written or made."""
    return contract.name == RECONCILE or {"file", "inputs"} <= set(contract.args.model_fields)


def undeclared_input(proposal: Proposal) -> Iterator[StaticFinding]:
    """A query reads the task's named inputs and nothing else, and every side of the comparison is bound to a table."""
    task = proposal.task
    known = {i.name: i.role for i in task.inputs}
    for view in proposal.steps:
        inputs = view.step.args.get("inputs")
        if view.contract is None or not _reads_by_name(view.contract):
            continue
        if isinstance(inputs, Mapping):
            for name in inputs:
                if name not in known:
                    near = nearest(name, known)
                    yield StaticFinding(
                        "undeclared-input",
                        view.id,
                        f"args.inputs.{name}",
                        f"an input of task {task.name}: {listed(known)}",
                        quoted(name),
                        f"write {near!r}" if near else "bind only declared inputs",
                    )
            for side in task.sides:
                if side.name not in inputs:
                    yield StaticFinding(
                        "undeclared-input",
                        view.id,
                        "args.inputs",
                        f"side {side.name}: a comparison needs all of {listed(s.name for s in task.sides)}",
                        f"only {listed(inputs)}",
                        f"bind {side.name!r} to its table",
                    )
        for problem in proposal.sql_problems(view):
            if problem.code == "undeclared-input":
                yield StaticFinding(
                    "undeclared-input",
                    view.id,
                    "args.file",
                    f"only {listed(inputs or ())}",
                    problem.text,
                    "read the named inputs; bind the table under an input's name if it is one",
                )
