"""A task: what a person wrote. Goal, inputs with roles, deliverables with their gates, file contracts, limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.contract.delivery.plausible import Plausible
from dagster_planexec.contract.effects.policy import ApprovalPolicy
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.reconcile.resolved import DeclaredSide, comparison_of
from dagster_planexec.contract.reconcile.spec import ReconcileSpec
from dagster_planexec.contract.strategies import strategies_of
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.delivery.manifest.form import Place
from dagster_planexec.world.expectations.suite import read_suite
from dagster_planexec.world.period import Granularity, Period
from dagster_planexec.world.ports import Roots
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.sides.comparison.shape import AMOUNT_DIFFERS, COLUMN_DIFFERS, IDENTICAL, only

RECONCILE = "reconcile"
"""The tool that makes the result of a `Task.reconciliation`."""
Role = Literal["side", "lookup", "filter"]

_ESCAPED = re.compile(r"\\(?:N\{[^}]*\}|.)", re.DOTALL)
_NAMED = re.compile(r"\{([^{}]*[^\W\d][^{}]*)\}")
"""Braces with a letter between them; those of a regular expression hold digits and a comma."""
_WATCHED = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class Drop:
    """Where a vendor delivers: every object under the prefix that matches the pattern belongs to the period.

    Raises:
        PlanexecError: BAD_CONTRACT if a pattern holds another name in braces than `{period}`, or refers back to a group
            by its number beside a manifest.
    """

    bucket: str
    prefix: str
    """A literal prefix, e.g. `vendor/exports/`."""
    pattern: str
    """A regular expression over the rest of the key, with `{period}` for the period's text; matched as a whole.

    `{period}` is the only name in it; `{4}` and `{2,3}` are how often the part before them repeats.
    """
    input: str
    """The named input that the delivery fills."""
    quiet_s: int = 900
    """Seconds without change after which a delivery counts as settled."""
    manifest: Manifest | None = None
    """The manifest or control file that is delivered beside the data, if one is agreed with the vendor."""

    def __post_init__(self) -> None:
        of_manifest = () if self.manifest is None else (("manifest", self.manifest.pattern),)
        for what, pattern in (("drop", self.pattern), *of_manifest):
            unknown = [name for name in _NAMED.findall(_ESCAPED.sub("", pattern)) if name != "period"]
            if unknown:
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"the {what} pattern {pattern[:120]!r} names {{{unknown[0][:40]}}}, which stands for nothing: "
                    "no key would ever match",
                    hint=r"write {period} where the period stands; a brace that is part of the key is written \{",
                )
            # What is data and no manifest is one pattern, made of both: there, numbers would count other groups.
            if of_manifest and any(found[1:].isdecimal() for found in _ESCAPED.findall(pattern)):
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"the {what} pattern {pattern[:120]!r} refers back to a group by its number, beside a manifest",
                    hint="name the group: (?P<part>...) and (?P=part)",
                )

    def matches(self, key: str, period: Period) -> bool:
        """Whether a key belongs to the drop of that period."""
        if not key.startswith(self.prefix):
            return False
        return re.fullmatch(self.pattern_of(period), key[len(self.prefix) :]) is not None

    def pattern_of(self, period: Period) -> str:
        """The pattern of one period's data, without the prefix: what is a manifest is none."""
        data = self.pattern.replace("{period}", re.escape(period.text))
        return data if self.manifest is None else rf"(?!(?:{self.manifest.pattern_of(period)})\Z)(?:{data})"

    def is_manifest(self, key: str, period: Period) -> bool:
        """Whether a key is that of a manifest of the period."""
        if self.manifest is None or not key.startswith(self.prefix):
            return False
        return re.fullmatch(self.manifest.pattern_of(period), key[len(self.prefix) :]) is not None

    def place_of(self, period: Period) -> Place:
        """Where the parts of a period lie."""
        return Place(self.bucket, self.prefix, self.pattern_of(period))


