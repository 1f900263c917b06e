"""What a person sees of a plan before it runs: the steps, what changed since last time, what the checker found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import dagster as dg

from dagster_planexec.checks.live.expectations_of_the_plan import NAME as EXPECTATIONS
from dagster_planexec.compiler.markup import escaped, table
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.definitions.shown.ending import called
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.attempts.budget import spent
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.results import tools_done
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.plan.diff import Keep, describe
from dagster_planexec.plan.graph import edges
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.settling.parts import CheckedPlan

_JUDGED = frozenset({"passed", "failed"})
MOST_STEPS = 100
"""Steps in the table; the Markdown beside it is cut by its length."""
LONGEST_CARD = 12_000
"""Characters of one piece of Markdown in an event."""


def plan_card(checked: CheckedPlan, work: Work) -> dict[str, dg.MetadataValue[Any]]:
    """The plan as metadata of an observation. Everything in it is data: bounded, escaped, never a link."""
    errors = [f for f in checked.findings if f.severity == "error"]
    shut = [v for v in checked.live if not v.opens]
    provenance = checked.attempt.provenance
    return {
        "steps": _steps(checked.plan),
        "plan": dg.MetadataValue.md(_plan(checked.plan)),
        "plan_digest": dg.MetadataValue.text(checked.digest),
        "revision": dg.MetadataValue.int(checked.attempt.revision),
        "planner": dg.MetadataValue.text(one_line(str(provenance.get("planner")))),
        "author": dg.MetadataValue.text(one_line(str(provenance.get("author")))),
        "model": dg.MetadataValue.text(called(provenance)),
        "budget": dg.MetadataValue.text(_budget(checked, work)),
        "changes": dg.MetadataValue.md(_changes(checked)),
        **({"corrected": dg.MetadataValue.md(_corrected(provenance))} if provenance.get("edited") else {}),
        **({"revises": dg.MetadataValue.md(_revises(checked))} if checked.revises is not None else {}),
        "may_run": dg.MetadataValue.text("yes" if checked.rejected_with is None else f"no: {checked.rejected_with}"),
        "errors": dg.MetadataValue.int(len(errors) + len(shut)),
        "warnings": dg.MetadataValue.int(len(checked.findings) - len(errors)),
        "report": dg.MetadataValue.md(_report(checked, work)),
        "claims": dg.MetadataValue.int(checked.claims),
        "claims_backed_by_probes": dg.MetadataValue.int(probe_backed(checked, work)),
        "judged_just_now": dg.MetadataValue.int(judged_now(checked)),
        "review_window": dg.MetadataValue.text(review_window(checked, work.tools, work.journal)),
    }


def probe_backed(checked: CheckedPlan, work: Work) -> int:
    """How many of the plan's claims a probe judges: expectations that were judged now, and claims that name a check."""
    expectations = sum(1 for v in checked.live if v.check == EXPECTATIONS and v.status in _JUDGED)
    claims = sum(1 for step in checked.plan.steps for claim in step.claims if claim.claim in work.checks)
    return min(expectations, len(checked.plan.expects)) + claims


def judged_now(checked: CheckedPlan) -> int:
    """How many statements about the world were looked at just now."""
    return sum(1 for verdict in checked.live if verdict.status in _JUDGED)


def review_window(checked: CheckedPlan, tools: ToolRegistry, journal: Journal) -> str:
    """How long a person has before something happens that cannot be undone.

    Steps say how long they took in the last settled period; where one has never run, the steps are counted instead.
    """
    before: list[Step] = []
    for step in checked.plan.steps:
        tool = tools.get(step.tool)
        if tool is not None and tool.contract.effect == "irreversible":
            break
        before.append(step)
    else:
        return "nothing in this plan is irreversible"
    took = _durations(checked, journal)
    if all(step.tool in took for step in before):
        seconds = sum(took[step.tool] for step in before)
        return f"about {seconds:.0f} s of work ({len(before)} steps) before the first irreversible step"
    return f"{len(before)} steps before the first irreversible step"


def _durations(checked: CheckedPlan, journal: Journal) -> dict[str, float]:
    """Seconds by tool, from the last settled earlier period."""
    if checked.compared_with is None:
        return {}
    earlier = journal.newest_attempt(checked.plan.task, checked.compared_with)
    if earlier is None:
        return {}
    return {done.tool: done.duration_s for done in tools_done(journal, earlier.id)}


