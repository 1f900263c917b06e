"""A task with everything that carries it out, under a name by which any fresh process finds it again.

A plan's run is rebuilt from ids alone: `ref` leads to this binding, the journal's name to the plan. There is no
planner here: whoever runs a plan can do so without the key of whoever writes it.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import dagster as dg

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.scope import Binder
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Tool, ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.journal import Journal, Listener
from dagster_planexec.recovery.choice import Chooser
from dagster_planexec.world.local.absent_ports import NoCreditApi, NoObjectStore
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.ports import Clock, ObjectStore, Ports

_REF = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class PortResource(Protocol):
    """A Dagster resource with a `port()`, as those of `dagster_planexec.resources` are."""

    def get_resource_definition(self) -> dg.ResourceDefinition:
        """What makes the resource, with its `EnvVar`s read from this process's environment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortResources:
    """One resource per port. What they name is read where a run works, never where it is started."""

    warehouse: PortResource
    roots: PortResource
    objects: PortResource | None = None
    """None: the task reads no object store."""
    credits: PortResource | None = None
    """None: the task pays nothing."""
    clock: Clock = field(default_factory=SystemClock)

    def ports(self) -> Ports:
        """The ports, with the environment of this process.

        Raises:
            PlanexecError: BAD_CONTRACT if a setting is missing or wrong.
        """
        made = {name: port_of(name, resource) for name, resource in self.named().items()}
        return Ports(clock=self.clock, **{"objects": NoObjectStore(), "credits": NoCreditApi(), **made})

    def named(self) -> dict[str, PortResource]:
        """The resources that there are, by the port's name."""
        found = ((name, getattr(self, name)) for name in PORTS)
        return {name: resource for name, resource in found if resource is not None}


PORTS = ("objects", "warehouse", "credits", "roots")


def port_of(name: str, resource: PortResource) -> Any:  # noqa: ANN401 - each port has its own type
    """The port behind a resource, with the environment of this process. Raises as `PortResources.ports`."""
    try:
        made = resource.get_resource_definition()(dg.build_init_resource_context(instance=_without_storage()))
    except dg.DagsterInvalidConfigError as error:
        wrong = "; ".join(str(e.message) for e in error.errors)
        raise PlanexecError(
            "BAD_CONTRACT", f"the resource {name!r} cannot be set up: {wrong[:600]}",
            hint="set the variable that is named in the environment of the worker",
        ) from error  # fmt: skip
    if isinstance(made, AbstractContextManager):
        raise PlanexecError(
            "BAD_CONTRACT", f"the resource {name!r} is torn down or has resources of its own; its port outlives both",
            hint="open and close in the port what has to be closed, and give the resource plain settings",
        )  # fmt: skip
    port = made.port()
    if isinstance(port, ObjectStore):
        port.remade_by(lambda: port_of(name, resource))
    return port


@cache  # never written to; Dagster wants an instance to make a resource, and would make a new one for each: 20 to 50 ms
def _without_storage() -> dg.DagsterInstance:
    return dg.DagsterInstance.ephemeral()


def _no_listeners() -> Sequence[Listener]:
    return ()


