"""Which dependencies have a known vulnerability, and which version fixes it: lockfiles against advisories."""

from __future__ import annotations

from pathlib import Path

from assets.dependency_audit.places import LOCK_NAMES, advisories, workspace
from dagster_planexec.contract.task import Deliverable, Limits, Scope, Task, Watch
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Roots
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.delivery.files import FilesUnder

FOLDER = Path(__file__).parent


def _lockfiles(task: Task, period: Period, roots: Roots) -> Probe:  # noqa: ARG001 - as watches are called
    return FilesUnder(workspace(period), LOCK_NAMES)


def _advisories(task: Task, period: Period, roots: Roots) -> Probe:  # noqa: ARG001 - as watches are called
    return FilesUnder(advisories(period), ("*.json",))


TASK = Task(
    name="dependency_audit",
    version="1",
    goal="List every dependency with a known vulnerability, and the version that fixes it.",
    granularity="month",
    first_period="2026-03",
    last_period="2026-03",
    zone="UTC",
    tools=("read_lockfile", "lookup_advisories", "find_fixed_versions", "write_audit"),
    deliverables=(
        Deliverable("vulnerable_dependencies", ("read_lockfile", "lookup_advisories", "find_fixed_versions")),
        Deliverable("dependency_audit_report", ("write_audit",)),
    ),
    limits=Limits(max_steps=20, max_replans=3),
    scope=Scope(schemas_read=frozenset({"audit"}), schemas_write=frozenset({"audit"})),
    watches=(
        Watch("lockfiles", _lockfiles, {"files": "lockfiles of the checkout, those of workspaces included"}),
        Watch("advisories", _advisories, {"files": "advisories in the folder"}),
    ),
    # A lockfile that appears while the audit runs is read by another plan.
    replannable=frozenset({"INPUT_UNREAD"}),
)
