"""One cell of the fault matrix: a step, a fault, what is done to the world, and everything that must follow."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tests.faults.scene import Scene

STEPS = ("scope_ledger", "stage_table", "fetch_export", "load_staging", "reconcile", "write_report", "issue_credit")
"""The flagship's plan, in its order."""

FAULTS = {
    "vanish": "what the step reads, or has just written, is gone",
    "change": "what the step reads, or has just written, is another",
    "truncate": "what the step reads, or has just written, ends early",
    "schema change": "a column is added, gone, or of another type",
    "duplicate rows": "a row is there twice",
    "lock": "another process holds the warehouse file",
    "throttle": "a service asks to slow down",
    "403": "a service does not permit the call",
    "500 after commit": "the work is done, and the answer is an error",
    "timeout": "there is no answer within the deadline",
    "disk full": "no file can grow",
    "clock jump": "the clock is a day ahead, then a day behind",
    "process death": "the process is killed, as by `kill -9`",
}
"""Every fault of the design, in its words."""

Moment = Literal[
    "before the plan", "before the step", "between judgement and call", "during the call", "after the call"
]

Deed = Callable[["Scene"], None]
Trouble = Callable[["Scene"], AbstractContextManager[None]]
Port = Literal["objects", "warehouse", "credits"]


@dataclass(frozen=True, slots=True)
class Ends:
    """What a run ends with."""

    status: str
    code: str | None = None
    outcome: str = "failed"
    """Of the step that is struck."""
    tries: int = 1
    check: str | None = None
    """The check that shut the gate; None if the call itself failed, or nothing did."""
    issued: bool = False
    """Whether exactly the credits that are due are there; else none is."""


HEALS = Ends("succeeded", None, "done", issued=True)
"""Nothing is wrong in the end, and nobody has to do anything."""


def stopped(code: str, check: str | None = None, *, tries: int = 1) -> Ends:
    """The step failed with a code, and nothing after it ran."""
    return Ends("stopped", code, "failed", tries, check)


def healed(tries: int = 2) -> Ends:
    """The step was tried so often, and the month went on."""
    return Ends("succeeded", None, "done", tries, issued=True)


@dataclass(frozen=True, slots=True)
class Case:
    """What is done to the world at one step, and what must become of the month."""

    step: str
    fault: str
    does: str
    """One sentence."""
    when: Moment
    ends: Ends
    deed: Deed | None = None
    """Done once, at its moment."""
    trouble: Trouble | None = None
    """Lasts while the tool is called; for faults during the call."""
    lasts: int | None = None
    """How many calls the trouble strikes; None strikes them all."""
    mended: str = ""
    """What a person puts right before the month is run again; empty if there is nothing to put right."""
    mend: Deed | None = None
    killed: bool = False
    """The process does not outlive it: there is no first report, only a second run."""

    @property
    def name(self) -> str:
        """Where it stands and when it strikes, for the test's output; two may be of one name."""
        return f"{self.step}-{self.fault}-{self.when}".replace(" ", "_")

    @property
    def heals(self) -> bool:
        """Whether nobody has to do anything."""
        return self.ends.status == "succeeded"

    def around(self, scene: Scene, nth: int) -> AbstractContextManager[None]:
        """The trouble of the n-th call, from 1."""
        if self.trouble is None or (self.lasts is not None and nth > self.lasts):
            return nullcontext()
        return self.trouble(scene)


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """A fault that cannot happen at a step."""

    step: str
    fault: str
    because: str
    untouched: tuple[Port, ...] = ()
    """Ports that the step never uses, in a whole month: the proof that nothing behind them can strike it."""
    without_rows: bool = False
    """The step leaves a table without a row: the proof that there is none to lose."""
