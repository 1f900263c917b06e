"""Admission: what is there when the attempt opens. Objects are read once through SHA-256, nothing of them is kept."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from dagster_planexec.contract.layout import live_view
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission, AdmittedObject
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.history import JournalHistory
from dagster_planexec.journal.results import landed_for
from dagster_planexec.world.expectations.suite import suite_sha256
from dagster_planexec.world.local.regular import open_below
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probes.delivery.admit import admit
from dagster_planexec.world.probes.delivery.manifest.reading import keep, manifests_in_drop
from dagster_planexec.world.probes.table.evidence import FingerprintOfView
from dagster_planexec.world.sides.sql_file import MAX_SQL_BYTES

MOST_MANIFESTS = 100
"""Manifests of one period, old ones too; each is kept."""


def admit_inputs(work: Work, period: Period, *, keeps: bool = False) -> Admission:
    """Look at everything the task reads for a period: drop, live tables in scope, SQL files, and what it watches.

    An object that was landed for this period and is gone from the drop is admitted from its landed copy.

    Args:
        work: The task and its ports.
        period: The period.
        keeps: Whether a copy of each manifest is put into the landing. No step fetches one, and checks rest on it.

    Raises:
        PlanexecError: The drop, a table, the SQL root or a watched thing cannot be read; AMBIGUOUS_LANDING if two
            landed versions could stand for an absent object.
    """
    # The manifests first: a part that comes after them and before the look at the data is there, not missing.
    manifests = _manifests(work, period, keeps=keeps)
    return Admission(
        _delivered(work, period),
        live_tables(work.task, period, work.ports),
        hash_sql(work.ports.roots.sql) if reads_sql(work) else {},
        at=work.ports.clock.now(),
        watched=watched_things(work.task, period, work.ports),
        manifests=manifests,
        suites=hash_suites(work.task),
        past=JournalHistory(work.journal, work.task).settled_before(period),
    )


def _delivered(work: Work, period: Period) -> tuple[AdmittedObject, ...]:
    drop = work.task.drop
    if drop is None:
        return ()
    seen = admit(work.ports, drop.bucket, drop.prefix, drop.pattern_of(period))
    objects = [AdmittedObject(facts, sha256) for facts, sha256 in seen]
    return (*objects, *_expired(work, period, objects, manifests=False))


def _manifests(work: Work, period: Period, *, keeps: bool) -> tuple[AdmittedObject, ...]:
    """Every manifest of the period, in key order; a copy in the landing stands for one that is gone."""
    drop = work.task.drop
    if drop is None or drop.manifest is None:
        return ()
    objects: list[AdmittedObject] = []
    for found in manifests_in_drop(work.ports, drop.bucket, drop.prefix, drop.manifest.pattern_of(period)):
        if len(objects) == MOST_MANIFESTS:
            raise PlanexecError(
                "BAD_MANIFEST", f"more than {MOST_MANIFESTS} objects of {period.text} are named like a manifest",
                hint="narrow the pattern of `Drop.manifest`, or take the old ones out of the drop",
            )  # fmt: skip
        objects.append(AdmittedObject(found.facts, found.sha256))
        path = work.ports.roots.landed_path(found.sha256)
        if keeps and not path.is_file():
            try:
                keep(found, path)
            except OSError as error:
                raise PlanexecError(
                    "HOME_UNWRITABLE", f"the landing cannot take a copy of the manifest: {error.strerror}",
                    hint="make the landing writable, or free space where it lies; then run the period again",
                ) from error  # fmt: skip
    objects += _expired(work, period, objects, manifests=True)
    return tuple(sorted(objects, key=lambda one: one.facts.key))


def _expired(work: Work, period: Period, there: Sequence[AdmittedObject], *, manifests: bool) -> list[AdmittedObject]:
    """The landed copies of what is gone from the drop: of the data, or of the manifests, whose newest decides."""
    drop, names = work.task.drop, {(o.facts.bucket, o.facts.key) for o in there}
    return [
        _the_one(work, versions[:1] if manifests else versions)
        for (bucket, key), versions in sorted(landed_for(work.journal, work.task.name, period.text).items())
        if (bucket, key) not in names and (drop is not None and drop.is_manifest(key, period)) == manifests
    ]


def reads_sql(work: Work) -> bool:
    """Whether one of the task's tools runs a file of the SQL root; without one, nobody needs the root."""
    return any("file" in work.tools[name].contract.args.model_fields for name in work.tools) or bool(work.task.sides)


