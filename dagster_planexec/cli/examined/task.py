"""What the first run of a task needs, looked at without running anything or calling a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.sql_lint import lint_sql
from dagster_planexec.checks.static.static_check import static_check
from dagster_planexec.cli.examined.approvals import approvals
from dagster_planexec.cli.examined.examined import Doubt, Examined, tried
from dagster_planexec.compiler.binding import TaskBinding, load_binding
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.layout import drop_of, effect_scope
from dagster_planexec.definitions.partitions import just_closed
from dagster_planexec.definitions.triggers.drop_look import Sorter
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import read_sql
from dagster_planexec.journal.store.place import place_of
from dagster_planexec.planner.request import PlanRequest

if TYPE_CHECKING:
    from dagster_planexec.contract.task import Task, Watch
    from dagster_planexec.definitions.planned_task import PlannedTask
    from dagster_planexec.world.ports import Ports, Roots

MOST_OBJECTS = 1_000
"""Objects of a drop that are looked at: one page of a listing."""
MOST_NAMED = 5
READS_SQL = "run_sql"
_UNREADABLE = frozenset({"unparsable-sql", "not-one-statement"})


def examined_task(name: str, planned: PlannedTask) -> Iterator[Examined]:
    """A line for each thing, in the order in which a run would come to miss it."""
    binding = planned.binding
    task = binding.task
    yield tried(f"{name}: binding", lambda: _binding(binding))
    ports: list[Ports] = []

    def settings() -> str:
        ports.append(binding.resources.ports().looking())
        return "the resources have what they need"

    yield tried(f"{name}: resources", settings)
    if not ports:
        return
    (found,) = ports
    if task.drop is not None:
        yield tried(f"{name}: drop", lambda: _drop(task, found))
    for watch in task.watches:
        yield tried(f"{name}: {watch.name}", partial(_watched, task, watch, found))
    yield tried(f"{name}: warehouse", lambda: _warehouse(task, found))
    if task.drop is not None or READS_SQL in task.tools or found.roots.sql.is_dir():
        yield tried(f"{name}: sql", lambda: _sql(task, found.roots.sql))
    if task.irreversible is not None:
        yield tried(f"{name}: effects", lambda: _effects(binding, found))
        yield tried(f"{name}: approvals", lambda: approvals(task))
    yield tried(f"{name}: folders", lambda: _folders(found.roots))
    yield tried(f"{name}: planner", lambda: _planner(planned, found.roots.sql))


def _binding(binding: TaskBinding) -> str | Doubt:
    """The name under which another process finds the binding leads to this very one."""
    found = load_binding(binding.ref, binding.folder)
    if found is binding:
        return f"{binding.ref} in {binding.folder}"
    hint = "give each binding its own `ref`: the module and the name that it is defined under"
    if found.task == binding.task:
        return Doubt(f"ref {binding.ref!r} leads to another binding of the same task", hint)
    raise PlanexecError(
        "BAD_CONTRACT", f"ref {binding.ref!r} leads to task {found.task.name!r}: its steps would be run instead",
        hint=hint,
    )  # fmt: skip


def _drop(task: Task, ports: Ports) -> str | Doubt:
    drop, sorter = drop_of(task), Sorter(task)
    listed = list(islice(ports.objects.list(drop.bucket, drop.prefix), MOST_OBJECTS))
    mine = [facts for facts in listed if any(True for _ in sorter.arrivals(facts))]
    objects = f"{len(listed)} object{'' if len(listed) == 1 else 's'}"
    if len(listed) == MOST_OBJECTS:
        objects = f"the first {MOST_OBJECTS:,} objects"
    seen = f"s3://{drop.bucket}/{drop.prefix} answers, {objects}, {len(mine)} of a period of the task"
    if drop.manifest is not None:
        found = sum(any(drop.is_manifest(f.key, task.period(a.period)) for a in sorter.arrivals(f)) for f in mine)
        seen += f", {found} manifest{'' if found == 1 else 's'} among them"
    if mine:
        return seen
    if not listed:
        return Doubt(seen, f"nothing was delivered yet; a run waits for keys like {drop.prefix}{drop.pattern}")
    return Doubt(seen, f"compare {listed[0].key[:200]!r} with {drop.prefix}{drop.pattern}: no key matches the pattern")


def _watched(task: Task, watch: Watch, ports: Ports) -> str | Doubt:
    """What is there of the newest period that has ended, or of the last one."""
    now = just_closed(task, ports.clock.now())
    last = task.period(task.last_period) if task.last_period else now
    period = max(min(now, last), task.period(task.first_period))
    probe = watch.probe(task, period, ports.roots)
    hint = f"{meaning(watch.gone).hint}; a run of {period.text} would end with {watch.gone}"
    try:
        seen = probe.observe(ports)
    except PlanexecError as error:
        if error.code != watch.gone:
            raise
        return Doubt(f"{probe.subject} is not there: {error.message}", hint)
    if seen.state != "seen":
        return Doubt(f"{probe.subject} is not there: {seen.message}", hint)
    counts = ", ".join(f"{seen[name]} {name}" for name in watch.measures if name in seen.facts)
    return f"{seen.source.subject} is there{counts and f', {counts}'}"


def _warehouse(task: Task, ports: Ports) -> str | Doubt:
    sources = [named.source for named in task.inputs if named.source]
    try:
        with ports.warehouse.session(deadline_s=10) as session:
            absent = [source for source in sources if session.describe(source) is None]
    except PlanexecError as error:
        if error.code != "TABLE_GONE":
            raise
        if not sources:
            return f"{error.message}; the first run makes it"
        absent = sources
    if absent:
        raise PlanexecError(
            "TABLE_GONE", f"{ports.warehouse.name} has no table {', '.join(absent)}", hint="seed or restore it"
        )
    tables = f"input tables are there: {', '.join(sources)}" if sources else "no input is a table"
    return f"{ports.warehouse.name} answers, {tables}"


def _sql(task: Task, root: Path) -> str:
    if not root.is_dir():
        raise PlanexecError(
            "BAD_CONTRACT", f"the SQL root {root} is not a folder", hint="make it, and copy the task's queries there"
        )
    texts = read_sql(root)
    count = len(texts)
    if count == 0 and READS_SQL in task.tools:
        raise PlanexecError(
            "VALIDATION_ERROR", f"{root} holds no .sql file, and {READS_SQL} is among the task's tools",
            hint="copy the task's queries there",
        )  # fmt: skip
    names = [named.name for named in task.inputs]
    wrong = [
        f"{file}: {problem.text}"
        for file, text in texts.items()
        for problem in lint_sql(text, inputs=names)
        if problem.code in _UNREADABLE
    ]
    if wrong:
        more = f"; {len(wrong) - MOST_NAMED} more" if len(wrong) > MOST_NAMED else ""
        raise PlanexecError(
            "VALIDATION_ERROR", f"{'; '.join(wrong[:MOST_NAMED])}{more}",
            hint="a file holds one SELECT that DuckDB can read",
        )  # fmt: skip
    return f"{count} .sql file{'' if count == 1 else 's'} in {root}"


def _effects(binding: TaskBinding, ports: Ports) -> str | Doubt:
    """Where what cannot be undone goes, from which period on, and what remembers it."""
    scope, first = effect_scope(binding.task)
    seen = f"{scope} from {first} into {ports.credits.target}; journal {binding.journal!r} is declared durable"
    try:
        issued = len(ports.credits.issued(scope, just_closed(binding.task, ports.clock.now()).text))
    except PlanexecError as error:
        if error.code != "TABLE_GONE":  # a warehouse that the first run makes
            raise
        issued = 0
    answers = f"{issued} line{'' if issued == 1 else 's'} issued for the period just closed"
    place = place_of(binding.journal, looking=True)
    if place.backend == "sqlite":
        return f"{seen}, and is the file {place.file}; {answers}"
    return f"{seen}, in {place.backend}; {answers}"


def _folders(roots: Roots) -> str:
    """The folders that a run makes and writes; here only asked whether it could."""
    for folder in (roots.reports, roots.landing):
        there = next((path for path in (folder, *folder.absolute().parents) if path.exists()), Path("/"))
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            raise PlanexecError("HOME_UNWRITABLE", f"{folder} cannot be written", hint="choose another with --home")
    return f"reports and landed copies can be written to {roots.reports} and {roots.landing}"


def _planner(planned: PlannedTask, sql: Path) -> str:
    task, planner = planned.binding.task, planned.planner()
    request = PlanRequest(task, task.period(task.first_period), planned.binding.registry)
    proposal = planner.examine(request)
    if proposal is None:
        return f"{planner.name}; what it proposes is known when it is asked"
    if proposal.plan is None:
        raise PlanexecError(proposal.code or "PLAN_REJECTED", proposal.message, hint=proposal.hint)
    findings = static_check(
        proposal.plan, task, planned.binding.registry, known_checks={**BINDERS, **planned.binding.checks},
        sql_texts=read_sql(sql) if sql.is_dir() else None, period=request.period,
        replans_left=task.limits.max_replans,
    )  # fmt: skip
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors:
        first, more = errors[0], f" ({len(errors) - 1} more)" if len(errors) > 1 else ""
        where = " ".join(part for part in (first.code, first.step, first.field) if part)
        raise PlanexecError(
            "PLAN_REJECTED", f"{proposal.author}: {where}: expected {first.expected}; saw {first.seen}{more}",
            hint=first.hint or "",
        )  # fmt: skip
    return f"{planner.name}: {proposal.author}; its plan for {request.period.text} breaks no rule"
