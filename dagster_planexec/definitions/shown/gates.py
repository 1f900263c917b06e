"""Gates of a deliverable: the checks of its tools, one asset check each, and what a run found at them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from dagster_planexec.checks import input_still_holds
from dagster_planexec.checks.scope import Binder
from dagster_planexec.compiler.events import described, sides, verdict_table
from dagster_planexec.contract.task import Deliverable, Task
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.contract.verdict import Verdict, first_shut
from dagster_planexec.journal.run_report import RunReport, StepEntry
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.journal.told.sentence import LONGEST_TOLD
from dagster_planexec.plan.reference import references

INHERITED = "input_still_holds"
"""Judged first by every step that takes another's result; it is no tool's own, so it is added to each gate list."""

SUITE = "expectations_hold"
"""Its verdict has a page."""

MADE = frozenset({"done", "reused"})


def gates_of(task: Task, deliverable: Deliverable, tools: ToolRegistry) -> tuple[str, ...]:
    """The names of the deliverable's gates, in the order in which their failures are reported."""
    names = [INHERITED]
    for name in deliverable.tools:
        contract = tools[name].contract
        names += [*contract.preconditions, *contract.postconditions, *task.required_claims.get(name, ())]
    return tuple(dict.fromkeys(names))


def words_of(gate: str, checks: Mapping[str, Binder]) -> str:
    """What a gate asks, in one sentence: the first line of the module that its check is written in."""
    module = input_still_holds if gate == INHERITED else sys.modules[checks[gate].__module__]
    return (module.__doc__ or gate).strip().splitlines()[0]


def repeatable(task: Task) -> tuple[Deliverable, ...]:
    """The deliverables that the task's asset makes."""
    return tuple(d for d in task.deliverables if d.repeatable)


@dataclass(frozen=True, slots=True)
class Gate:
    """One gate of one deliverable after a run."""

    name: str
    deliverable: str
    verdicts: tuple[tuple[StepEntry, Verdict], ...]
    applies: bool
    """False if no step could have had it: known from the plan, not from what was seen."""
    because: str = ""
    """Why the run came no further, if it did not: the one sentence, for gates that it did not reach."""
    held_by: str = ""
    """Who holds the month, if the run has done nothing for that."""
    pages: Mapping[str, str] = field(default_factory=dict)
    """Step to the page that its expectation suite left."""

    @property
    def shut(self) -> Verdict | None:
        """The verdict that keeps it shut, if there is one."""
        return first_shut(verdict for _, verdict in self.verdicts)

    @property
    def opens(self) -> bool:
        """Whether it was judged and lets the deliverable through. Not judged is shut."""
        return not self.applies or (bool(self.verdicts) and self.shut is None)

    @property
    def _not_reached(self) -> str:
        return f"not reached: {self.held_by}" if self.held_by else "not reached"

    def result(self, plan_run_id: str | None) -> dg.AssetCheckResult:
        """The gate as Dagster shows it, also when it was never reached."""
        link: dict[str, dg.MetadataValue[Any]] = {}
        if plan_run_id:
            link["plan_run"] = dg.MetadataValue.dagster_run(plan_run_id)
        if not self.verdicts:
            if self.because and self.applies:
                link["because"] = dg.MetadataValue.text(self.because)
            return dg.AssetCheckResult(
                asset_key=self.deliverable, check_name=self.name, passed=self.opens,
                severity=dg.AssetCheckSeverity.WARN, metadata=link,
                description=self._not_reached if self.applies else "no step takes another step's result",
            )  # fmt: skip
        shut = self.shut
        step = next(s for s, v in self.verdicts if v is (shut or self.verdicts[0][1]))
        if self.name == SUITE and step.id in self.pages:
            link["data_docs"] = dg.MetadataValue.path(self.pages[step.id])
        return dg.AssetCheckResult(
            asset_key=self.deliverable,
            check_name=self.name,
            passed=shut is None,
            severity=dg.AssetCheckSeverity.WARN if step.outcome in {"held", "waiting"} else dg.AssetCheckSeverity.ERROR,
            description=described([shut or self.verdicts[0][1]], step=step.id, hold=step.hold_id),
            metadata={
                **sides([verdict for _, verdict in self.verdicts], step=step.id),
                "verdicts": verdict_table([(s.id, v) for s, v in self.verdicts]),
                **link,
            },
        )


@dataclass(frozen=True, slots=True)
class Made:
    """A deliverable after a run: its steps and its gates."""

    deliverable: Deliverable
    steps: tuple[StepEntry, ...]
    gates: tuple[Gate, ...]

    @property
    def is_made(self) -> bool:
        """Whether every step is done and every gate is open."""
        return bool(self.steps) and all(s.outcome in MADE for s in self.steps) and all(g.opens for g in self.gates)


def made_by(report: RunReport, tools: ToolRegistry) -> Iterator[Made]:
    """What became of each repeatable deliverable."""
    because = "" if report.status == "succeeded" else one_line(report.text, LONGEST_TOLD)
    held_by = because if report.status == "stood-back" else ""
    for deliverable in repeatable(report.task):
        steps = tuple(step for step in report.steps if step.tool in deliverable.tools)
        gates = tuple(
            Gate(
                name,
                deliverable.name,
                _verdicts(report, steps, name),
                _applies(report, steps, name),
                because,
                held_by,
                report.pages,
            )
            for name in gates_of(report.task, deliverable, tools)
        )
        yield Made(deliverable, steps, gates)


def _verdicts(report: RunReport, steps: Sequence[StepEntry], name: str) -> tuple[tuple[StepEntry, Verdict], ...]:
    """What the gate's checks said; of a rejected plan, which ran no step, what the live check said."""
    if report.status == "rejected":
        return tuple((step, verdict) for step in steps[:1] for verdict in report.live if verdict.check == name)
    return tuple((step, verdict) for step in steps for verdict in step.checks if verdict.check == name)


def _applies(report: RunReport, steps: Sequence[StepEntry], name: str) -> bool:
    if name != INHERITED or report.plan is None or not steps:
        return True
    return any(any(references(report.plan.step(step.id))) for step in steps)
