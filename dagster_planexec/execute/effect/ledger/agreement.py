"""Whether the target still holds what the ledger says it has issued: asked before anybody is asked to approve more."""

from __future__ import annotations

from dagster_planexec.contract.tool import EffectTool
from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.execute.effect.ledger.reckoning import is_lost
from dagster_planexec.execute.work import Run, call_of
from dagster_planexec.journal.money.effects import effects_of
from dagster_planexec.plan.model import Step
from dagster_planexec.world import subject
from dagster_planexec.world.observation import Source
from dagster_planexec.world.probes.result.to_issue import by_place
from dagster_planexec.world.subject import Subject

NAME = "ledger_agrees_with_target"


def ledger_agrees(run: Run, step: Step) -> list[Verdict]:
    """One verdict, if the ledger has issued anything for the period before; else there is nothing to agree on.

    Raises:
        PortError: The target cannot be asked now.
    """
    tool = run.work.tools[step.tool]
    if not isinstance(tool, EffectTool):
        return []
    call = call_of(run, step.id, tool.contract)
    scope, target = tool.scope(call), tool.target(run.work.ports)
    own = [
        e for e in effects_of(run.work.journal, scope, run.period.text) if e.state == "issued" and e.target == target
    ]
    if not own:
        return []
    here = by_place(tool.listed(call))
    lost = [effect for effect in own if is_lost(effect, here.get((effect.key, effect.ordinal)), target)]
    now = run.work.ports.clock.now()
    expected = Side(f"{len(own)} lines", Source(Subject("ledger", f"{scope}/{run.period.text}"), "effects issued"))
    observed = Side(
        f"{len(own) - len(lost)} of them", Source(subject.credits_of(scope, run.period.text), f"list of {target}", now)
    )
    if not lost:
        return [Verdict(NAME, "pre", "passed", expected, observed, None, f"{target} lists what was issued before")]
    first = lost[0]
    held = here.get((first.key, first.ordinal))
    text = (
        f"{len(lost)} lines that were issued are not listed by {target} as they were, first {first.key[:80]!r}: issued "
        f"{first.amount}, listed {'not at all' if held is None else held}; nothing more is issued until it is found out"
    )
    return [Verdict(NAME, "pre", "failed", expected, observed, "EFFECT_UNKNOWN", text)]
