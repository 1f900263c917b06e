"""Binding the checks of a step, observing what they ask, and judging. Here the two hands meet: F3 asks, F6 looks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from dagster_planexec.checks.check import BoundCheck, NotApplicable
from dagster_planexec.checks.input_still_holds import input_still_holds, judged_again
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase, Verdict
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.observer import look, observe
from dagster_planexec.execute.resolve import Resolved, scope_again
from dagster_planexec.execute.work import Run, call_of
from dagster_planexec.journal.encoding import plain
from dagster_planexec.journal.results import DoneStep
from dagster_planexec.plan.model import Step
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probe import Probe


def names_of(run: Run, step: Step, phase: Phase) -> tuple[str, ...]:
    """The checks of a phase, in contract order: the tool's own, the task's, then what the plan adds."""
    contract = run.work.tools[step.tool].contract
    own = contract.preconditions if phase == "pre" else contract.postconditions
    if phase == "pre":
        return own
    known = {*contract.preconditions, *contract.postconditions}
    required = run.work.task.required_claims.get(step.tool, ())
    added = (*required, *(claim.claim for claim in step.claims))
    return (*own, *(name for name in dict.fromkeys(added) if name not in known))


def bind(run: Run, names: Iterable[str], scope: StepScope, phase: Phase) -> list[BoundCheck]:
    """The named checks, bound to one step.

    Raises:
        PlanexecError: BAD_CONTRACT if a name is not in the catalogue.
    """
    bound: list[BoundCheck] = []
    for name in names:
        if name not in run.work.checks:
            raise PlanexecError(
                "BAD_CONTRACT", f"tool {scope.contract.name!r} names a check {name[:80]!r} that does not exist",
                hint=f"the checks are {', '.join(sorted(run.work.checks))}",
            )  # fmt: skip
        try:
            bound.extend(run.work.checks[name](scope, phase))
        except AttributeError as error:
            raise PlanexecError(
                "VALIDATION_ERROR",
                f"check {name} cannot be asked of a step with tool {scope.contract.name!r}: {error}",
                hint="claim only what the tool's arguments and results have",
            ) from error
    return bound


def judge(run: Run, checks: Sequence[BoundCheck], *, seen: Mapping[Probe, Observation] | None = None) -> list[Verdict]:
    """Every check's verdict. All are evaluated and shown, also after one has failed.

    Args:
        run: Whose ports are looked at.
        checks: The bound checks of one phase.
        seen: What was seen in this phase already, and is not looked at twice.
    """
    probes = [probe for check in checks if not isinstance(check, NotApplicable) for probe in check.probes]
    all_seen = observe(probes, run.work.ports, seen=seen)
    return [check.verdict() if isinstance(check, NotApplicable) else check.verdict(all_seen) for check in checks]


def look_at_inputs(run: Run, resolved: Resolved) -> dict[str, Observation]:
    """What the seal of every input shows now, by step."""
    return {
        name: look(seal_probe(run, scope_again(run, done)), run.work.ports) for name, done in resolved.inputs.items()
    }


def judge_inputs(run: Run, resolved: Resolved, now: Mapping[str, Observation]) -> list[Verdict]:
    """One verdict per input: still what was judged, or judged again."""
    return [_judge_input(run, done, now[name]) for name, done in resolved.inputs.items()]


def changed_inputs(
    run: Run, resolved: Resolved, before: Mapping[str, Observation], after: Mapping[str, Observation]
) -> list[Verdict]:
    """The inputs that are not what they were when the call began: nobody knows which of the two it used.

    Those that are unchanged have their verdict from before the call, and are not shown twice.
    """
    verdicts = []
    for name, done in resolved.inputs.items():
        probe = seal_probe(run, scope_again(run, done))
        check = input_still_holds(probe, before[name], shown=plain(before[name].facts))
        verdicts.append(replace(check.verdict({probe: after[name]}), phase="post"))
    return [verdict for verdict in verdicts if not verdict.opens]


def _judge_input(run: Run, done: DoneStep, now: Observation) -> Verdict:
    """Whether a done step's result is still what was judged; if it changed, its postconditions are judged again."""
    tool = run.work.tools[done.tool]
    scope = scope_again(run, done)
    probe = seal_probe(run, scope)
    verdict = input_still_holds(probe, done.seal, shown=plain(done.seal.facts)).verdict({probe: now})
    if verdict.status != "failed" or verdict.observed.value == "absent":
        return verdict
    again = judge(run, bind(run, tool.contract.postconditions, scope, "pre"))
    return judged_again(verdict, again)


def still_sealed(run: Run, done: DoneStep) -> Verdict:
    """Whether a done step's result is unchanged, without judging it again."""
    check = input_still_holds(seal_probe(run, scope_again(run, done)), done.seal, shown=plain(done.seal.facts))
    return judge(run, [check])[0]


def seal_probe(run: Run, scope: StepScope) -> Probe:
    """The probe of what a done step has left."""
    tool = run.work.tools[scope.contract.name]
    return tool.seal(scope.args, scope.result, call_of(run, scope.step, tool.contract))
