"""The verbs for asking a model by hand: what it would be sent, and what its answer is worth. Neither runs anything.

`planexec prompt` prints `{"messages": [{"role", "content"}, ...], "schema": {...}}`; `planexec plan --answer` the
document of `planexec plan`, with planner `answer` and a finding for everything that stands against the plan.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagster_planexec.checks.static.static_check import BAD_PLAN, is_rejected, static_check
from dagster_planexec.cli.home import remembered
from dagster_planexec.cli.printing import print_cut
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.verdict import first_shut
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import admit_inputs, read_sql
from dagster_planexec.execute.observer import DeadlinePassedError, within
from dagster_planexec.execute.snapshot import Sights, look_around, unobserved
from dagster_planexec.journal.admission import encode_admission
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.results import landed_for
from dagster_planexec.journal.run_report import RunReport
from dagster_planexec.journal.told.line import one_line, shown_side
from dagster_planexec.journal.told.sentence import sentence_of, sentence_of_plan
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.foreign.json_lines import refuse_packed, what_to_do
from dagster_planexec.plan.model import MAX_PLAN_BYTES, Plan, as_json
from dagster_planexec.planner.prompt.prompt import prompt_of
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.seen import seen_of
from dagster_planexec.planner.strict.answer import read_answer
from dagster_planexec.planner.strict.plan_form import plan_form
from dagster_planexec.settle import ADMISSION_DEADLINE_S, CheckedPlan, check_plan
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from dagster_planexec.checks.static.rule import StaticFinding
    from dagster_planexec.definitions.planned_task import PlannedTask
    from dagster_planexec.execute.work import Work

STDIN = "-"


def prompt(planned: PlannedTask, period: Period) -> dict[str, Any]:
    """Exactly what a planner that asks a model would send for this period, as it is first asked."""
    binding = planned.binding
    request = PlanRequest(binding.task, period, binding.registry, snapshot=seen_of(_sights(planned, period)))
    return prompt_of(request).as_json()


def _sights(planned: PlannedTask, period: Period) -> Sights:
    binding = planned.binding
    try:
        ports = binding.wrap(binding.resources.ports())
    except PlanexecError as error:
        return unobserved(binding.task, error)
    with remembered(binding.journal) as journal:
        copies = landed_for(journal, binding.task.name, period.text) if journal else {}
    return look_around(binding.task, ports, period, copies)


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
        checked = check_plan(work, plan, _unremembered(work, period), period)
    except (PlanexecError, DeadlinePassedError) as error:
        static = _without_world(work, plan, period)
        if is_rejected(static):
            report = report.with_findings(_findings(static), ())
            return report.ended("rejected", "PLAN_REJECTED", sentence_of_plan(static, full_digest(plan), now))
        if isinstance(error, PlanexecError):
            raise
        late = f"what there is could not be looked at within {ADMISSION_DEADLINE_S:g} s"
        raise PlanexecError("TIMEOUT", late) from error
    finally:
        work.journal.close()
    report = report.with_findings(_findings(checked.findings, checked), checked.live)
    code = checked.rejected_with
    if code is None:
        return report.ended("succeeded", None, "the plan may run; nothing was run")
    shut = first_shut(checked.live)
    text = sentence_of(shut) if shut else sentence_of_plan(checked.findings, checked.digest, now)
    return report.ended("rejected", code, text)


def _unremembered(work: Work, period: Period) -> Attempt:
    """An attempt that only this look knows: nothing was done in it, so everything is asked of the world."""
    admission = within(ADMISSION_DEADLINE_S, lambda: admit_inputs(work, period))
    return Attempt(
        id="", task=work.task.name, task_version=work.task.version, period=period.text, inputs_digest="",
        admission=encode_admission(admission), plan_digest=None, revision=0, provenance={}, status="open", code=None,
        opened_at="",
    )  # fmt: skip


def _without_world(work: Work, plan: Plan, period: Period) -> tuple[StaticFinding, ...]:
    sql = read_sql(work.ports.roots.sql) or None
    return static_check(plan, work.task, work.tools, known_checks=work.checks, sql_texts=sql, period=period)


def _findings(static: tuple[StaticFinding, ...], checked: CheckedPlan | None = None) -> list[dict[str, Any]]:
    """Live findings first, as they name the rejection; then the static ones, errors before warnings."""
    live = [
        _finding(v.code or "INTERNAL", None, v.check, shown_side(v.expected),
                 f"{shown_side(v.observed)}: {one_line(v.text)}", meaning(v.code or "INTERNAL").hint)
        for v in (checked.live if checked else ())
        if not v.opens
    ]  # fmt: skip
    rules = [
        {**_finding(f.code, f.step, f.field, f.expected, f.seen, f.hint), "severity": f.severity, "arg": f.arg,
         "ref": f.ref}
        for f in sorted(static, key=lambda finding: finding.severity != "error")
    ]  # fmt: skip
    return [*live, *rules]


def _finding(code: str, *said: str | None) -> dict[str, Any]:
    """One finding: `said` is step, field, expected, seen and hint."""
    step, field, expected, seen, hint = said
    return {"code": code, "step": step, "field": field, "expected": expected, "seen": seen, "hint": hint,
            "severity": "error", "arg": None, "ref": None}  # fmt: skip


def _read(answer: str) -> tuple[str, str]:
    """The answer's name and text, of which no more is read than a plan may have."""
    name = "standard input" if answer == STDIN else Path(answer).name
    try:
        if answer == STDIN:
            raw = sys.stdin.buffer.read(MAX_PLAN_BYTES + 1)
        else:
            with Path(answer).open("rb") as file:
                raw = file.read(MAX_PLAN_BYTES + 1)
        refuse_packed(raw)
    except OSError as error:
        raise PlanexecError(
            "VALIDATION_ERROR", f"the answer {name} cannot be read: {error.strerror}",
            hint=what_to_do(error, "a model's answer as text"),
        ) from error  # fmt: skip
    return name, raw.decode("utf-8", errors="replace")