@dataclass(frozen=True, slots=True)
class Watch:
    """Something that the task reads besides a delivery and tables: it is looked at whenever an attempt opens.

    What the probe sees is part of the admitted inputs: another fact is news, the same facts are none. A fact that is a
    mapping holds things by name, as the files of a folder; while an attempt lasts others may join them, and those that
    were there may not change. A fact that is one of the measures only counts. Nothing else may change at all.
    """

    name: str
    """What a plan calls it, as `{"about": "<name>"}`."""
    probe: Callable[[Task, Period, Roots], Probe]
    """The look at it in one period."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """What a plan may expect of it: a fact of the probe that is a count, and what it counts."""
    gone: str = "FILE_GONE"
    """The code if it is not there."""
    changed: str = "FILE_CHANGED"
    """The code if it is not what was admitted."""

    def lost(self, before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str | None:
        """What is no longer as it was, in words; None if nothing was there, or things have only been added."""
        if before is None or now is None:
            return None if before is None else f"{self.name} is gone"
        for name, fact in before.items():
            seen = now.get(name)
            if name in self.measures or seen == fact:
                continue
            if not isinstance(fact, Mapping) or not isinstance(seen, Mapping):
                return f"{self.name}: {name} changed"
            lost = next((thing for thing in fact if seen.get(thing) != fact[thing]), None)
            if lost is not None:
                return f"{self.name}: {str(lost)[:200]!r} {'was replaced' if lost in seen else 'is gone'}"
        return None


@dataclass(frozen=True, slots=True)
class NamedInput:
    """A relation that SQL of the task may read by this name, and by no other."""

    name: str
    role: Role
    contract: str
    """Key of `Task.contracts`: columns, key, amount and date of the relation."""
    source: str | None = None
    """For an input that is already a table: `schema.table` of the live data, snapshotted in scope of the period."""


@dataclass(frozen=True, slots=True)
class ResultShape:
    """How a reconciliation's result says what became of each line, so that it can be closed against its inputs."""

    key: tuple[str, ...]
    """Columns that identify a line; together the line key of a credit."""
    status: str
    """The column that holds one of the status words below."""
    identical: str
    differs: str
    only: Mapping[str, str]
    """Side name to the status word of a line that only this side has."""
    amounts: Mapping[str, str]
    """Side name to the column that holds its amount (null where the side has no such line)."""
    further: tuple[str, ...] = ()
    """Status words of lines that are neither compared nor simply missing on one side. Nothing is credited for them."""
    rows: Mapping[str, str] = field(default_factory=dict)
    """Side name to the column that says how many of its rows a line stands for. None: one, where the status says so."""
    currencies: Mapping[str, str] = field(default_factory=dict)
    """Side name to the column that says the currency of its amount. None: that of the side's contract."""

    @property
    def paired(self) -> tuple[str, ...]:
        """Status words of lines that both sides have, whatever does not agree on them."""
        return (self.identical, self.differs, *(word for word in self.further if word == COLUMN_DIFFERS))


@dataclass(frozen=True, slots=True)
class CreditRule:
    """What is credited: `charged - billed` where positive, and what only the charged side has in full."""

    charged: str
    """The side whose customers paid, e.g. `ledger`."""
    billed: str
    """The side that says what was due, e.g. `vendor`."""


