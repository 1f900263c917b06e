"""What an error of the journal's database means to a person: a code, what happened, what to do. Never its address."""

from __future__ import annotations

import os
from urllib.parse import quote, quote_plus

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.store.place import Place

_LONGEST = 200
_REFUSED = ("password authentication failed", "no password supplied", "no pg_hba.conf entry", "authentication failed",
            "certificate", "role ")  # fmt: skip
"""Beginnings and parts of what Postgres says to a client that it does not let in: no code comes with it."""
_WAITED = frozenset({"55P03", "40P01", "40001"})
_AWAY = frozenset({"57P01", "57P02", "57P03", "53300", "25P03", "57P05"})
_NO_RIGHT = frozenset({"42501", "25006"})


def journal_error(error: BaseException | None, place: Place, *, disconnected: bool = False) -> PlanexecError:
    """The error in words.

    Args:
        error: As the driver raised it.
        place: Whose database.
        disconnected: SQLAlchemy's own judgement: the connection is gone.
    """
    said = _said(error, place)
    if place.backend == "sqlite":
        return _of_sqlite(said, place)
    return _of_postgres(said, getattr(error, "sqlstate", None), place, disconnected=disconnected)


def driver_is_missing(place: Place, error: ModuleNotFoundError) -> PlanexecError:
    """The refusal of an address whose driver is not installed."""
    return PlanexecError(
        "HOME_UNWRITABLE",
        f"the journal {place.name!r} is in {place.backend}, and its driver {error.name} is not installed",
        hint="install it: pip install 'dagster-planexec[postgres]'",
    )


def _said(error: BaseException | None, place: Place) -> str:
    """The driver's words on one bounded line, without what is secret."""
    said = " ".join(str(error).split())
    for secret in place.secrets:
        for form in {secret, quote(secret, safe=""), quote_plus(secret), repr(secret)}:
            said = said.replace(form, "***")
    return said[:_LONGEST]


def _of_sqlite(said: str, place: Place) -> PlanexecError:
    if "locked" in said or "busy" in said:
        return PlanexecError(
            "LOCKED", f"the journal is held by another process: {said}", hint="end that process, or wait for it"
        )
    if "full" in said:
        return PlanexecError("DISK_FULL", f"the journal cannot be written: {said}", hint="free space, then run again")
    if "malformed" in said or "not a database" in said or "disk I/O" in said:
        return PlanexecError(
            "HOME_UNWRITABLE", f"the journal is damaged: {said}",
            hint="restore it from a backup; or move the file away and run again, which forgets what it held",
        )  # fmt: skip
    if "no such table" in said or "no such column" in said:
        return PlanexecError(
            "HOME_UNWRITABLE", f"the journal lacks a part: {said}",
            hint="restore it from a backup, or look at what names the journal",
        )  # fmt: skip
    if ("unable to open" in said or "readonly" in said) and _folder_is_shut(place):
        return PlanexecError(
            "HOME_UNWRITABLE", f"the journal cannot be used, as its folder cannot be written: {said}",
            hint="SQLite needs that even to read, for what stands beside a journal in WAL mode: make the folder"
            " writable, or copy all of it and look at the copy (--home)",
        )  # fmt: skip
    return PlanexecError(
        "HOME_UNWRITABLE", f"the journal cannot be used: {said}", hint="choose another home, or restore the journal"
    )


def _folder_is_shut(place: Place) -> bool:
    """Whether the file is there, in a folder that this process may not write."""
    if place.file is None or not place.file.is_file():
        return False
    return not os.access(place.file.parent, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _of_postgres(said: str, state: str | None, place: Place, *, disconnected: bool) -> PlanexecError:
    variable = f"PLANEXEC_JOURNAL_{place.name.upper()}"
    if (state or "").startswith("28") or (state is None and any(words in said for words in _REFUSED)):
        return PlanexecError(
            "AUTH_FAILED", f"the journal's database does not accept the user: {said}",
            hint=f"check user and password in {variable}, in the environment of the worker",
        )  # fmt: skip
    if state in _WAITED:
        return PlanexecError(
            "LOCKED", f"another process is writing to the journal: {said}", hint="end that process, or wait for it"
        )
    if state == "53100":
        return PlanexecError("DISK_FULL", f"the journal cannot be written: {said}", hint="free space, then run again")
    if state == "3D000" or ("database" in said and "does not exist" in said):
        return PlanexecError(
            "HOME_UNWRITABLE", f"the journal's database is not there: {said}",
            hint=f"make it (`createdb`), or correct {variable}",
        )  # fmt: skip
    if state in _NO_RIGHT:
        return PlanexecError(
            "HOME_UNWRITABLE", f"the journal may not be written by this user: {said}",
            hint="grant the user the right to create and to write tables in its schema",
        )  # fmt: skip
    if disconnected or state is None or state.startswith("08") or state in _AWAY:
        return PlanexecError(
            "UNAVAILABLE", f"the journal's database does not answer: {said}", hint="see that it runs, then run again"
        )
    if state in {"42P01", "42703"}:
        return PlanexecError(
            "HOME_UNWRITABLE", f"the journal lacks a part: {said}", hint="look at what names the journal"
        )
    return PlanexecError("HOME_UNWRITABLE", f"the journal cannot be used: {said}", hint="look at the database's log")


def in_words(engine: sa.Engine, place: Place) -> None:
    """Let every error of an engine's database come out as one of ours. What breaks a constraint stays what it is."""

    @sa.event.listens_for(engine, "handle_error")
    def _in_words(context: sa.ExceptionContext) -> None:
        error = context.sqlalchemy_exception
        if isinstance(error, sa.exc.DatabaseError) and not isinstance(error, sa.exc.IntegrityError):
            raise journal_error(error.orig, place, disconnected=bool(context.is_disconnect))
