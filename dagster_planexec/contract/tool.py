"""Tool contracts: what a tool takes and gives, what must hold before and after, and how it can fail."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from threading import Event
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict

from dagster_planexec.contract.effects.tally import Tally
from dagster_planexec.contract.layout import currency_of, effect_scope
from dagster_planexec.contract.outcome import Failed, Held, Outcome
from dagster_planexec.contract.strategies import Strategy, what_widens
from dagster_planexec.contract.task import Task
from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.world.history import PastPeriod
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Credit, CreditLine, ObjectFacts, Ports
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.credits import digest_of_lines
from dagster_planexec.world.probes.result.to_issue import Elsewhere

Effect = Literal["read", "write", "irreversible"]
Lookup = Literal["by-key", "by-attributes", "none"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a string argument or result stands for, so that references can be type-checked."""

    name: str


TableName = Annotated[str, Kind("table")]
"""`schema.table` of the task's warehouse."""
LandedDigest = Annotated[str, Kind("landed")]
"""SHA-256 of a landed copy, 64 hex digits."""
ReportName = Annotated[str, Kind("report")]
"""A report's name under the report root, without suffix."""


class Model(BaseModel):
    """Base of args and result models: closed and frozen. Args arrive as JSON, so lists become tuples."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class AdmittedObject:
    """One object as it was admitted: read once through SHA-256, nothing of it kept."""

    facts: ObjectFacts
    sha256: str
    from_landing: bool = False
    """It is gone from the drop and a landed copy of this partition stands for it."""


@dataclass(frozen=True, slots=True)
class Admission:
    """What was *seen* when the attempt opened. Beside the plan, never in its digest."""

    objects: tuple[AdmittedObject, ...]
    tables: Mapping[str, str]
    """Live fingerprints in scope of the period, by input name."""
    sql_sha256: Mapping[str, str]
    """SHA-256 of every file under the SQL root, by relative name."""
    at: datetime | None = None
    """When it was seen; None only where no time was kept."""
    watched: Mapping[str, Mapping[str, Fact] | None] = field(default_factory=dict)
    """What was seen of everything the task watches, by the watch's name; None of what was not there."""
    manifests: tuple[AdmittedObject, ...] = ()
    """Manifests and control files of the delivery: evidence, and no data."""

    @property
    def manifest(self) -> AdmittedObject | None:
        """The newest of them, which decides."""
        return max(self.manifests, key=lambda m: (m.facts.last_modified, m.facts.key), default=None)

    suites: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of every expectation suite, by the deliverable's name."""
    past: tuple[PastPeriod, ...] = ()
    """The settled periods before this one when the attempt was opened, oldest first. It is no input: a run of the same
    attempt is judged against the same past, whatever has settled since."""

    def object(self, bucket: str, key: str) -> AdmittedObject | None:
        """The admitted object of that name, if there is one."""
        return next((o for o in self.objects if (o.facts.bucket, o.facts.key) == (bucket, key)), None)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """Everything a tool is given beside its arguments. It sees ports, never the plan and never the journal."""

    task: Task
    period: Period
    step: str
    ports: Ports
    admission: Admission
    deadline_s: float
    witnessed: list[Observation] = field(default_factory=list)
    """What a port saw while it worked for the tool (bytes on the wire); written by `witness`, read by checks."""
    preview: Observation | None = None
    """What `Tool.preview` saw when the preconditions were judged. An irreversible tool does exactly that or nothing."""
    released: frozenset[str] = frozenset()
    """Codes of holds that people have released for exactly what `preview` saw."""
    elsewhere: Elsewhere = ()
    """What the ledger says another system has issued for the effect's scope and period. Counts as issued."""
    hold_id: str | None = None
    """The hold under which they were released."""
    approved: str | None = None
    """Digest of the lines that were approved under it, those that are issued by now among them."""
    given_up: Event = field(default_factory=Event, compare=False)
    """Set when the harness no longer waits for the call. What is done after that is done for nobody."""

    began: float = field(default_factory=time.monotonic, compare=False)

    @property
    def left_s(self) -> float:
        """Seconds until the call's deadline, whatever it has waited for so far; never below 0."""
        return max(0.0, self.deadline_s - (time.monotonic() - self.began))

    def require_wanted(self, doing: str) -> None:
        """Asked by a tool right before it changes anything outside a session, which has a deadline of its own.

        Raises:
            PortError: TIMEOUT if the call was given up: a late call leaves the world as it is.
        """
        if self.given_up.is_set():
            raise PortError("TIMEOUT", f"{doing} was not begun: the call of step {self.step!r} was given up before")


