"""The world as whoever writes a plan is shown it: drop, landed copies, live tables, watched things, SQL files, effects.

Every look ends in an observation; one that cannot be made says why, and keeps none of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dagster_planexec.contract.layout import credit_shape, effect_scope, live_view
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import read_sql
from dagster_planexec.execute.observer import look
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.results import landed_for
from dagster_planexec.world.observation import Fact, Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.listing import DescribeDrop
from dagster_planexec.world.probes.result.credits import CreditsIssued
from dagster_planexec.world.probes.table.evidence import FingerprintOfView
from dagster_planexec.world.probes.table.tables import DescribeTable
from dagster_planexec.world.subject import Subject, file, landed

LOOK_S = 60.0
"""Seconds for one look: a plan can be written without it, and says then what it does not know."""
MOST_FILES = 50
MOST_COPIES = 50
MOST_NAMES = 50
"""Names of watched things that are shown; how many there are is a count beside them."""

Landed = Mapping[tuple[str, str], Sequence[AdmittedObject]]
Sights = tuple[tuple[str, Observation], ...]
"""What each look is about, e.g. `drop`, `input:ledger`, `sql:reconcile.sql`, and what was seen, in the work's order."""


def snapshot(work: Work, period: Period) -> Sights:
    """Everything a plan for this period can rely on, as it is now. Changes nothing."""
    try:
        copies: Landed = landed_for(work.journal, work.task.name, period.text)
    except PlanexecError:
        copies = {}  # a journal that does not answer has nothing to say of the world; admission will name it
    return look_around(work.task, work.ports, period, copies)


def look_around(task: Task, ports: Ports, period: Period, copies: Landed) -> Sights:
    """The snapshot without a journal: `copies` are the landed copies it knows of, by bucket and key."""
    ports = ports.looking()
    with ports.warehouse.together():
        return (
            *_drop(task, ports, period),
            *_landed(task, period, ports, copies),
            *_tables(task, ports, period),
            *_watched(task, ports, period),
            *_sql(task, ports),
            *_effects(task, ports, period),
        )


def unobserved(task: Task, error: PlanexecError) -> Sights:
    """The snapshot where there are no ports to look through: everything it would show, and why it does not."""
    systems = ["drop"] if task.drop is not None else []
    systems += [f"input:{i.name}" for i in task.inputs if i.source is not None]
    systems += [*(watch.name for watch in task.watches), "sql"]
    systems += ["effects"] if task.irreversible is not None else []
    nowhere = Source(Subject("settings", task.name), "the ports' settings")
    return tuple((about, Observation(nowhere, "errored", {}, error.code, error.message)) for about in systems)


def _look(probe: Probe, ports: Ports) -> Observation:
    return look(probe, ports, deadline_s=LOOK_S)


def _drop(task: Task, ports: Ports, period: Period) -> Iterator[tuple[str, Observation]]:
    """What is delivered, if anything is."""
    drop = task.drop
    if drop is not None:
        yield "drop", _look(DescribeDrop(drop.bucket, drop.prefix, drop.pattern_of(period)), ports)


def _watched(task: Task, ports: Ports, period: Period) -> Iterator[tuple[str, Observation]]:
    """Everything the task watches: its counts, and the names of the things that it holds."""
    for watch in task.watches:
        seen = _look(watch.probe(task, period, ports.roots), ports)
        if seen.state == "seen":
            facts: dict[str, Fact] = {
                name: tuple(list(fact)[:MOST_NAMES]) if isinstance(fact, Mapping) else fact
                for name, fact in seen.facts.items()
                if isinstance(fact, Mapping) or name in watch.measures
            }
            seen = Observation(seen.source, "seen", facts)
        yield watch.name, seen