def watched_things(task: Task, period: Period, ports: Ports) -> dict[str, Mapping[str, Fact] | None]:
    """The facts of everything the task watches, by name; None of what is not there, which the live check names.

    Raises:
        PlanexecError: Something cannot be looked at.
    """
    found: dict[str, Mapping[str, Fact] | None] = {}
    for watch in task.watches:
        seen = watch.probe(task, period, ports.roots).observe(ports)
        if seen.state == "errored":
            raise PlanexecError(seen.code or "INTERNAL", f"{watch.name} cannot be looked at: {seen.message}")
        found[watch.name] = dict(seen.facts) if seen.state == "seen" else None
    return found


def _the_one(work: Work, versions: Sequence[AdmittedObject]) -> AdmittedObject:
    """The landed version that stands for an absent object. Several versions: nobody may guess which was meant."""
    usable = [v for v in versions if work.ports.roots.landed_path(v.sha256).is_file()]
    if len(usable) > 1:
        raise PlanexecError(
            "AMBIGUOUS_LANDING",
            f"{usable[0].facts.bucket}/{usable[0].facts.key} is gone from the drop and {len(usable)} versions of it "
            f"were landed: {', '.join(v.sha256[:12] for v in usable)}",
            hint="deliver the version you mean to the drop again",
        )
    return usable[0] if usable else versions[0]


def live_tables(task: Task, period: Period, ports: Ports) -> dict[str, str]:
    """The fingerprint, in scope of the period, of every input that is a live table."""
    views = {named.name: live_view(task, period, named.name) for named in task.inputs}
    tables = {}
    for name, view in views.items():
        if view is None:
            continue
        seen = FingerprintOfView(view).observe(ports)
        # A table that is not there is the live check's finding, with the plan beside it.
        tables[name] = str(seen["fingerprint"]) if seen.state == "seen" else "absent"
    return tables


def hash_sql(root: Path) -> dict[str, str]:
    """SHA-256 of every SQL file under the root, by relative name. Links are not followed.

    Raises:
        PlanexecError: BAD_CONTRACT if the root is not a folder.
    """
    if not root.is_dir():
        raise PlanexecError(
            "BAD_CONTRACT", f"the SQL root {root.name!r} is not a folder", hint="check the project's roots"
        )
    return {name: hashlib.sha256(raw).hexdigest() for name, raw in _sql_files(root)}


def hash_suites(task: Task) -> dict[str, str]:
    """SHA-256 of every expectation suite, by the deliverable's name.

    Raises:
        PortError: BAD_CONTRACT if one cannot be read.
    """
    return {made.name: suite_sha256(made.suite) for made in task.deliverables if made.suite is not None}


def read_sql(root: Path) -> dict[str, str]:
    """The text of every SQL file under the root, by relative name."""
    return {name: raw.decode("utf-8", errors="replace") for name, raw in _sql_files(root)}


def _sql_files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Relative name and bytes of every SQL file; of one that is too long to be run, as much as shows that it is.

    Raises:
        PlanexecError: BAD_CONTRACT for one that cannot be read: what it is decides what a plan may name.
    """
    for path in sorted(root.rglob("*.sql")):
        name = path.relative_to(root)
        if path.is_symlink() or not path.is_file() or not re.fullmatch(r"[\w./-]+", path.name):
            continue
        try:
            with open_below(root, name.parts) as file:
                yield name.as_posix(), file.read(MAX_SQL_BYTES + 1)
        except OSError as error:
            raise PlanexecError(
                "BAD_CONTRACT", f"SQL file {name.as_posix()[:80]!r} cannot be read: {error.strerror}",
                hint="let the worker read every file under the task's SQL folder, or take it away",
            ) from error  # fmt: skip
