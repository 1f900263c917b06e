"""A plan beside what it is judged by: task, tools, checks and SQL, read once so that every rule is a short loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dagster_planexec.checks.static.arg_shape import ANY, Segment, Shape, sample, shape_at, shape_of_model
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import ToolContract, ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.graph import Ancestry, cycles, graph_of, topological_order
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.plan.reference import Reference, as_reference
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from dagster_planexec.checks.sql_lint import SqlProblem

Segments = tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class Use:
    """A reference in a step's arguments, and what is taken there."""

    reference: Reference
    taker: Shape | None
    """None if the tool has no such argument, or is unknown."""


@dataclass(frozen=True, slots=True)
class Text:
    """A literal string in a step's arguments, and what is taken there."""

    value: str
    path: str
    argument: str
    """The top-level argument it is part of."""
    taker: Shape | None


@dataclass(frozen=True, slots=True)
class ArgumentError:
    """One reason why the tool would not take the arguments."""

    type: str
    """pydantic's name of it: `missing`, `extra_forbidden`, `string_type`, ..."""
    path: str
    message: str
    seen: Any


@dataclass(frozen=True, slots=True)
class StepView:
    """A step with its contract and what stands in its arguments."""

    index: int
    step: Step
    contract: ToolContract | None
    uses: tuple[Use, ...]
    texts: tuple[Text, ...]
    errors: tuple[ArgumentError, ...]

    @property
    def id(self) -> str:
        """The step's id."""
        return self.step.id

    @property
    def is_irreversible(self) -> bool:
        """Whether its tool cannot be undone."""
        return self.contract is not None and self.contract.effect == "irreversible"


@dataclass(frozen=True, slots=True)
class Target:
    """What a step writes: its kind and name, and whether the step names it or was given it."""

    kind: str
    name: str
    by_reference: bool


class Proposal:
    """Everything a rule may look at. Nothing here observes the world."""

    def __init__(
        self,
        plan: Plan,
        task: Task,
        registry: ToolRegistry,
        *,
        sql_texts: Mapping[str, str] | None = None,
        known_checks: Collection[str] = (),
        period: Period | None = None,
    ) -> None:
        self.plan = plan
        self.task = task
        self.registry = registry
        self.sql_texts = sql_texts
        self.expected_period = period
        self.steps = tuple(_view(index, step, registry) for index, step in enumerate(plan.steps))
        self.by_id: dict[str, StepView] = {}
        for view in self.steps:
            self.by_id.setdefault(view.id, view)
        contracts = [registry[name].contract for name in registry]
        self.known_checks = frozenset(known_checks).union(
            *(contract.preconditions + contract.postconditions for contract in contracts),
            *task.required_claims.values(),
        )
        self._targets: dict[int, tuple[str, str] | None] = {}
        self._lint: dict[tuple[str, frozenset[str]], tuple[SqlProblem, ...]] = {}

    @cached_property
    def allowed_tools(self) -> tuple[str, ...]:
        """The registered tools that the task allows, in the task's order."""
        return tuple(name for name in self.task.tools if name in self.registry)

    @cached_property
    def period(self) -> Period | None:
        """The period the plan says it is for; None if that is none of the task's."""
        try:
            return self.task.period(self.plan.period)
        except PlanexecError:
            return None

    @cached_property
    def needs(self) -> dict[str, tuple[str, ...]]:
        """What each step needs, by dependency or reference, but for itself."""
        # The same as `plan.graph.edges`, from references that were read once already.
        return graph_of(
            (v.id, {*v.step.depends_on, *(use.reference.step for use in v.uses)} - {v.id}) for v in self.steps
        )

    @cached_property
    def ancestry(self) -> Ancestry:
        """Who precedes whom by dependencies and references."""
        return Ancestry(self.needs)

    @cached_property
    def declared_ancestry(self) -> Ancestry:
        """Who precedes whom by `depends_on` alone."""
        return Ancestry(graph_of((view.id, view.step.depends_on) for view in self.steps))

    @cached_property
    def data_ancestry(self) -> Ancestry:
        """Who precedes whom by references alone."""
        return Ancestry(graph_of((view.id, [use.reference.step for use in view.uses]) for view in self.steps))

    @cached_property
    def position(self) -> dict[str, int]:
        """The place of each step in the order of the run; the listed order if a cycle leaves none."""
        order = tuple(self.needs) if cycles(self.needs) else topological_order(self.needs)
        return {name: at for at, name in enumerate(order)}

    @cached_property
    def used(self) -> frozenset[str]:
        """The ids of steps that some other step refers to or depends on."""
        return frozenset(parent for parents in self.needs.values() for parent in parents)

    def makers(self, tools: Collection[str]) -> tuple[StepView, ...]:
        """The steps of these tools."""
        return tuple(view for view in self.steps if view.step.tool in tools)

    def target(self, view: StepView) -> Target | None:
        """What a step writes, its reference followed to the step that names it; None if nothing can be told."""
        path: list[StepView] = []
        at: StepView | None = view
        named: tuple[str, str] | None = None
        while at is not None:
            if at.index in self._targets:
                named = self._targets[at.index]
                break
            path.append(at)
            self._targets[at.index] = None  # a circle of references names nothing
            kind, value = _written(at)
            if kind is None or isinstance(value, str):
                named = (kind, value.casefold()) if kind is not None else None
                break
            found = as_reference(value)
            given = self.given(found) if found is not None else None
            at = self.by_id.get(found.step) if found is not None and given is not None and given.kind == kind else None
        for passed in path:
            self._targets[passed.index] = named
        literal = isinstance(_written(view)[1], str)
        return Target(*named, by_reference=not literal) if named is not None else None

    def given(self, reference: Reference) -> Shape | None:
        """What the referenced result field gives; None if step, tool or field is unknown."""
        source = self.by_id.get(reference.step)
        if source is None or source.contract is None:
            return None
        return shape_at(shape_of_model(source.contract.result), tuple(reference.field.split(".")))

    def file_contracts(self, view: StepView) -> tuple[str, ...]:
        """Names of the task's file contracts a step is about: its own argument, or those it gets data from."""
        own = view.step.args.get("contract")
        if isinstance(own, str) and own in self.task.contracts:
            return (own,)
        drop = self.task.drop
        if view.step.args.get("bucket") == drop.bucket:
            return tuple(
                i.contract for i in self.task.inputs if i.name == drop.input and i.contract in self.task.contracts
            )
        found: dict[str, None] = {}
        for use in view.uses:
            source = self.by_id.get(use.reference.step)
            named = source.step.args.get("contract") if source is not None else None
            if isinstance(named, str) and named in self.task.contracts:
                found[named] = None
        return tuple(found)

    def sql_problems(self, view: StepView) -> tuple[SqlProblem, ...]:
        """What is wrong with the query a step runs, if its text is known."""
        file, inputs = view.step.args.get("file"), view.step.args.get("inputs")
        if not isinstance(file, str) or not isinstance(inputs, Mapping) or self.sql_texts is None:
            return ()
        text = self.sql_texts.get(file)
        if text is None:
            return ()  # out-of-scope says so
        key = (file, frozenset(inputs))
        if key not in self._lint:
            contracts = {i.contract for i in self.task.inputs if i.name in inputs} & set(self.task.contracts)
            keys = {self.task.contracts[name].key for name in contracts}
            self._lint[key] = _lint(text, key[1], keys)
        return self._lint[key]


