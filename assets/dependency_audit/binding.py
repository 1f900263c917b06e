"""The audit with its parts; `definitions.py` loads it, and every worker finds it again by its ref."""

from __future__ import annotations

from assets.binding import bind_local
from assets.dependency_audit.checks.audit_matches_tables import audit_matches_tables
from assets.dependency_audit.checks.every_lockfile_is_read import every_lockfile_is_read
from assets.dependency_audit.checks.every_package_is_looked_up import every_package_is_looked_up
from assets.dependency_audit.checks.fixes_are_of_the_advisories import fixes_are_of_the_advisories
from assets.dependency_audit.checks.matches_are_those_of_the_advisories import matches_are_those_of_the_advisories
from assets.dependency_audit.checks.no_advisory_is_everywhere import no_advisory_is_everywhere
from assets.dependency_audit.checks.packages_are_those_of_the_lockfile import packages_are_those_of_the_lockfile
from assets.dependency_audit.task import FOLDER, TASK
from assets.dependency_audit.tools.find_fixed_versions import FindFixedVersions
from assets.dependency_audit.tools.lookup_advisories import LookupAdvisories
from assets.dependency_audit.tools.read_lockfile import ReadLockfile
from assets.dependency_audit.tools.write_audit import WriteAudit

TOOLS = (ReadLockfile(), LookupAdvisories(), FindFixedVersions(), WriteAudit())
CHECKS = {
    check.__name__: check
    for check in (
        packages_are_those_of_the_lockfile,
        every_lockfile_is_read,
        every_package_is_looked_up,
        matches_are_those_of_the_advisories,
        no_advisory_is_everywhere,
        fixes_are_of_the_advisories,
        audit_matches_tables,
    )
}

DEPENDENCY_AUDIT = bind_local(
    TASK, ref="assets.dependency_audit.binding:DEPENDENCY_AUDIT", folder=FOLDER, tools=TOOLS, checks=CHECKS
)