class Tool(ABC):
    """One thing that can be done. Subclasses are stateless; one instance serves every call."""

    contract: ToolContract

    @abstractmethod
    def call(self, args: Any, call: ToolCall) -> Outcome:  # noqa: ANN401 - args is an instance of contract.args
        """Do it. Expected failures are `Failed` values; a PortError may pass, the harness reads its code."""

    @abstractmethod
    def seal(self, args: Any, result: Any, call: ToolCall) -> Probe:  # noqa: ANN401 - instances of the contract's models
        """The probe whose observation identifies what the call left behind.

        The harness looks after the postconditions passed and again before anything uses the result: the same facts
        mean that it is still what was judged.
        """

    def measure(self, name: str, args: Any, result: Any, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002
        """The probe whose fact of that name is the measure; for tools whose contract lists any."""
        raise PlanexecError("BAD_CONTRACT", f"tool {self.contract.name!r} lists the measure {name!r} and has no probe")

    def preview(self, args: Any, call: ToolCall) -> Probe | None:  # noqa: ANN401, ARG002 - for tools with effects
        """The probe of what the call would do, for a person who has to decide; None if there is nothing to show.

        For an irreversible tool its facts hold `count`, `amount` and `digest` of the exact lines that would be issued
        now, and `due_digest` of all lines that are due.
        """
        return None


class EffectTool(Tool):
    """A tool whose call cannot be undone. It says its lines and how one of them is issued; it never loops itself.

    The harness carries it out: it writes every line into the ledger of effects before the first is issued, looks
    before each whether it is still wanted, and looks up what became of one whose outcome is unknown. So the guarantee
    that each line is issued once lives in one place, for every such tool.
    """

    def call(self, args: Any, call: ToolCall) -> Outcome:  # noqa: ANN401, ARG002 - as of `Tool`
        """Never called: that would issue lines that no ledger knows."""
        return Failed(
            "INTERNAL", f"{self.contract.name} cannot be undone; it is carried out line by line or not at all"
        )

    def scope(self, call: ToolCall) -> str:
        """The effect scope, which no renamed task and no other tool changes."""
        return effect_scope(call.task)[0]

    @abstractmethod
    def target(self, ports: Ports) -> str:
        """Which system it issues into, as the ledger names it."""

    @abstractmethod
    def due(self, args: Any, call: ToolCall) -> Sequence[CreditLine]:  # noqa: ANN401 - as of `Tool`
        """Every line that is due for the period, issued or not, by the task's rule; each key once."""

    @abstractmethod
    def held(self, args: Any, call: ToolCall, tally: Tally) -> Held | None:  # noqa: ANN401 - as of `Tool`
        """The limits once more, on exactly what is to be issued; a code in `call.released` holds nothing."""

    @abstractmethod
    def listed(self, call: ToolCall) -> Sequence[Credit]:
        """What the system holds for the scope and period, whoever issued it."""

    @abstractmethod
    def find(self, credit: Credit, call: ToolCall) -> Credit | None:
        """What the system holds under one key; None if it holds nothing. Raises PortError if it cannot say."""

    @abstractmethod
    def issue(self, credit: Credit, call: ToolCall) -> None:
        """Issue one line, under its idempotency key.

        Raises:
            RefusedError: Nothing happened, certainly.
            Exception: Anything else, and nobody knows.
        """

    @abstractmethod
    def result(self, args: Any, call: ToolCall, tally: Tally) -> BaseModel:  # noqa: ANN401 - as of `Tool`
        """An instance of the contract's result model, of what was done."""

    def currency(self, call: ToolCall) -> str:
        """Of every line."""
        return currency_of(call.task)

    def digest(self, lines: Mapping[str, Decimal], call: ToolCall) -> str:  # noqa: ARG002 - for other scales
        """Of lines, as the preview's `digest` and `due_digest` are made."""
        return digest_of_lines(lines.items(), 2)


@dataclass(frozen=True, slots=True)
class ToolContract:
    """What a tool promises."""

    name: str
    """`group.verb` or `verb`, as plans write it."""
    description: str
    args: type[Model]
    result: type[Model]
    effect: Effect
    preconditions: tuple[str, ...]
    """Names of checks, in the order in which their failures are reported."""
    postconditions: tuple[str, ...]
    errors: Mapping[str, str]
    """Codes the call may end with, each with a hint that is more specific than the code's own."""
    deadline_s: float = 60.0
    max_tries: int = 4
    """Calls in one attempt at most, the first included; only transient codes are tried again."""
    idempotent: bool = True
    lookup: Lookup = "none"
    """How the outcome of an interrupted call can be found out. Required for `irreversible`."""
    fallback: str | None = None
    """The tool that is called with the same arguments where this one cannot be; its result is judged as this one's."""
    strategies: Mapping[str, tuple[Strategy, ...]] = field(default_factory=dict)
    """Code to what may follow it here: less than `contract.strategies` allows, never more."""
    writes: str | None = "target"
    """The argument that names what the call writes; None if it writes nothing a plan can name."""
    perishable: bool = False
    """It reads something that may be deleted by others; it belongs early in a plan."""
    surprises: tuple[str, ...] = ()
    """Names of checks asked when a step is done. The step stands whatever they find; the rest of the plan may not."""
    measures: Mapping[str, str] = field(default_factory=dict)
    """What a plan may expect of a done step, `{"about": "step:<id>", "measure": <name>}`: name to what it counts."""


_WEIGHT: Mapping[Effect, int] = {"read": 0, "write": 1, "irreversible": 2}


class ToolRegistry:
    """The tools a task may be given, by name."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            name = tool.contract.name
            if name in self._tools:
                raise PlanexecError("BAD_CONTRACT", f"two tools are named {name!r}")
            if tool.contract.effect == "irreversible" and tool.contract.lookup == "none":
                raise PlanexecError("BAD_CONTRACT", f"irreversible tool {name!r} has no lookup for unknown outcomes")
            if (tool.contract.effect == "irreversible") is not isinstance(tool, EffectTool):
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"tool {name!r} of effect {tool.contract.effect!r} is a {type(tool).__name__}; expected an"
                    " EffectTool where a call cannot be undone, and nowhere else",
                    hint="let it say its lines and how one of them is issued; the harness carries it out",
                )
            if wrong := what_widens(tool.contract.strategies):
                raise PlanexecError("BAD_CONTRACT", f"tool {name!r} widens what may follow a code: {'; '.join(wrong)}")
            self._tools[name] = tool
        for tool in self._tools.values():
            self._require_sound_fallback(tool.contract)

    def _require_sound_fallback(self, contract: ToolContract) -> None:
        """A fallback does no more than what it stands for, and is not that itself. One that is not here is not used."""
        if contract.fallback is None:
            return
        if contract.effect == "irreversible":
            raise PlanexecError("BAD_CONTRACT", f"irreversible tool {contract.name!r} names a fallback")
        if contract.fallback == contract.name:
            raise PlanexecError("BAD_CONTRACT", f"tool {contract.name!r} is its own fallback")
        other = self._tools.get(contract.fallback)
        if other is not None and _WEIGHT[other.contract.effect] > _WEIGHT[contract.effect]:
            raise PlanexecError(
                "BAD_CONTRACT",
                f"the fallback {contract.fallback!r} of tool {contract.name!r} is a tool of effect "
                f"{other.contract.effect!r}; expected {contract.effect!r} or less",
            )

    def __getitem__(self, name: str) -> Tool:
        """The tool of that name; KeyError if there is none."""
        return self._tools[name]

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def __contains__(self, name: object) -> bool:
        """Whether there is a tool of that name."""
        return name in self._tools

    def __iter__(self) -> Iterator[str]:
        """The names, in the order of registration."""
        return iter(self._tools)

    def restricted_to(self, names: Iterable[str]) -> ToolRegistry:
        """Only these tools.

        Raises:
            PlanexecError: BAD_CONTRACT if one of them is not registered.
        """
        names = tuple(names)  # read twice below; a generator would be empty by then
        missing = [name for name in names if name not in self._tools]
        if missing:
            raise PlanexecError("BAD_CONTRACT", f"the task allows tools that are not registered: {', '.join(missing)}")
        return ToolRegistry(self._tools[name] for name in names)
