"""The situation a try has ended in, in facts: from the contract, the plan's graph, the ports, and the journal."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from dagster_planexec.contract.tool import Tool
from dagster_planexec.contract.verdict import first_shut
from dagster_planexec.execute.resolve import Resolved
from dagster_planexec.execute.step.respelt import respelt
from dagster_planexec.execute.step.tried import Tried
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.attempts.budget import left_of
from dagster_planexec.journal.journal import Event
from dagster_planexec.plan.graph import critical, descendants, edges
from dagster_planexec.plan.model import Step, walk
from dagster_planexec.recovery.decision import Situation


def situation_of(run: Run, step: Step, tried: Tried, tries: int, resolved: Resolved | None) -> Situation:
    """Everything the rules may look at. What happened before is read from the journal, so no process forgets it."""
    contract = run.work.tools[step.tool].contract
    if tried.code is None:
        return Situation(
            None, tried.stage, contract.effect, contract.idempotent, tries, contract.max_tries, tried.text,
            checkpoint=step.checkpoint and tried.done is not None,
        )  # fmt: skip
    earlier = run.work.journal.events(run.attempt, kinds=["decided"])
    here = [event for event in earlier if event.run_id == run.run_id and event.step == step.id]
    fallback = fallback_of(run, step)
    raw = resolved.raw if resolved is not None else tried.raw
    return Situation(
        tried.code, tried.stage, contract.effect, contract.idempotent, tries, contract.max_tries, tried.text,
        tried.call_may_have_happened,
        replannable=tried.code in run.work.task.replannable,
        narrowed=contract.strategies.get(tried.code),
        retries_left=left_of(run.work.journal, run.attempt, run.work.task.limits).retries,
        retry_after_s=tried.retry_after_s,
        fallback=fallback.contract.name if fallback is not None else None,
        fallback_used=_did(here, "use-fallback"),
        needed=is_needed(run, step),
        refreshable=run.work.ports.can_refresh,
        refreshed=_did(here, "refresh-credentials"),
        correctable=raw is not None and respelt(raw, contract) is not None,
        corrected=_did(here, "retry-corrected"),
        came_back=_came_back(earlier, here, step, tried),
        jitter=jitter_of(run.run_id, step.id, tries),
    )  # fmt: skip


def fallback_of(run: Run, step: Step) -> Tool | None:
    """The tool that the contract names for when its own cannot be called, if the task allows that too."""
    name = run.work.tools[step.tool].contract.fallback
    return run.work.tools.get(name) if name is not None else None


def is_needed(run: Run, step: Step) -> bool:
    """Whether anything needs the step: a deliverable, another step, an expectation, or the plan that comes next.

    A task that names no deliverable may mean any of its steps.
    """
    made = {tool for deliverable in run.work.task.deliverables for tool in deliverable.tools}
    if not made or step.checkpoint or any(one.about == f"step:{step.id}" for one in run.plan.expects):
        return True
    needs = edges(run.plan)
    on_the_way = critical(needs, [other.id for other in run.plan.steps if other.tool in made])
    return step.id in on_the_way or bool(descendants(needs, step.id)) or _is_named_elsewhere(run, step)


def _is_named_elsewhere(run: Run, step: Step) -> bool:
    """Whether another step names what this one writes, by its name and not by a reference."""
    writes = run.work.tools[step.tool].contract.writes
    written = step.args.get(writes) if writes is not None else None
    return isinstance(written, str) and any(
        value == written for other in run.plan.steps if other.id != step.id for _, value in walk(other.args)
    )


def claim_of(tried: Tried) -> str | None:
    """The check that was not passed; None if the call itself failed."""
    shut = first_shut(tried.verdicts)
    return shut.check if shut is not None else None


def jitter_of(run_id: str, step: str, tries: int) -> float:
    """A number from 0 to 1 that looks random and is not: the same run, step and try wait the same time again."""
    digest = hashlib.sha256(f"{run_id}/{step}/{tries}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def last_strategy(run: Run, step: Step) -> str | None:
    """The strategy that was decided on last for this step in this run; None if none was."""
    events = run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["decided"], step=step.id)
    return events[-1].payload.get("strategy") if events else None


def was_corrected(run: Run, step: Step) -> bool:
    """Whether the step's arguments are to be respelt, from here on in this run."""
    return _did(
        run.work.journal.events(run.attempt, run_id=run.run_id, kinds=["decided"], step=step.id), "retry-corrected"
    )


def _did(events: Sequence[Event], strategy: str) -> bool:
    return any(event.payload.get("strategy") == strategy for event in events)


def _came_back(earlier: Sequence[Event], here: Sequence[Event], step: Step, tried: Tried) -> bool:
    """Whether this very failure was met before, and a correction or another plan has not helped.

    A surprise and a re-plannable code are left to whoever asks for plans: they end there, with a code of their own.
    """
    if tried.stage == "surprise":
        return False
    met = (step.tool, tried.code, claim_of(tried))
    remedied = [
        *(event for event in here if event.payload.get("strategy") == "retry-corrected"),
        *(event for event in earlier if event.payload.get("decision") == "replan"),
    ]
    return any((e.payload.get("tool"), e.payload.get("code"), e.payload.get("claim")) == met for e in remedied)
