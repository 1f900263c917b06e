"""Where a journal of a given name lives. Only names travel; the place comes from the environment of each process."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError

BACKENDS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}
"""What a journal can be in, and by which driver."""
_HIDDEN = ("password", "sslpassword")


@dataclass(frozen=True, slots=True)
class Place:
    """A database, without what is secret of its address in anything that is shown."""

    name: str
    """The journal's."""
    url: sa.URL
    hidden: tuple[tuple[str, str], ...] = ()
    """Secret settings that stood in the address's query, which SQLAlchemy would show."""

    @property
    def backend(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.url.get_backend_name()

    @property
    def file(self) -> Path | None:
        """The file, if it is one."""
        database = self.url.database
        return Path(database) if self.backend == "sqlite" and database and database != ":memory:" else None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may show."""
        return tuple(value for value in (self.url.password, *(v for _, v in self.hidden)) if value)

    def __repr__(self) -> str:
        """`Place(default, postgresql+psycopg://planexec:***@db/journal)`."""
        return f"Place({self.name}, {self.url.render_as_string(hide_password=True)})"


def journal_is_there(name: str) -> bool:
    """Whether a journal of that name has been made. Makes nothing; a database that is no file counts as there."""
    if (place := _named(name)) is not None:
        return place.backend != "sqlite" or (place.file is not None and place.file.is_file())
    home = _home()
    return bool(home) and _file_in(str(home)).is_file()


def place_of(name: str, *, looking: bool = False) -> Place:
    """The database of a journal.

    `PLANEXEC_JOURNAL_<NAME>` names any journal; without it, `default` is a SQLite file in `PLANEXEC_HOME`, or else in
    `DAGSTER_HOME`.

    Args:
        name: The journal's.
        looking: It is only looked at: nothing is made, and it need not be writable.

    Raises:
        PlanexecError: HOME_UNWRITABLE if nothing names the journal, its address is none, or its folder cannot be
            written.
    """
    if (named := _named(name)) is not None:
        return named
    home = _home()
    if name != "default" or not home:
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"nothing says where the journal {name!r} is",
            hint=f"set {_variable(name)} to a database URL"
            + (", or PLANEXEC_HOME or DAGSTER_HOME to a folder" if name == "default" else ""),
        )
    path = _file_in(home)
    if not looking:
        _must_be_writable(path)
    return Place(name, sa.URL.create("sqlite", database=str(path)))


def _must_be_writable(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not os.access(path if path.exists() else path.parent, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        # Never open and close the file itself here: that would drop every lock this process holds on it
        # (https://www.sqlite.org/howtocorrupt.html#_posix_advisory_locks_canceled_by_a_separate_thread_doing_close_).
    except OSError as error:
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"the journal {path.name} cannot be written: {error.strerror}",
            hint="choose another home",
        ) from error


def _named(name: str) -> Place | None:
    """The journal that the environment names."""
    variable = _variable(name)
    text = os.environ.get(variable)
    if not text:
        return None
    try:
        url = sa.make_url(text)
        backend = url.get_backend_name()
    except (sa.exc.ArgumentError, ValueError):
        url, backend = None, ""
    if url is None or backend not in BACKENDS:
        said = f"is of {backend[:40]!r}" if backend else "is no database URL"
        # Without the cause: its words may hold the address, and that a password.
        raise PlanexecError(
            "HOME_UNWRITABLE",
            f"the address of the journal {name!r} {said}; a journal is in SQLite or in Postgres",
            hint=f"set {variable} to sqlite:////path/to/file or postgresql+psycopg://user:password@host/database",
        ) from None
    if "+" not in url.drivername:
        url = url.set(drivername=BACKENDS[backend])
    hidden = tuple((key, str(url.query[key])) for key in _HIDDEN if key in url.query)
    return Place(name, url.difference_update_query(_HIDDEN), hidden)


def _variable(name: str) -> str:
    return f"PLANEXEC_JOURNAL_{name.upper()}"


def _home() -> str | None:
    return os.environ.get("PLANEXEC_HOME") or os.environ.get("DAGSTER_HOME")


def _file_in(home: str) -> Path:
    return Path(home).resolve() / "journal.sqlite"