def _steps(plan: Plan) -> dg.TableMetadataValue:
    """The steps at a glance: Dagster shows a table as it is, and longer Markdown behind a click."""
    needs = edges(plan)
    return dg.MetadataValue.table(
        [
            dg.TableRecord(
                {
                    "step": one_line(step.id, 100), "tool": one_line(step.tool, 100),
                    "after": one_line(", ".join(needs[step.id]), 200),
                    "arguments": one_line(json.dumps(dict(step.args), ensure_ascii=False), 160),
                }
            )
            for step in plan.steps[:MOST_STEPS]
        ],
        schema=dg.TableSchema([dg.TableColumn(name) for name in ("step", "tool", "after", "arguments")]),
    )  # fmt: skip


def _plan(plan: Plan) -> str:
    needs = edges(plan)
    header = {"n": "#", "step": "step", "tool": "tool", "args": "arguments", "after": "after", "why": "why"}
    rows = [
        {
            "n": str(n), "step": escaped(step.id, 100), "tool": escaped(step.tool, 100),
            "args": escaped(json.dumps(dict(step.args), ensure_ascii=False), 300),
            "after": escaped(", ".join(needs[step.id]), 200), "why": escaped(step.rationale, 200),
        }
        for n, step in enumerate(plan.steps, 1)
    ]  # fmt: skip
    expects = [f"- {escaped(f'{e.about} {e.measure} {e.op} {e.value}')}" for e in plan.expects]
    return _cut("\n".join([escaped(plan.intent), "", table(header, rows), "", *expects]))


def _changes(checked: CheckedPlan) -> str:
    if checked.edits is None:
        return "There is no earlier settled period to compare with."
    changed = [edit for edit in checked.edits if not isinstance(edit, Keep)]
    against = f"Compared with {escaped(checked.compared_with or '')}: "
    if not changed:
        return f"{against}the same steps."
    return _cut("\n".join([f"{against}{len(changed)} of {len(checked.edits)} steps differ.", ""]
                          + [f"- {escaped(describe(edit))}" for edit in changed]))  # fmt: skip


def _corrected(provenance: Mapping[str, Any]) -> str:
    """What code corrected of the plan as it was proposed, as a diff."""
    return _cut("\n".join(["Corrected by code, before it was checked again:", ""]
                          + [f"- {escaped(str(edit))}" for edit in provenance["edited"]]))  # fmt: skip


def _budget(checked: CheckedPlan, work: Work) -> str:
    """What the attempt has spent, over all its runs, of what the task grants it."""
    limits, used = work.task.limits, spent(work.journal, checked.attempt.id)
    return (
        f"re-plans {used.replans} of {limits.max_replans}, retries {used.retries} of {limits.max_retries}, "
        f"model calls {used.model_calls} of {limits.max_model_calls}, tokens {used.tokens:,} of {limits.max_tokens:,}"
    )


def _revises(checked: CheckedPlan) -> str:
    changed = [edit for edit in checked.revises or () if not isinstance(edit, Keep)]
    head = f"Revision {checked.attempt.revision} against the one before it: {len(changed)} steps differ."
    return _cut("\n".join([head, "", *(f"- {escaped(describe(edit))}" for edit in changed)]))


def _report(checked: CheckedPlan, work: Work) -> str:
    backed = probe_backed(checked, work)
    lines = [
        f"{backed} of {checked.claims} claims are backed by probes; {judged_now(checked)} facts judged just now.",
        "",
    ]
    lines += [
        f"- **{escaped(v.status)}** {escaped(v.check)}: {escaped(v.text)} (expected {escaped(str(v.expected))}; "
        f"saw {escaped(str(v.observed))})"
        for v in checked.live
    ]
    lines += [
        f"- **{escaped(f.severity)}** {escaped(f.code)} {escaped(f.step or '')}: expected {escaped(f.expected or '')}, "
        f"saw {escaped(f.seen or '')}; {escaped(f.hint or '')}"
        for f in checked.findings
    ]
    return _cut("\n".join(lines))


def _cut(text: str) -> str:
    """Whole lines only: half a line could end inside an escape."""
    if len(text) <= LONGEST_CARD:
        return text
    kept = text[:LONGEST_CARD].rpartition("\n")[0]
    return f"{kept}\n\n… ({len(text)} characters)"
