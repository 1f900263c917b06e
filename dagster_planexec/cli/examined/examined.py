"""One thing that `doctor` looked at, and how a look is made: whatever it meets is a line, never a stack trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dagster_planexec.errors import PlanexecError

Status = Literal["ok", "warning", "missing"]


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was looked at."""

    what: str
    status: Status
    """`missing`: a run needs it and would end without it. `warning`: a run may be fine, a person should look."""
    seen: str
    hint: str = ""

    @property
    def well(self) -> bool:
        """Whether a run can begin with it as it is."""
        return self.status != "missing"

    def as_json(self) -> dict[str, str | bool]:
        """The line of the document."""
        return {"what": self.what, "status": self.status, "well": self.well, "seen": self.seen, "hint": self.hint}


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a look may answer instead of what it saw: it is there, and something about it is odd."""

    seen: str
    hint: str


def tried(what: str, look: Callable[[], str | Doubt]) -> Examined:
    """The line of a look: what it saw, what it doubts, or what it was refused with."""
    try:
        seen = look()
    except PlanexecError as error:
        return Examined(what, "missing", f"{error.code}: {error.message}", error.hint)
    except Exception as error:  # noqa: BLE001 - a doctor reports whatever it meets
        return Examined(what, "missing", f"{type(error).__name__}: {str(error)[:200]}", "see the message")
    return Examined(what, "warning", seen.seen, seen.hint) if isinstance(seen, Doubt) else Examined(what, "ok", seen)