def _written(view: StepView) -> tuple[str | None, Any]:
    """The kind of what a step writes and the argument that names it; (None, None) if it writes nothing so named."""
    contract = view.contract
    if contract is None or contract.writes is None:
        return None, None
    taker = shape_at(shape_of_model(contract.args), (contract.writes,))
    value = view.step.args.get(contract.writes)
    return (taker.kind or contract.writes, value) if taker is not None else (None, None)


def _lint(text: str, inputs: frozenset[str], keys: Collection[tuple[str, ...]]) -> tuple[SqlProblem, ...]:
    from dagster_planexec.checks.sql_lint import SqlProblem, lint_sql  # noqa: PLC0415 - sqlglot is heavy

    try:
        return lint_sql(text, inputs=inputs, keys=keys)
    except Exception as error:  # noqa: BLE001 - a query the parser chokes on is refused, whatever it raised
        return (SqlProblem("unparsable-sql", f"the parser raised {type(error).__name__}: {str(error)[:100]}"),)


def _view(index: int, step: Step, registry: ToolRegistry) -> StepView:
    tool = registry.get(step.tool)
    contract = tool.contract if tool is not None else None
    shape = shape_of_model(contract.args) if contract is not None else None
    uses: list[Use] = []
    texts: list[Text] = []
    places: dict[Segments, Any] = {}

    def read(value: Any, segments: Segments, path: str) -> Any:  # noqa: ANN401 - any JSON
        """The value with samples in place of references; notes what it meets. The model bounds the depth."""
        if isinstance(value, str):
            texts.append(Text(value, path, str(segments[0]), shape_at(shape, segments) if shape else None))
            return value
        if isinstance(value, dict):
            found = as_reference(value, path) if segments else None
            if found is None:
                return {k: read(v, (*segments, k), f"{path}.{k}" if path else k) for k, v in value.items()}
            taker = shape_at(shape, segments) if shape else None
            uses.append(Use(found, taker))
            places[segments] = value
            return sample(taker or ANY)
        if isinstance(value, list | tuple):
            return [read(child, (*segments, at), f"{path}[{at}]") for at, child in enumerate(value)]
        return value

    filled = read(step.args, (), "")
    errors = _errors(contract, filled, places) if contract is not None else ()
    return StepView(index, step, contract, tuple(uses), tuple(texts), errors)


def _errors(
    contract: ToolContract, args: Mapping[str, Any], places: Mapping[Segments, Any]
) -> tuple[ArgumentError, ...]:
    try:
        contract.args.model_validate(args)
    except ValidationError as error:
        out = []
        for item in error.errors(include_url=False, include_context=False):
            where, seen = item["loc"], item.get("input")
            if item["type"] == "extra_forbidden":
                seen = places.get(where, seen)
            elif (places and not where) or any(_leads_to(place, where) for place in places):
                continue  # about the sample that stands for a reference; ref-type-mismatch judges the reference
            out.append(ArgumentError(item["type"], _path(where), item["msg"], seen))
        return tuple(out)
    except Exception as error:  # noqa: BLE001 - a tool's own validator may raise anything on hostile arguments
        text = f"the arguments cannot be validated: {type(error).__name__}: {str(error)[:100]}"
        return (ArgumentError("validator", "", text, None),)
    return ()


def _leads_to(place: Segments, where: tuple[Segment, ...]) -> bool:
    """Whether an error's location lies at or below a place; pydantic puts names of union members in between."""
    rest = iter(where)
    return all(segment in rest for segment in place)


def _path(where: tuple[Segment, ...]) -> str:
    out = ""
    for part in where[:12]:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else part
    return out