def _landed(task: Task, period: Period, ports: Ports, copies: Landed) -> Iterator[tuple[str, Observation]]:
    """The copies of this period's objects that lie in the landing: each stands for its object if that expires."""
    drop = task.drop
    data = {name: v for name, v in copies.items() if drop is None or not drop.is_manifest(name[1], period)}
    every = [(key, one) for (_, key), versions in sorted(data.items()) for one in versions]
    for key, one in every[:MOST_COPIES]:
        source = Source(landed(one.sha256), "size of the file", ports.clock.now())
        path = ports.roots.landed_path(one.sha256)
        try:
            size = path.stat().st_size
        except OSError:
            yield "landed", Observation(source, "absent", {}, None, f"the copy of {key[:200]!r} is not there")
            continue
        yield "landed", Observation(source, "seen", {"key": key, "landed": one.sha256, "bytes": size})


def _tables(task: Task, ports: Ports, period: Period) -> Iterator[tuple[str, Observation]]:
    """Columns of each live table, and its rows in scope of the period."""
    for named in task.inputs:
        view = live_view(task, period, named.name)
        if view is None:
            continue
        yield f"input:{named.name}", _look(DescribeTable(view.table), ports)
        counted = _look(FingerprintOfView(view), ports)
        if counted.state == "seen":
            counted = Observation(counted.source, "seen", {"rows": counted["rows"]})
        yield f"input:{named.name} in {period.text}", counted


def _sql(task: Task, ports: Ports) -> Iterator[tuple[str, Observation]]:
    """The SQL files by name, with what each reads."""
    if not ports.roots.sql.is_dir() and not task.sides:
        return  # a task that compares nothing may have none
    now, root = ports.clock.now(), ports.roots.sql
    try:
        texts = read_sql(root)
    except OSError as error:
        said = f"{root.name}: {error.strerror}"
        yield "sql", Observation(Source(file("*.sql"), "SQL files", now), "errored", {}, "BAD_CONTRACT", said[:300])
        return
    if not texts:
        yield "sql", Observation(Source(file("*.sql"), "SQL files", now), "absent", {}, None, "there are no SQL files")
    for name, text in list(texts.items())[:MOST_FILES]:
        source = Source(file(name), f"sqlglot, {ports.warehouse.dialect}", now)
        reads = names_read(text, ports.warehouse.dialect)
        if reads is None:
            yield f"sql:{name}", Observation(source, "errored", {}, "VALIDATION_ERROR", "the file is no readable SQL")
        else:
            facts: dict[str, Fact] = {"file": name, "reads": reads}
            yield f"sql:{name}", Observation(source, "seen", facts)
    if len(texts) > MOST_FILES:
        source = Source(file("*.sql"), "SQL files", now)
        yield "sql", Observation(source, "seen", {"files": len(texts), "not_shown": len(texts) - MOST_FILES})


def names_read(text: str, dialect: str) -> tuple[str, ...] | None:
    """The relations that a query reads by name, but for those it makes itself; None if it cannot be read."""
    import sqlglot  # noqa: PLC0415 - 100 ms that only SQL pays
    from sqlglot import exp  # noqa: PLC0415 - as above
    from sqlglot.errors import SqlglotError  # noqa: PLC0415 - as above

    try:
        parsed = [one for one in sqlglot.parse(text, read=dialect) if one is not None]
    except (SqlglotError, RecursionError):
        return None
    made = {cte.alias_or_name.lower() for one in parsed for cte in one.find_all(exp.CTE)}
    names = {
        table.name.lower()
        for one in parsed
        for table in one.find_all(exp.Table)
        if isinstance(table.this, exp.Identifier)
    }
    return tuple(sorted(names - made))


def _effects(task: Task, ports: Ports, period: Period) -> Iterator[tuple[str, Observation]]:
    """What has been issued for the period, whoever issued it: none of it is issued again."""
    if task.irreversible is None:
        return
    try:
        scope, _ = effect_scope(task)
        probe = CreditsIssued(scope, period.text, credit_shape(task).scale)
    except PlanexecError as error:
        source = Source(Subject("task", task.name), "effect_scope and credit rule")
        yield "effects", Observation(source, "errored", {}, error.code, error.message)
        return
    seen = _look(probe, ports)
    if seen.state == "seen":
        seen = Observation(seen.source, "seen", {"count": seen["count"], "amount": seen["amount"]})
    yield "effects", seen
