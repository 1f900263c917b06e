"""A plan beside what it is judged by: task, tools, checks and SQL, read once so that every rule is a short loop."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dagster_planexec.checks.static.arg_shape import shape_at, shape_of_model
from dagster_planexec.checks.static.structure import StepView, Structure
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.graph import Ancestry, cycles, graph_of, topological_order
from dagster_planexec.plan.model import Plan
from dagster_planexec.plan.reference import as_reference
from dagster_planexec.world.period import Period

if TYPE_CHECKING:
    from dagster_planexec.checks.sql_lint import SqlProblem


@dataclass(frozen=True, slots=True)
class Target:
    """What a step writes: its kind and name, and whether the step names it or was given it."""

    kind: str
    name: str
    by_reference: bool


class Proposal(Structure):
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
        earlier: Sequence[Plan] = (),
        replans_left: int = 0,
    ) -> None:
        super().__init__(plan, registry)
        self.task = task
        self.sql_texts = sql_texts
        self.expected_period = period
        self.earlier = tuple(earlier)
        self.replans_left = replans_left
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

    @cached_property
    def writers(self) -> dict[tuple[str, str], list[tuple[StepView, Target]]]:
        """Kind and name of everything the plan writes, to the steps that write it, in the order of the plan."""
        found: dict[tuple[str, str], list[tuple[StepView, Target]]] = {}
        for view in self.steps:
            target = self.target(view)
            if target is not None:
                found.setdefault((target.kind, target.name), []).append((view, target))
        return found

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

    def file_contracts(self, view: StepView) -> tuple[str, ...]:
        """Names of the task's file contracts a step is about: its own argument, or those it gets data from."""
        own = view.step.args.get("contract")
        if isinstance(own, str) and own in self.task.contracts:
            return (own,)
        drop = self.task.drop
        if drop is not None and view.step.args.get("bucket") == drop.bucket:
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
