"""The verbs for asking a model by hand: what it would be sent, and what its answer is worth. Neither runs anything.

`planexec prompt` prints `{"messages": [{"role", "content"}, ...], "schema": {...}}`; `planexec plan --answer` the
document of `planexec plan`, with planner `answer` and a finding for everything that stands against the plan.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_planexec.checks.static.static_check import BAD_PLAN, static_check
from dagster_planexec.cli.place.home import remembered
from dagster_planexec.cli.printing import print_cut
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.tool import Admission
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import admit_inputs, read_sql
from dagster_planexec.execute.observer import DeadlinePassedError, within
from dagster_planexec.execute.snapshot import Landed, look_around, unobserved
from dagster_planexec.journal.admission import encode_admission
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.patterns import FailurePattern, patterns_for
from dagster_planexec.journal.results import landed_for
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.foreign.json_lines import refuse_packed, what_to_do
from dagster_planexec.plan.model import MAX_PLAN_BYTES, Plan, as_json
from dagster_planexec.planner.prompt.prompt import prompt_of
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.seen import seen_of
from dagster_planexec.planner.strict.answer import read_answer
from dagster_planexec.planner.strict.plan_form import plan_form
from dagster_planexec.settling.admitting import ADMISSION_DEADLINE_S
from dagster_planexec.settling.parts import CheckedPlan
from dagster_planexec.settling.plans.checking import all_findings, check_plan, first_text
from dagster_planexec.world.local.regular import open_named
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from dagster_planexec.definitions.planned_task import PlannedTask
    from dagster_planexec.execute.work import Work

STDIN = "-"
NOTHING = Admission((), {}, {})


def prompt(planned: PlannedTask, period: Period) -> dict[str, Any]:
    """Exactly what a planner that asks a model would send for this period, as it is first asked."""
    binding = planned.binding
    copies: Landed = {}
    patterns: tuple[FailurePattern, ...] = ()
    with remembered(binding.journal) as journal:
        if journal is not None:
            copies = landed_for(journal, binding.task.name, period.text)
            patterns = patterns_for(journal, binding.task.name)
    try:
        sights = look_around(binding.task, binding.wrap(binding.resources.ports()), period, copies)
    except PlanexecError as error:
        sights = unobserved(binding.task, error)
    request = PlanRequest(binding.task, period, binding.registry, snapshot=seen_of(sights), patterns=patterns)
    return prompt_of(request).as_json()


def judge_answer(planned: PlannedTask, period: Period, answer: str, *, show: bool) -> dict[str, Any]:
    """The document of a plan that somebody's model wrote: checked as any other, neither run nor remembered.

    Args:
        planned: The task.
        period: What the plan is for.
        answer: A file with the answer, in the strict form or as a plan; `-` is standard input.
        show: Whether people are shown the plan.

    Raises:
        PlanexecError: VALIDATION_ERROR if the file cannot be read; what the world refuses with, where nothing is known
            against the plan without it.
    """
    task = planned.binding.task
    name, text = _read(answer)
    written = {"planner": "answer", "author": name, "model_called": False}
    report = replace(RunReport.blank(task, period, task_run_id=None), provenance=written)
    try:
        plan = read_answer(text, plan_form(PlanRequest(task, period, planned.binding.registry)))
    except PlanexecError as error:
        if error.code == "BAD_CONTRACT":
            raise
        finding = _finding(BAD_PLAN, None, "answer", "a plan of the form that was asked for", error.message,
                           meaning(error.code).hint)  # fmt: skip
        return report.with_findings([finding], ()).ended("rejected", error.code, error.message).as_json()
    if show:
        print_cut(as_json(plan))
    return _judged(planned, period, plan, report.of_plan(plan, full_digest(plan), 0)).as_json()


def _judged(planned: PlannedTask, period: Period, plan: Plan, report: RunReport) -> RunReport:
    work = work_of(planned.binding)
    work = replace(work, ports=work.ports.looking())
    now = work.ports.clock.now()
    try:
        admission = within(ADMISSION_DEADLINE_S, lambda: admit_inputs(work, period))
        attempt, left = _unremembered(work, period, admission), work.task.limits.max_replans
        checked = check_plan(work, plan, attempt, period, replans_left=left)
    except (PlanexecError, DeadlinePassedError) as error:
        static = _without_world(work, plan, period)
        if not static.rejected_with:
            late = f"what there is could not be looked at within {ADMISSION_DEADLINE_S:g} s"
            raise error if isinstance(error, PlanexecError) else PlanexecError("TIMEOUT", late) from error
        checked = static
    finally:
        work.journal.close()
    report = report.with_findings(all_findings(checked), checked.live)
    if checked.rejected_with is None:
        return report.ended("succeeded", None, "the plan may run; nothing was run")
    return report.ended("rejected", checked.rejected_with, first_text(checked, now))


def _unremembered(work: Work, period: Period, admission: Admission) -> Attempt:
    """An attempt that only this look knows: nothing was done in it, so everything is asked of the world."""
    return Attempt(
        id="", task=work.task.name, task_version=work.task.version, period=period.text, inputs_digest="",
        admission=encode_admission(admission), plan_digest=None, revision=0, provenance={}, status="open", code=None,
        opened_at="",
    )  # fmt: skip


def _without_world(work: Work, plan: Plan, period: Period) -> CheckedPlan:
    """What the rules alone say."""
    sql, left = read_sql(work.ports.roots.sql) or None, work.task.limits.max_replans
    found = static_check(
        plan, work.task, work.tools, known_checks=work.checks, sql_texts=sql, period=period, replans_left=left
    )
    return CheckedPlan(plan, full_digest(plan), _unremembered(work, period, NOTHING), found, (), None, None)


def _finding(code: str, *said: str | None) -> dict[str, Any]:
    """One finding: `said` is step, field, expected, seen and hint."""
    step, field, expected, seen, hint = said
    return {"code": code, "step": step, "field": field, "expected": expected, "seen": seen, "hint": hint,
            "severity": "error", "arg": None, "ref": None}  # fmt: skip


def _read(answer: str) -> tuple[str, str]:
    """The answer's name and text, of which no more is read than a plan may have."""
    name = "standard input" if answer == STDIN else Path(answer).name or answer
    try:
        if answer == STDIN:
            raw = sys.stdin.buffer.read(MAX_PLAN_BYTES + 1)
        else:
            with open_named(Path(answer)) as file:
                raw = file.read(MAX_PLAN_BYTES + 1)
        refuse_packed(raw)
    except OSError as error:
        raise PlanexecError(
            "VALIDATION_ERROR", f"the answer {name} cannot be read: {error.strerror}",
            hint=what_to_do(error, "a model's answer as text"),
        ) from error  # fmt: skip
    return name, raw.decode("utf-8-sig", errors="replace")  # editors put a byte order mark before it
