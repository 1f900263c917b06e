"""What a step check may be bound from: task, contract, resolved arguments, result, inputs and admission. No plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from pydantic import BaseModel

from dagster_planexec.checks.check import BoundCheck
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission, ToolContract
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Roots
from dagster_planexec.world.probes.result.to_issue import Elsewhere
from dagster_planexec.world.subject import Subject

FILES = "files:"
"""Stands for the bucket where a step reads one of the task's files; no bucket has such a name."""


@dataclass(frozen=True, slots=True)
class Produced:
    """A done step whose result this step uses: enough to judge again what was judged after it."""

    scope: StepScope
    """The scope of the producing step, with its result."""
    seal: Observation
    """What identified the result when it was judged."""


@dataclass(frozen=True, slots=True)
class StepScope:
    """One step, resolved: references replaced, arguments validated."""

    task: Task
    period: Period
    step: str
    contract: ToolContract
    args: Any
    """An instance of `contract.args`. Checks read `bucket`, `key`, `target`, `sources`, `inputs`, `source`, ..."""
    result: BaseModel | None
    """An instance of `contract.result` after the call, None before it."""
    admission: Admission
    roots: Roots
    consumed: frozenset[tuple[str, str]] = frozenset()
    """(bucket, key) of every object and (FILES, path) of every file that some step of this run reads."""
    inputs: Mapping[str, Produced] = field(default_factory=dict)
    """The steps whose results the arguments refer to, by step id."""
    witnessed: tuple[Observation, ...] = ()
    """What ports saw while the tool worked (bytes on the wire)."""
    backfill: str | None = None
    """The backfill that this run is part of; None if a person, a schedule or an arrival asked for this period."""
    claim_args: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Parameters that the plan's claims give to checks; they can only make them stricter."""
    elsewhere: Elsewhere = ()
    """What the ledger says another system has issued, for a step that cannot be undone."""
    preview: Observation | None = None
    """What such a step was about to do, as it was seen before its call; None before the preconditions were judged."""

    def stated_by_contract(self, clause: str) -> Source:
        """The source text of something that the tool's or file's contract states."""
        return Source(Subject("contract", self.contract.name), clause)

    def stated_by_task(self, clause: str) -> Source:
        """The source text of something that the task states."""
        return Source(Subject("task", f"{self.task.name} v{self.task.version}"), clause)

    def claimed_count(self, check: str, name: str) -> int | None:
        """The integer that the plan's claim gives to a check; None if it gives none. Other types are static errors."""
        value = self.claim_args.get(check, {}).get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def claimed_decimal(self, check: str, name: str) -> Decimal | None:
        """The decimal string that the plan's claim gives to a check; None if it gives none. As for counts."""
        value = self.claim_args.get(check, {}).get(name)
        return Decimal(value) if isinstance(value, str) and _DECIMAL.fullmatch(value) else None

    def stated_by_claim(self, check: str, name: str) -> Source:
        """The source text of something that the plan's claim states more strictly than contract or task."""
        return Source(Subject("plan", self.step), f"claim {check}.{name}")


_DECIMAL = re.compile(r"[0-9]{1,30}(?:\.[0-9]{1,18})?")

Binder = Callable[[StepScope, Phase], tuple[BoundCheck, ...]]
"""Binds a named check to one step: one check per subject. Decides not-applicable from task and contract alone."""
