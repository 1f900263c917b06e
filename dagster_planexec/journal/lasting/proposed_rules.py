"""What a frequent failure suggests: a rule, a check or a setting that would have stopped it earlier.

It is proposed with its facts and never applied: a person changes the task, and the change is reviewed like any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from dagster_planexec.contract.codes import meaning
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t
from dagster_planexec.journal.store.migrate import NEWEST

FREQUENT = 3
"""Periods in which a failure must have been met before anything is proposed."""

_BY_CODE = {
    "OBJECT_GONE": "fetch the object in the plan's first step, and let the sensor ask for the run when it arrives: "
    "the warning `perishable-read-late` names the steps before it",
    "OBJECT_CHANGED": "lengthen the drop's quiet period, so that a delivery is not read while it is being replaced",
    "DROP_INCOMPLETE": "list DROP_INCOMPLETE in the task's `replannable`, or lengthen the drop's quiet period",
    "MISSING_PART": "lengthen the drop's quiet period, or have the manifest delivered last",
    "EXPIRES_TOO_SOON": "lengthen the bucket's lifecycle rule, or run earlier",
    "EMPTY_EXTRACT": "state `min_rows` in the file contract, and ask the vendor not to deliver empty files",
    "STALE_PERIOD": "narrow the drop's pattern to names that hold the period",
    "UNKNOWN_COLUMN": "name the column in the file contract",
    "MISSING_COLUMN": "add the new header as an alias in the file contract",
    "BAD_DATE": "declare the date format in the file contract",
    "AMBIGUOUS_DATE": "declare the date format in the file contract",
    "BAD_AMOUNT": "declare decimal and thousands marks in the file contract",
    "BAD_ENCODING": "declare the encoding in the file contract",
    "SCALE_OVERFLOW": "declare the scale in the file contract",
    "COVERAGE_LOW": "look at `min_matched_share`: the task's bound and what is delivered do not fit",
    "CAP_EXCEEDED": "look at the task's cap: it holds months that people then release",
    "APPROVAL_REQUIRED": "look at the approval threshold: it holds months that people then release",
    "LOCKED": "limit the warehouse's pool to one run at a time",
    "TIMEOUT": "raise `deadline_s` in the tool's contract, or give it a fallback",
    "VALIDATION_ERROR": "pin the plan: what it gives the tool is not what the tool takes",
    "PLAN_REJECTED": "pin a plan that was accepted",
}
_BY_GROUP = {
    "transient": "raise `max_tries` in the tool's contract, give it a fallback, or let the schedule begin later",
    "access": "check the credential before the run: a live check of the tool's endpoint would have said it first",
    "keys": "let the vendor's file be checked when it arrives: `planexec observe` after the sensor's tick",
    "load": "correct the file contract",
}


@dataclass(frozen=True, slots=True)
class ProposedRule:
    """A proposal, and what speaks for it."""

    task: str
    tool: str
    code: str
    check: str | None
    count: int
    periods: tuple[str, ...]
    """Of the newest, up to twelve."""
    runs: int
    """Plan runs of the task that were looked at."""
    proposal: str

    @property
    def text(self) -> str:
        """The proposal with its facts, in one sentence."""
        met = f" by {self.check}" if self.check else ""
        share = f"{self.count} of {self.runs} runs ({100 * self.count // self.runs} %)"
        return f"{self.code} at {self.tool}{met} in {share}, in periods {', '.join(self.periods)}: {self.proposal}"

    def as_json(self) -> dict[str, Any]:
        """The proposal as `planexec failures --json` has it."""
        return {
            "task": self.task, "tool": self.tool, "code": self.code, "check": self.check, "count": self.count,
            "periods": list(self.periods), "runs": self.runs, "proposal": self.proposal, "text": self.text,
        }  # fmt: skip


def proposed_rules(journal: Journal, task: str) -> tuple[ProposedRule, ...]:
    """What a task's failures suggest: of those that were met in at least three periods, the most frequent first."""
    if journal.version < NEWEST:
        return ()
    c = t.failures.c
    same = (c.tool, c.code, c.check_name)
    runs = sa.func.count(c.run_id.distinct())
    query = (
        sa.select(*same, runs)
        .where(c.task == task)
        .group_by(*same)
        .having(sa.func.count(c.period.distinct()) >= FREQUENT)
        .order_by(runs.desc(), c.tool, c.code)
    )
    with journal.reader.connect() as db:
        found = db.execute(query).all()
        noted = db.scalar(sa.select(sa.func.count()).where(t.runs_noted.c.task == task)) or 0
        return tuple(
            ProposedRule(
                task, tool, code, check, count, _periods(db, task, tool, code, check), max(noted, count),
                proposal_for(tool, code),
            )
            for tool, code, check, count in found
        )  # fmt: skip


def _periods(db: sa.Connection, task: str, tool: str, code: str, check: str | None) -> tuple[str, ...]:
    c = t.failures.c
    same = (c.task == task, c.tool == tool, c.code == code, c.check_name.is_not_distinct_from(check))
    query = sa.select(c.period).distinct().where(*same).order_by(c.period.desc()).limit(12)
    return tuple(sorted(db.execute(query).scalars()))


def proposal_for(tool: str, code: str) -> str:
    """What would have stopped this failure earlier."""
    own = _BY_CODE.get(code) or _BY_GROUP.get(meaning(code).group)
    return own or f"add a recovery rule for {code} at {tool}, or a check before it that says the same earlier"
