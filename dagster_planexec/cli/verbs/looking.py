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
from dagster_planexec.cli.printing import paper, print_json, print_run
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.contract.codes import meaning
from dagster_planexec.definitions.partitions import just_closed
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import read_sql
from dagster_planexec.journal.encoding import decode, plain
from dagster_planexec.journal.journal import Attempt, Journal
from dagster_planexec.journal.results import hold
from dagster_planexec.journal.run_report import load_report, newest_report
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import MAX_PLAN_BYTES, Plan, as_json, parse_plan, read_json
from dagster_planexec.settle import Launcher, Settling, prepare
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from dagster_planexec.cli.project import ProjectFolder
    from dagster_planexec.definitions.planned_task import PlannedTask

_DIGEST = re.compile(r"[0-9a-f]{8,64}")


class _NoLauncher(Launcher):
    """For verbs that run nothing."""

    def launch(self, *, attempt: Attempt, plan_digest: str, period: Period) -> str:  # noqa: ARG002 - the interface
        """Refuse."""
        raise PlanexecError("INTERNAL", "a plan was to be run by a verb that only looks")


def propose(planned: PlannedTask, period: Period, *, show: bool) -> dict[str, Any]:
    """The document of a plan that was proposed and checked against the world, and not run."""
    work = work_of(planned.binding)
    try:
        prepared = prepare(Settling(work, planned.planner(), _NoLauncher()), period)
    finally:
        work.journal.close()
    if show and prepared.checked is not None:
        paper().print_json(json.dumps(as_json(prepared.checked.plan)))
    if prepared.may_run:
        return prepared.report.ended("succeeded", None, "the plan may run; nothing was run").as_json()
    return prepared.report.as_json()


def check_file(planned: PlannedTask, path: Path) -> dict[str, Any]:
    """The document of a plan file, checked by every rule that needs no world.

    Raises:
        PlanexecError: PLAN_REJECTED if the file is not a plan, UNKNOWN_PARTITION if its period is none of the task's.
    """
    task = planned.binding.task
    plan = _read_plan(path)
    try:
        sql = read_sql(planned.binding.resources.ports().roots.sql)
    except PlanexecError:
        sql = None  # no home yet: what needs the SQL texts is left to the check before a run
    findings = static_check(plan, task, planned.binding.registry, known_checks=BINDERS, sql_texts=sql or None)
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
        },
        "status": "rejected" if rejected else "succeeded",
        "code": code,
        "text": f"the plan breaks {count} rule{'' if count == 1 else 's'}"
        if rejected
        else "no rule is broken; nothing was run",
        "hint": meaning(code).hint if code else None,
        "findings": [asdict(finding) for finding in findings],
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
        with path.open("rb") as file:
            data = read_json(file.read(MAX_PLAN_BYTES + 1))
        # What `show` prints and what is recorded wrap the plan; a person who has either should not have to unwrap it.
        inner = next((data[name] for name in ("plan", "answer") if isinstance(data, dict) and name in data), data)
        return parse_plan(json.dumps(inner))
    except OSError as error:
        raise PlanexecError("PLAN_REJECTED", f"the plan {path.name} cannot be read: {error.strerror}") from error


def show(folder: ProjectFolder, reference: str, partition: str | None, *, as_json: bool) -> None:
    """Print what a reference stands for.

    Raises:
        PlanexecError: INTERNAL if the journal knows nothing of that name.
    """
    journal = Journal()
    try:
        kind, value = _find(folder, journal, reference, partition)
    finally:
        journal.close()
    if as_json:
        print_json(value)
    elif kind == "run":
        print_run(value)
    else:
        paper().print_json(json.dumps(value))


def _find(
    folder: ProjectFolder, journal: Journal, reference: str, partition: str | None
) -> tuple[str, Mapping[str, Any]]:
    if reference in folder.tasks():
        period = folder.task(reference).binding.task.period(partition).text if partition else None
        found = newest_report(journal, reference, period)
        if found is not None:
            return "run", found
    if reference.startswith("hold_") and (held := hold(journal, reference)) is not None:
        return "hold", {"id": held.id, "task": held.task, "period": held.period, "step": held.step, "code": held.code,
                        "state": held.state, "plan": held.plan_digest, "opened_at": held.opened_at,
                        **plain(decode(dict(held.facts)))}  # fmt: skip
    if reference.startswith("att_"):
        attempt = journal.attempt(reference)
        events = [
            {"at": e.at, "kind": e.kind, "step": e.step, "run": e.run_id, **e.payload}
            for e in journal.events(attempt.id)
        ]
        return "attempt", {"attempt": asdict(attempt), "events": events}
    if _DIGEST.fullmatch(reference) and (digest := journal.full_digest_of(reference)) is not None:
        return "plan", {"digest": digest, "plan": as_json(journal.load_plan(digest))}
    report = load_report(journal, reference)
    if report is not None:
        return "run", report
    raise PlanexecError(
        "INTERNAL", f"the journal knows nothing by the name {reference[:80]!r}",
        hint="name a task, a task run, a plan's digest (8 digits or more), an attempt (att_...) or a hold (hold_...)",
    )  # fmt: skip


def status(planned: PlannedTask, *, as_json: bool) -> None:
    """One line per period, from the first to the one just closed."""
    task = planned.binding.task
    journal = Journal(planned.binding.journal)
    try:
        newest = {attempt.period: attempt for attempt in journal.newest_attempts(task.name)}
    finally:
        journal.close()
    last = just_closed(task, planned.binding.resources.ports().clock.now())
    bound = task.period(task.last_period) if task.last_period else last
    period, lines = task.period(task.first_period), []
    while period <= min(last, bound):
        attempt = newest.get(period.text)
        lines.append(
            {
                "partition": period.key, "period": period.text, "status": attempt.status if attempt else "not run",
                "code": attempt.code if attempt else None, "attempt": attempt.id if attempt else None,
                "plan": attempt.plan_digest if attempt else None, "revision": attempt.revision if attempt else 0,
            }
        )  # fmt: skip
        period = period.shifted(1)
    if as_json:
        print_json({"version": 1, "task": task.name, "periods": lines})
        return
    table = Table("period", "status", "code", "attempt", "plan", box=None, pad_edge=False)
    for line in lines:
        shown = [str(line[name] or "") for name in ("period", "status", "code", "attempt", "plan")]
        table.add_row(*shown[:4], Text(shown[4][:12], "dim"))
    paper().print(table)
