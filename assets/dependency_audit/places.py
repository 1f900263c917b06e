"""Where the audit's files lie, below the project's folder of files."""

from __future__ import annotations

from dagster_planexec.world.period import Period

LOCK_NAMES = ("package-lock.json", "uv.lock")
"""Lockfiles that can be read: npm's of version 2 and 3, and uv's."""


def workspace(period: Period) -> str:
    """The checkout whose lockfiles are audited."""
    return f"lockfiles/{period.text}"


def advisories(period: Period) -> str:
    """The advisories that were known then, one OSV file each."""
    return f"advisories/{period.text}"