@dataclass(frozen=True, slots=True)
class Deliverable:
    """Something the task makes. Its gates are the checks of the tools that make it."""

    name: str
    """Also the Dagster asset key."""
    tools: tuple[str, ...]
    """The tools whose checks gate it, in the order of the work."""
    repeatable: bool = True
    """False for what cannot be undone: an external asset, recorded and never materialised by a click."""
    input: str | None = None
    """The named input that it is, if it is one: several loads may serve one task."""
    result: ResultShape | None = None
    """For the result of a reconciliation."""
    credit_rule: CreditRule | None = None
    """For credits."""
    effect_scope: str | None = None
    """For irreversible deliverables: names the effect across renamed tasks and tools. Never change it."""
    effects_from: str | None = None
    """For irreversible deliverables: the first period that may have effects."""
    suite: Path | None = None
    """For a table: what it is expected to be, as Great Expectations saves a suite (JSON)."""
    may_be_empty: bool = False
    """Whether it may have no row. Without this no suite holds of an empty table: of each row of none, anything does."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds the task owns; a plan may only name lower ones.

    Those of money and sides have no default: None is for a task that credits nothing, or compares nothing.
    """

    currency: str | None = None
    """ISO 4217 code of every amount."""
    credit_cap: Decimal | None = None
    """Most money that is credited for one period without a person."""
    credit_lines_threshold: int | None = None
    """More credit lines than this wait for a person."""
    min_matched_share: Decimal | None = None
    """Least share of each side's keys that must be found on the other side."""
    max_steps: int = 20
    max_replans: int = 2
    """New plans that may be asked for in one attempt, the first plan not counted."""
    run_deadline_s: float = 3600.0
    max_model_calls: int = 12
    """Calls of a model in one attempt: plans, their repairs, re-plans, choices of what to do next."""
    max_tokens: int = 400_000
    """Tokens of all of them, in and out."""
    max_retries: int = 24
    """Times anything may be tried again in one attempt, over all its steps and all its runs."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What arguments may name: allow-lists, checked before anything runs."""

    schemas_read: frozenset[str]
    schemas_write: frozenset[str]
    buckets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Bucket to the prefixes that may be read."""


@dataclass(frozen=True, slots=True)
class Task:
    """One recurring piece of work. Versioned code; a plan is written for it and never changes it."""

    name: str
    version: str
    goal: str
    granularity: Granularity
    first_period: str
    zone: str
    """IANA time zone of the periods' boundaries."""
    tools: tuple[str, ...]
    deliverables: tuple[Deliverable, ...]
    limits: Limits
    scope: Scope
    drop: Drop | None = None
    """None: nothing is delivered, so no sensor looks for it and no plan may expect anything of it."""
    inputs: tuple[NamedInput, ...] = ()
    contracts: Mapping[str, FileContract] = field(default_factory=dict)
    watches: tuple[Watch, ...] = ()
    required_claims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tool to checks the task requires beside the tool's own."""
    replannable: frozenset[str] = frozenset()
    """Codes of failed checks after which another plan may be asked for. A surprise or a checkpoint needs no code."""
    checkpoints: bool = False
    """Whether a plan may end at a checkpoint, to be continued from what was seen there."""
    recovery_choice: bool = False
    """Whether a model may pick where the rules leave several things to do. It picks from their menu, or nothing."""
    approval: ApprovalPolicy = field(default_factory=ApprovalPolicy)
    """Who may release what waits for a person."""
    reconciliation: ReconcileSpec | None = None
    """What `reconcile` compares. The deliverable that it makes takes the shape of its result from here."""
    last_period: str | None = None
    plausible: Plausible | None = None
    """What a delivery and its matches may be, beside those of earlier periods. None: nobody judges it."""

    def __post_init__(self) -> None:
        for made in self.deliverables:
            if made.suite is not None:
                read_suite(made.suite)
        if len([i for i in self.inputs if i.role == "side"]) == 1:
            msg = f"task {self.name!r} has one side; a reconciliation compares two or more"
            raise ValueError(msg)
        names = [watch.name for watch in self.watches]
        wrong = next((n for n in names if n == "drop" or _WATCHED.fullmatch(n) is None or names.count(n) > 1), None)
        if wrong is not None:
            msg = (
                f"task {self.name!r} watches {wrong[:60]!r}; expected a name of its own of a-z, 0-9, _, and not `drop`"
            )
            raise ValueError(msg)
        lacking = [name for name in self._bounds_it_needs() if getattr(self.limits, name) is None]
        if lacking:
            msg = f"task {self.name!r} compares or credits something, and its limits do not state {', '.join(lacking)}"
            raise ValueError(msg)
        self._require_that_it_can_pay()
        self._require_that_totals_are_of_one_currency()
        if self.reconciliation is not None:
            object.__setattr__(self, "deliverables", tuple(self._as_compared(made) for made in self.deliverables))
        elif RECONCILE in self.tools:
            raise PlanexecError(
                "BAD_CONTRACT", f"task {self.name!r} allows {RECONCILE!r} and has no reconciliation",
                hint="write a ReconcileSpec, or read one with load_spec",
            )  # fmt: skip
        for code in sorted(self.replannable):
            if "replan" not in strategies_of(code):
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"task {self.name!r} lists {code[:40]!r} as re-plannable; no other plan helps there",
                    hint="list codes that docs/codes.md has `replan` for",
                )  # fmt: skip

    def _bounds_it_needs(self) -> tuple[str, ...]:
        pays = any(made.credit_rule is not None for made in self.deliverables)
        money = ("currency", "credit_cap", "credit_lines_threshold") if pays else ()
        return (*money, *(("min_matched_share",) if self.sides else ()))

    def _require_that_it_can_pay(self) -> None:
        """What is credited is money of the task's currency, and the column that is read again before it is paid.

        A query's result does not say which currency an amount is of. A comparison by specification does, and
        `amounts_share_a_currency` looks at it; but it may compare another column than the contracts call the amount.
        """
        if all(made.credit_rule is None for made in self.deliverables):
            return
        compared = None if self.reconciliation is None else comparison_of(self.reconciliation, self.declared_sides)
        for at, side in enumerate(self.declared_sides):
            contract = side.contract
            if compared is None and {contract.currency, *contract.currencies} - {None} != {self.limits.currency}:
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"task {self.name!r} credits {self.limits.currency}, and the amounts of side {side.name!r} are "
                    f"{contract.in_words} by contract {contract.name!r}",
                    hint="declare one currency for both sides and the limits, or compare by `reconcile`",
                )
            if compared is not None and compared.amount.columns[at] != contract.amount:
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"task {self.name!r} credits by column {compared.amount.columns[at]!r} of side {side.name!r}, and "
                    f"what is read again before it pays is {contract.amount!r}, by contract {contract.name!r}",
                    hint="let `amount` of the file contract be the column that is compared",
                )

    def _require_that_totals_are_of_one_currency(self) -> None:
        bounds = self.plausible
        if bounds is None or self.drop is None or (bounds.min_total, bounds.max_total) == (None, None):
            return
        contract = self.contracts[self.input(self.drop.input).contract]
        if len(contract.currencies) > 1:
            raise PlanexecError(
                "BAD_CONTRACT",
                f"task {self.name!r} bounds the total of a delivery in {contract.in_words}, which have none together",
                hint="bound its rows, or have each currency delivered by itself",
            )

    def _as_compared(self, made: Deliverable) -> Deliverable:
        """A deliverable with the shape of what `reconcile` makes; one that is declared too has to say the same."""
        if self.reconciliation is None or made.tools[-1:] != (RECONCILE,):
            return made
        compared = comparison_of(self.reconciliation, self.declared_sides)
        shape = ResultShape(
            compared.key,
            "status",
            IDENTICAL,
            AMOUNT_DIFFERS,
            only={side: only(side) for side in compared.names},
            amounts={side: f"{side}_amount" for side in compared.names},
            further=compared.further,
            rows={side: f"{side}_rows" for side in compared.names},
            currencies={side: f"{side}_currency" for side in compared.names},
        )
        for word in ("key", "status", "identical", "differs", "only", "amounts"):
            if made.result is not None and getattr(made.result, word) != getattr(shape, word):
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"deliverable {made.name!r} declares {word} {getattr(made.result, word)!r} of its result; "
                    f"{RECONCILE} makes {getattr(shape, word)!r}",
                    hint="leave the shape out: the reconciliation says it",
                )
        return replace(made, result=shape)

    @property
    def declared_sides(self) -> tuple[DeclaredSide, ...]:
        """The sides with the contracts that say what their columns are."""
        return tuple(DeclaredSide(side.name, self.contracts[side.contract]) for side in self.sides)

    def period(self, text: str) -> Period:
        """The period a partition key or text names.

        Raises:
            PlanexecError: UNKNOWN_PARTITION if it is malformed or outside the task's partitions.
        """
        period = Period.parse(text, self.granularity)
        first = Period.parse(self.first_period, self.granularity)
        last = Period.parse(self.last_period, self.granularity) if self.last_period else None
        if period < first or (last is not None and period > last):
            until = f" to {last.text}" if last else " on"
            raise PlanexecError(
                "UNKNOWN_PARTITION",
                f"partition {period.text} is outside the partitions of {self.name} ({first.text}{until})",
                hint=f"run `planexec status {self.name}` to see them",
            )
        return period

    def watch(self, name: str) -> Watch | None:
        """The watch of that name, if there is one."""
        return next((watch for watch in self.watches if watch.name == name), None)

    def input(self, name: str) -> NamedInput:
        """The named input; KeyError if there is none."""
        return next(i for i in self.inputs if i.name == name)

    @property
    def sides(self) -> tuple[NamedInput, ...]:
        """The inputs that are compared."""
        return tuple(i for i in self.inputs if i.role == "side")

    @property
    def result(self) -> ResultShape | None:
        """The shape of the task's reconciliation result, if it makes one."""
        return next((d.result for d in self.deliverables if d.result is not None), None)

    @property
    def irreversible(self) -> Deliverable | None:
        """The deliverable that cannot be undone, if the task has one."""
        return next((d for d in self.deliverables if not d.repeatable), None)
