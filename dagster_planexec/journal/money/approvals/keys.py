"""The keys that people sign decisions with: one for each, from the environment or from a file of their own."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dagster_planexec.errors import PlanexecError

VARIABLE = "PLANEXEC_APPROVAL_KEY_"
"""With the name behind it, upper case and `_` for whatever is no letter and no digit: the key of that approver."""
FILE_VARIABLE = "PLANEXEC_APPROVAL_KEYS"
"""Another key file than `approval.keys` in the home."""
FILE_NAME = "approval.keys"
SHORTEST_KEY = 32
"""Characters. What is shorter can be guessed from one signature."""
_LARGEST_FILE = 1_000_000
_NAME = re.compile(r"[a-z][a-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class Key:
    """One person's key. Its text is in no message, no row and no `repr`."""

    name: str
    text: str = field(repr=False)

    @property
    def id(self) -> str:
        """Names the key without telling it: the person, and the beginning of a hash."""
        digest = hashlib.sha256(b"planexec approval key\n" + self.text.encode()).hexdigest()
        return f"{self.name}:{digest[:12]}"


class Keys:
    """The keys there are, by the approver's name.

    Args:
        found: Name to key.
        looked_in: Where they were looked for, in words, for messages.
    """

    def __init__(self, found: Mapping[str, Key], looked_in: str = "the keys that were given") -> None:
        self._found = dict(found)
        self.looked_in = looked_in

    def get(self, name: str) -> Key | None:
        """The key of that approver, or None."""
        return self._found.get(name)

    def key(self, name: str) -> Key:
        """The key of that approver.

        Raises:
            PlanexecError: DECISION_REFUSED if there is none here.
        """
        found = self.get(name)
        if found is None:
            raise PlanexecError(
                "DECISION_REFUSED", f"there is no approval key of {name[:60]!r} in {self.looked_in}",
                hint=f"`planexec keys new {name}` makes one" if _NAME.fullmatch(name) else "",
            )  # fmt: skip
        return found


def variable_of(name: str) -> str:
    """The variable of the environment that may hold this approver's key."""
    return VARIABLE + re.sub(r"[^A-Z0-9]", "_", name.upper())


def key_file() -> Path | None:
    """Where the key file is, whether it is there or not; None if nothing names a home."""
    if named := os.environ.get(FILE_VARIABLE):
        return Path(named)
    home = os.environ.get("PLANEXEC_HOME") or os.environ.get("DAGSTER_HOME")
    return Path(home) / FILE_NAME if home else None


def keys_for(names: tuple[str, ...]) -> Keys:
    """The keys of these approvers, as far as they are here: from the environment, else from the key file.

    Raises:
        PlanexecError: BAD_CONTRACT if two names share a variable; FORBIDDEN if others may read the key file;
            VALIDATION_ERROR if a key is too short or a line of the file is none.
    """
    variables: dict[str, str] = {}
    for name in names:
        variable = variable_of(name)
        if other := variables.get(variable):
            raise PlanexecError(
                "BAD_CONTRACT", f"approvers {other!r} and {name!r} would both be read from {variable}",
                hint="name the approvers so that they differ in letters or digits",
            )  # fmt: skip
        variables[variable] = name
    file = key_file()
    in_file = _read(file) if file is not None else {}
    found: dict[str, Key] = {}
    for variable, name in variables.items():
        text = os.environ.get(variable)
        if text:
            found[name] = _sound(name, text.strip(), variable)
        elif name in in_file:
            found[name] = in_file[name]
    where = f"the key file {file.name}" if file is not None else "a key file, as nothing names a home"
    return Keys(found, f"the environment ({VARIABLE}<NAME>) or {where}")


def new_key(name: str, *, path: Path | None = None) -> tuple[Key, Path]:
    """Make a key, write it to the key file, and say where that is. The file is made so that only its owner reads it.

    Raises:
        PlanexecError: VALIDATION_ERROR if the name is none or has a key already; HOME_UNWRITABLE; FORBIDDEN.
    """
    if _NAME.fullmatch(name) is None:
        raise PlanexecError(
            "VALIDATION_ERROR", f"{name[:60]!r} is no approver's name", hint="use a-z, 0-9, ., _ and -, a letter first"
        )
    file = path or key_file()
    if file is None:
        raise PlanexecError("HOME_UNWRITABLE", "nothing says where the key file is", hint="name a home with --home")
    if name in _read(file):
        raise PlanexecError(
            "VALIDATION_ERROR", f"{name!r} has a key in {file.name} already",
            hint="take its line out first; what was signed with it and is not used yet has to be signed again",
        )  # fmt: skip
    key = Key(name, secrets.token_hex(32))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            # One write that appends: whoever writes at the same time cannot come in between.
            os.write(handle, f"{_line_end(handle)}{name} {key.text}\n".encode("ascii"))
        finally:
            os.close(handle)
    except OSError as error:
        raise PlanexecError(
            "HOME_UNWRITABLE", f"the key file {file.name} cannot be written: {error.strerror}",
            hint="choose another home with --home",
        ) from error  # fmt: skip
    return key, file


def _line_end(handle: int) -> str:
    """What ends the last line of a file that somebody wrote without an end; else nothing."""
    size = os.fstat(handle).st_size
    return "\n" if size and os.pread(handle, 1, size - 1) != b"\n" else ""


def _read(file: Path) -> dict[str, Key]:
    """The keys of a file; none if it is not there."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise _unreadable(file, str(error.strerror)) from error
    state = os.fstat(handle)
    if not stat.S_ISREG(
        state.st_mode
    ):  # asked before it is made a file object, which refuses a folder in its own words
        os.close(handle)
        raise _unreadable(file, "it is no file")
    with os.fdopen(handle, "rb") as opened:
        if state.st_mode & 0o077:
            raise PlanexecError(
                "FORBIDDEN",
                f"the key file {file.name} may be read or written by others (mode {state.st_mode & 0o777:04o})",
                hint=f"chmod 600 {file.name}; whoever could read it may have its keys, so make new ones",
            )
        raw = opened.read(_LARGEST_FILE + 1)
    found: dict[str, Key] = {}
    for number, line in enumerate(raw.decode("utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or _NAME.fullmatch(words[0]) is None:  # noqa: PLR2004 - a name and a key
            raise _unreadable(file, f"line {number} is no `name key`")
        if words[0] in found:
            raise _unreadable(file, f"line {number} names {words[0]!r} again")
        found[words[0]] = _sound(words[0], words[1], f"line {number} of {file.name}")
    return found


def _sound(name: str, text: str, where: str) -> Key:
    if any("\ud800" <= one <= "\udfff" for one in text):
        raise PlanexecError(
            "VALIDATION_ERROR", f"the approval key of {name!r} in {where} has bytes that are no UTF-8",
            hint=f"`planexec keys new {name}` makes one",
        )  # fmt: skip
    if len(text) < SHORTEST_KEY:
        raise PlanexecError(
            "VALIDATION_ERROR", f"the approval key of {name!r} in {where} has {len(text)} characters; expected "
            f"{SHORTEST_KEY} or more", hint=f"`planexec keys new {name}` makes one",
        )  # fmt: skip
    return Key(name, text)


def _unreadable(file: Path, why: str) -> PlanexecError:
    return PlanexecError(
        "VALIDATION_ERROR", f"the key file {file.name} cannot be read: {why}", hint="it holds lines of `name key`"
    )
