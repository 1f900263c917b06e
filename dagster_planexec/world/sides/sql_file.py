"""SQL files: read below their root and nowhere else, and only the bytes that were admitted."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

from dagster_planexec.errors import PortError
from dagster_planexec.world.local.regular import open_below

MAX_SQL_BYTES = 200_000


def read_sql(root: Path, name: str, sha256: str) -> str:
    """The text of a file under the SQL root, if its bytes are those of that digest.

    Raises:
        PortError: VALIDATION_ERROR if the name leaves the root, is a link, is not there, or its bytes changed.
    """
    _below(root, name)
    try:
        with open_below(root, PurePosixPath(name).parts) as file:
            raw = file.read(MAX_SQL_BYTES + 1)
    except OSError as error:
        raise PortError(
            "VALIDATION_ERROR", f"SQL file {name[:80]!r} cannot be read: {type(error).__name__}", hint=_HINT
        ) from error
    if len(raw) > MAX_SQL_BYTES:
        raise PortError("VALIDATION_ERROR", f"SQL file {name[:80]!r} has more than {MAX_SQL_BYTES} are read")
    seen = hashlib.sha256(raw).hexdigest()
    if seen != sha256:
        raise PortError(
            "VALIDATION_ERROR",
            f"the SQL file changed since it was admitted: {name[:80]!r} has SHA-256 {seen[:12]}, "
            f"admitted was {sha256[:12]}",
            hint="run the month again: the new text is admitted as a new attempt",
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PortError("VALIDATION_ERROR", f"SQL file {name[:80]!r} is not UTF-8") from error


_HINT = "name a file under the task's SQL folder, relative to it"


def _below(root: Path, name: str) -> Path:
    parts = PurePosixPath(name).parts
    if not parts or "\\" in name or "\0" in name or any(part in {"..", "/"} for part in parts):
        raise PortError("VALIDATION_ERROR", f"{name[:80]!r} is not a relative path below the SQL root", hint=_HINT)
    path = root
    try:
        for part in parts:
            path = path / part
            # A link could point anywhere, also to a place that is changed after the digest was taken.
            if path.is_symlink():
                raise PortError("VALIDATION_ERROR", f"SQL file {name[:80]!r} is reached through a link", hint=_HINT)
        is_there = path.is_file()
    except OSError:
        is_there = False  # no file has such a name
    if not is_there:
        raise PortError("VALIDATION_ERROR", f"there is no SQL file {name[:80]!r}", hint=_HINT)
    return path


def without_semicolon(text: str) -> str:
    """The statement without what ends it, so that it can stand in brackets. Nothing else is changed."""
    if ";" not in text:
        return text
    from sqlglot import tokenize  # noqa: PLC0415 - 100 ms that only SQL with a semicolon pays
    from sqlglot.tokenizer_core import TokenType  # noqa: PLC0415 - as above

    end = len(text)
    for token in reversed(tokenize(text, read="duckdb")):
        if token.token_type is not TokenType.SEMICOLON:
            break
        end = token.start  # behind it there are comments at most
    return text[:end]
