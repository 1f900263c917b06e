"""What can be looked at: one thing in the world, named so that two checks can tell whether they mean the same one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Subject:
    """A thing in the world, or a place where something is stated about it."""

    system: str
    """Where it lives: `s3`, `landing`, `warehouse`, `files`, `credits`, `contract`, `task`, `plan`, `journal`, ..."""
    name: str
    """Its name there, e.g. `vendor-drops/vendor/exports/2026-03-invoice.csv` or `staging.ledger_202603`."""

    def __str__(self) -> str:
        """`system:name`, the form that reports and check metadata show."""
        return f"{self.system}:{self.name}"


def s3_object(bucket: str, key: str) -> Subject:
    """One key of one bucket, whatever version is behind it."""
    return Subject("s3", f"{bucket}/{key}")


def drop(bucket: str, prefix: str) -> Subject:
    """Everything a vendor put under one prefix for one period."""
    return Subject("s3", f"{bucket}/{prefix}*")


def landed(sha256: str) -> Subject:
    """The content-addressed copy of a fetched object."""
    return Subject("landing", sha256)


def table(name: str) -> Subject:
    """A table of the warehouse, `schema.table`."""
    return Subject("warehouse", name)


def file(name: str) -> Subject:
    """A file under one of the project's own roots, named relative to that root."""
    return Subject("files", name)


def credits_of(scope: str, period: str) -> Subject:
    """The credits that one effect scope holds for one period."""
    return Subject("credits", f"{scope}/{period}")