def _as_they_are(ports: Ports) -> Ports:
    return ports


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskBinding:
    """A task, its tools, and the resources behind its ports.

    Raises:
        PlanexecError: BAD_CONTRACT if `ref` is not `package.module:NAME`, the task allows a tool that is not here, or
            one that cannot be undone over a journal that is not declared durable; or if a suite would never be asked.
    """

    task: Task
    tools: Sequence[Tool]
    """At least those the task allows."""
    resources: PortResources
    ref: str
    """`package.module:NAME`, where NAME is this binding or something whose `binding` it is."""
    journal: str = "default"
    """The journal's name. Its URL comes from the environment of the worker; only the name travels."""
    journal_is_durable: bool = False
    """Declared by the project: the journal outlives the worker, and is kept as long as anything may be issued again.

    A tool that cannot be undone is refused without it: a journal that is lost with its container has forgotten what
    was issued. Nobody but the project knows; a file may lie on a disk that is kept, a database in a container that
    is not.
    """
    executor: dg.ExecutorDefinition | None = None
    """What runs the steps of a plan; None: one after the other, in the process of the task run."""
    checks: Mapping[str, Binder] = field(default_factory=dict)
    """Checks of the project's own, beside those of this package."""
    listeners: Callable[[], Sequence[Listener]] = _no_listeners
    """Who is told of journalled events. Asked once by the task run and once by the plan run."""
    chooser: Callable[[], Chooser] | None = None
    """Who picks where the rules leave more than one thing to do; used only if the task says `recovery_choice`.

    It is made where steps are run and nowhere else: whatever key it needs is needed there alone.
    """
    wrap: Callable[[Ports], Ports] = _as_they_are
    """Put around the ports of every run."""

    def __post_init__(self) -> None:
        if _REF.fullmatch(self.ref) is None:
            raise PlanexecError(
                "BAD_CONTRACT", f"ref {self.ref[:120]!r} of task {self.task.name!r} is not `package.module:NAME`",
                hint="name the module that defines the binding, and its name there",
            )  # fmt: skip
        self._require_suites_to_be_asked()
        final = [name for name in self.registry if self.registry[name].contract.effect == "irreversible"]
        if final and not self.journal_is_durable:
            raise PlanexecError(
                "BAD_CONTRACT",
                f"task {self.task.name!r} is given {final[0]}, which cannot be undone, over the journal"
                f" {self.journal!r}, which is not declared durable",
                hint="say TaskBinding(journal_is_durable=True) if the journal outlives the worker that runs the month",
            )

    def _require_suites_to_be_asked(self) -> None:
        """A suite that no tool's checks ask would be a promise that nobody keeps."""
        task, tools = self.task, self.registry
        for made in (one for one in task.deliverables if one.suite is not None):
            contracts = [tools[name].contract for name in made.tools if name in tools]
            judged = {
                name for one in contracts for name in (*one.postconditions, *task.required_claims.get(one.name, ()))
            }
            if "expectations_hold" not in judged:
                raise PlanexecError(
                    "BAD_CONTRACT",
                    f"deliverable {made.name!r} of task {task.name!r} has a suite, and none of its tools"
                    f" ({', '.join(made.tools)}) is judged by expectations_hold",
                    hint="require expectations_hold of the tool that makes its table, in Task.required_claims",
                )

    @property
    def registry(self) -> ToolRegistry:
        """The tools the task allows."""
        return ToolRegistry(self.tools).restricted_to(self.task.tools)

    @property
    def pool(self) -> str:
        """The concurrency pool that the warehouse's steps share, in instances that limit it."""
        return "planexec_" + re.sub(r"\W+", "_", str(port_of("warehouse", self.resources.warehouse).name))

    @property
    def folder(self) -> str:
        """The folder from which `ref` can be imported, for processes that start elsewhere.

        Raises:
            PlanexecError: BAD_CONTRACT if this process does not know the module by that name.
        """
        name = self.ref.partition(":")[0]
        module = sys.modules.get(name)
        if module is None or module.__file__ is None:
            raise PlanexecError(
                "BAD_CONTRACT", f"task {self.task.name!r} is to be found in module {name!r}, which is not loaded",
                hint="define the binding in a module of its own, and import that from definitions.py",
            )  # fmt: skip
        file = Path(module.__file__).resolve()
        above = module.__name__.count(".") + (1 if file.name == "__init__.py" else 0)
        return str(file.parents[above])


def work_of(binding: TaskBinding, *, journal: str | None = None, runs_steps: bool = False) -> Work:
    """Everything a run needs, made from the environment of this process.

    Args:
        binding: The task and its resources.
        journal: The journal's name, if not the binding's.
        runs_steps: Whether steps are run with it, and so also whoever may pick from a menu is made.

    Raises:
        PlanexecError: HOME_UNWRITABLE if nothing says where the journal is; what a resource says of its own settings.
    """
    remembered = Journal(journal or binding.journal, listeners=binding.listeners())
    ports = binding.wrap(binding.resources.ports())
    may_pick = runs_steps and binding.task.recovery_choice
    chooser = binding.chooser() if may_pick and binding.chooser is not None else None
    return Work(binding.task, binding.registry, ports, remembered, {**BINDERS, **binding.checks}, chooser)


def load_binding(ref: str, folder: str | None = None) -> TaskBinding:
    """The binding of that name.

    Args:
        ref: `package.module:NAME`.
        folder: Where the package is, for a process that was not started there.

    Raises:
        PlanexecError: BAD_CONTRACT if there is none.
    """
    if _REF.fullmatch(ref) is None:
        raise PlanexecError("BAD_CONTRACT", f"{ref[:120]!r} does not name a task: expected `package.module:NAME`")
    module_name, _, name = ref.partition(":")
    if folder is not None and folder not in sys.path:
        sys.path.append(folder)  # at the end: the project shadows nothing that is installed
    try:
        found = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise PlanexecError(
            "BAD_CONTRACT", f"the task {ref!r} cannot be found: {error}",
            hint="the worker needs the same project, in the same place, as the process that started the run",
        ) from error  # fmt: skip
    binding = getattr(found, "binding", found)
    if not isinstance(binding, TaskBinding):
        raise PlanexecError("BAD_CONTRACT", f"{ref!r} is a {type(found).__name__}, not a task binding")
    return binding
