"""Faults that strike every step which works in the warehouse, in the same way."""

from __future__ import annotations

from collections.abc import Iterator

from tests.faults import deeds as d
from tests.faults.case import HEALS, Case, Deed, Ends, Moment, NotApplicable, Trouble, healed, stopped

NO_SERVICE = "it works in files on this machine: no service is asked that could answer so"


TRIES = 4


def in_the_warehouse(step: str, *, judges_inputs: bool = True) -> Iterator[Case]:
    """Lock, lost answer, timeout, no space: of a step that may be tried again.

    Args:
        step: The step.
        judges_inputs: Whether it looks at tables before its call; the lock is met there, and else in the call.
    """
    looks = "input_still_holds" if judges_inputs else None
    yield Case(step, "lock", "another process opens the warehouse file and keeps it for the rest of the run",
               "before the step", stopped("LOCKED", looks, tries=TRIES), d.held(),
               mended="wait until the process that is named has let go")  # fmt: skip
    yield Case(step, "lock", "another process opens the warehouse file and closes it after the step's first try",
               "before the step", healed(), d.held(briefly=True))  # fmt: skip
    yield Case(step, "500 after commit", *_lost(step), lasts=1)
    yield Case(step, "timeout", "no statement ends within its deadline, however often it is tried",
               "during the call", stopped("TIMEOUT", tries=TRIES), trouble=d.slow,
               mended="look at what kept the warehouse busy")  # fmt: skip
    yield Case(step, "timeout", "the first statement does not end within its deadline",
               "during the call", healed(), trouble=d.slow, lasts=1)  # fmt: skip
    yield Case(step, "disk full", "the kernel lets no file grow", "during the call", stopped("DISK_FULL"),
               trouble=d.no_file_grows_beyond(0), mended="free space")  # fmt: skip


def _lost(step: str) -> tuple[str, Moment, Ends, Deed | None, Trouble]:
    if step == "write_report":
        return "the files are written, and the call ends in an error", "during the call", healed(), None, d.breaks_off
    said = "the warehouse commits, and the connection breaks before it answers"
    return said, "during the call", healed(), None, d.answers_are_lost


def asks_no_service(step: str) -> Iterator[NotApplicable]:
    """Throttle and 403, of a step that only works on this machine."""
    for fault in ("throttle", "403"):
        yield NotApplicable(step, fault, NO_SERVICE, ("objects", "credits"))


def whatever_the_step(step: str) -> Iterator[Case]:
    """The clock, and the end of the process."""
    yield Case(step, "clock jump", "the clock jumps 26 hours ahead as the call begins, and 52 back as it ends",
               "during the call", HEALS, trouble=d.clock_jumps)  # fmt: skip
    yield Case(step, "process death", "the process is killed when the call is written down and not yet made",
               "between judgement and call", HEALS, killed=True)  # fmt: skip
    yield Case(step, "process death", "the process is killed when the call has ended and nothing is judged",
               "after the call", HEALS, killed=True)  # fmt: skip
