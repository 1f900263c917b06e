"""The verbs that run nothing: propose and check a plan, show what is remembered, one line per period."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.static.static_check import is_rejected, static_check
from dagster_planexec.cli.document import of_task
from dagster_planexec.cli.place.asked import nearest, period_of
from dagster_planexec.cli.place.home import remembered, unknown
from dagster_planexec.cli.printing import STYLES, paper, print_cut, print_json, print_run
from dagster_planexec.cli.shown.holds.hold import print_hold
from dagster_planexec.cli.verbs.deciding import shown_hold
from dagster_planexec.cli.verbs.tracing import print_trace
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.contract.codes import meaning
from dagster_planexec.definitions.shown.months import COLUMNS, counts_of, months_of
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import read_sql
from dagster_planexec.journal.journal import Attempt, Journal
from dagster_planexec.journal.money.lease.holder import as_document
from dagster_planexec.journal.money.lease.leases import Standing, held_now
from dagster_planexec.journal.run_report import load_report, newest_report
from dagster_planexec.journal.told.trace import known_attempt, trace_of_attempt
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.foreign.json_lines import refuse_packed, what_to_do
from dagster_planexec.plan.model import MAX_PLAN_BYTES, Plan, as_json, parse_plan, read_json
from dagster_planexec.settle import prepare
from dagster_planexec.settling.parts import Asking, Launcher, Settling
from dagster_planexec.world.local.regular import open_named
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder
    from dagster_planexec.definitions.planned_task import PlannedTask

_DIGEST = re.compile(r"[0-9a-f]{8,64}")


class _NoLauncher(Launcher):
    """For verbs that run nothing."""

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period, lease_token: int) -> str:  # noqa: ARG002 - the interface
        """Refuse."""
        raise PlanexecError("INTERNAL", "a plan was to be run by a verb that only looks")


def propose(planned: PlannedTask, period: Period, *, show: bool) -> dict[str, Any]:
    """The document of a plan that was proposed and checked against the world, and not run."""
    work = work_of(planned.binding)
    try:
        asking = Asking(started_by="the command planexec plan")
        prepared = prepare(Settling(work, planned.planner(), _NoLauncher(), asking=asking), period)
    finally:
        work.journal.close()
    if show and prepared.checked is not None:
        print_cut(as_json(prepared.checked.plan))
    if prepared.may_run:
        return prepared.report.ended("succeeded", None, "the plan may run; nothing was run").as_json()
    return prepared.report.as_json()


def check_file(planned: PlannedTask, path: Path) -> dict[str, Any]:
    """The document of a plan file, checked by every rule that needs no world.

    Raises:
        PlanexecError: VALIDATION_ERROR if the file cannot be read, PLAN_REJECTED if it is not a plan.
    """
    task = planned.binding.task
    plan = _read_plan(path)
    try:
        sql = read_sql(planned.binding.resources.ports().roots.sql)
    except PlanexecError:
        sql = None  # no home yet: what needs the SQL texts is left to the check before a run
    known = {**BINDERS, **planned.binding.checks}
    findings = static_check(plan, task, planned.binding.registry, known_checks=known, sql_texts=sql or None)
    rejected = is_rejected(findings)
    code = "PLAN_REJECTED" if rejected else None
    count = sum(1 for f in findings if f.severity == "error")
    return of_task(task, _period_of(planned, plan)) | {
        "plan": {
            "digest": full_digest(plan),
            "planner": "file",
            "author": path.name,
            "revision": 0,
            "model_called": False,
            "usage": None,
        },
        "status": "rejected" if rejected else "succeeded",
        "code": code,
        "text": f"the plan breaks {count} rule{'' if count == 1 else 's'}"
        if rejected
        else "no rule is broken; nothing was run",
        "hint": meaning(code).hint if code else None,
        "findings": [finding.as_json() for finding in findings],
    }


def _period_of(planned: PlannedTask, plan: Plan) -> Period:
    """The plan's own period; the task's first where the plan names none that exists, which the findings then say."""
    task = planned.binding.task
    try:
        return task.period(plan.period)
    except PlanexecError:
        return task.period(task.first_period)


def _read_plan(path: Path) -> Plan:
    try:
        with open_named(path) as file:
            raw = file.read(MAX_PLAN_BYTES + 1)
        refuse_packed(raw)
    except OSError as error:
        raise PlanexecError(
            "VALIDATION_ERROR", f"the plan {path.name} cannot be read: {error.strerror}",
            hint=what_to_do(error, "a plan as JSON"),
        ) from error  # fmt: skip
    data = read_json(raw)
    # What `show` prints and what is recorded wrap the plan; a person who has either should not have to unwrap it.
    inner = next((data[name] for name in ("plan", "answer") if isinstance(data, dict) and name in data), data)
    return parse_plan(json.dumps(inner))


def show(folder: ProjectFolder, reference: str, partition: str | None, home: Path, *, as_json: bool) -> None:
    """Print what a reference stands for.

    Raises:
        PlanexecError: UNKNOWN_REFERENCE if the journal knows nothing of that name; UNKNOWN_PARTITION.
    """
    planned = folder.tasks().get(reference)
    period = period_of(planned, partition, ended=False).text if planned and partition else None
    name = f"{reference} {period}" if period else reference
    with remembered(planned.binding.journal if planned else "default") as journal:
        found = _find(journal, reference, period, is_task=planned is not None) if journal else None
        if journal is None or found is None:
            raise unknown(name, home, nearest(reference, folder.tasks()) if planned is None else None)
        kind, value = found
        attempt = known_attempt(journal, reference) if kind == "attempt" else None
        trace = trace_of_attempt(journal, attempt) if attempt else None
        report = newest_report(journal, value["task"], value["period"]) if kind == "hold" else None
    if as_json:
        print_json(value)
    elif kind == "hold":
        its = folder.tasks().get(value["task"])
        currency = its.binding.task.limits.currency if its else None
        print_hold(
            value,
            currency=currency or "of a currency that its task names",
            report=report["report"]["md"] if report else None,
        )
    elif kind == "run":
        print_run(value)
    elif trace is not None:
        print_trace(trace)
    else:
        print_cut(value)


def _find(
    journal: Journal, reference: str, period: str | None, *, is_task: bool
) -> tuple[str, Mapping[str, Any]] | None:
    if is_task and (newest := newest_report(journal, reference, period)) is not None:
        return "run", newest
    if reference.startswith("hold_") and (held := shown_hold(journal, reference)) is not None:
        return "hold", held
    if reference.startswith("att_") and (attempt := known_attempt(journal, reference)) is not None:
        events = [
            {"at": e.at, "kind": e.kind, "step": e.step, "run": e.run_id, **e.payload}
            for e in journal.events(attempt.id)
        ]
        return "attempt", {"attempt": asdict(attempt), "events": events}
    if _DIGEST.fullmatch(reference) and (digest := journal.full_digest_of(reference)) is not None:
        return "plan", {"digest": digest, "plan": as_json(journal.load_plan(digest))}
    report = load_report(journal, reference)
    return ("run", report) if report is not None else None


def status(planned: PlannedTask, *, as_json: bool) -> None:
    """One line per period, from the first to the one just closed, and how many stand how."""
    task = planned.binding.task
    with remembered(planned.binding.journal) as journal:
        months = months_of(task, journal, planned.binding.resources.clock.now())
        held = held_now(journal, task.name) if journal else {}
    counts = counts_of(months)
    if as_json:
        lines = [{**month.as_json(), "running": _running(held.get(month.period.text))} for month in months]
        print_json({"version": 1, "task": task.name, "counts": counts, "periods": lines})
        return
    table = Table(*COLUMNS, box=None, pad_edge=False)
    for month in months:
        cells = month.cells
        table.add_row(
            *(Text(cells[name], STYLES.get(month.status, "") if name == "status" else "") for name in COLUMNS)
        )
    paper().print(table)
    paper().print(Text(", ".join(f"{word} {count}" for word, count in counts.items() if count), "dim"))
    for one in held.values():
        paper().print(Text(one.words, "yellow"), soft_wrap=True)


def _running(found: Standing | None) -> dict[str, Any] | None:
    """Who works on a period now, as `--json` has it."""
    if found is None:
        return None
    times = {"since": found.since.isoformat(), "last_beat_at": found.beat_at.isoformat()}
    return {**as_document(found.holder), **times, "lasts_s": found.lasts_s}
