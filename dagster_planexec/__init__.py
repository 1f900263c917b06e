"""A Dagster plugin in which a model writes a plan and code keeps the guarantees.

The names below are the public ones. Each is imported when it is first used: importing the package costs next to
nothing beside importing Dagster.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dagster_shared.libraries import DagsterLibraryRegistry

if TYPE_CHECKING:
    from dagster_planexec.checks.static.static_check import check_foreign, check_structure
    from dagster_planexec.compiler.binding import PortResources, TaskBinding, load_binding, work_of
    from dagster_planexec.compiler.job import describe_plan
    from dagster_planexec.contract.delivery.manifest import Manifest
    from dagster_planexec.contract.delivery.plausible import Plausible
    from dagster_planexec.contract.effects.policy import ApprovalPolicy
    from dagster_planexec.contract.file_contract import FileContract, load_contract
    from dagster_planexec.contract.foreign.catalogue import read_catalogue
    from dagster_planexec.contract.outcome import Done, Failed, Held
    from dagster_planexec.contract.reconcile.spec import ReconcileSpec, load_spec
    from dagster_planexec.contract.task import (
        CreditRule,
        Deliverable,
        Drop,
        Limits,
        NamedInput,
        ResultShape,
        Scope,
        Task,
        Watch,
    )
    from dagster_planexec.contract.tool import Tool, ToolCall, ToolContract, ToolRegistry
    from dagster_planexec.definitions.approval.approval_sensor import approval_sensor
    from dagster_planexec.definitions.approval.notices import HoldNews
    from dagster_planexec.definitions.build import planexec_definitions, task_job
    from dagster_planexec.definitions.planned_task import PlannedTask
    from dagster_planexec.definitions.triggers.arrival_sensor import arrival_sensor
    from dagster_planexec.definitions.triggers.failure_sensor import failure_sensor
    from dagster_planexec.definitions.triggers.schedule import task_schedule
    from dagster_planexec.errors import PlanexecError
    from dagster_planexec.plan.foreign.plans import ForeignPlan, import_plan, read_plans
    from dagster_planexec.plan.model import Plan
    from dagster_planexec.planner.openai.openai_chooser import OpenAIChooser
    from dagster_planexec.planner.openai.openai_planner import OpenAIPlanner
    from dagster_planexec.planner.pinned_planner import PinnedPlanner
    from dagster_planexec.planner.planner import Planner, Proposal
    from dagster_planexec.planner.recorded_planner import RecordedPlanner
    from dagster_planexec.planner.recording_planner import RecordingPlanner
    from dagster_planexec.planner.request import PlanRequest
    from dagster_planexec.recovery.choice import Choice, Chooser, Question
    from dagster_planexec.resources.model.openai_chooser import OpenAIChooserResource
    from dagster_planexec.resources.model.openai_planner import OpenAIPlannerResource
    from dagster_planexec.tools import BUILTIN_TOOLS
    from dagster_planexec.world.delivery.manifest.form import ManifestForm, PartWords, WholeWords

__version__ = "0.1.0"

_WHERE = {
    "checks.static.static_check": ("check_foreign", "check_structure"),
    "compiler.binding": ("PortResources", "TaskBinding", "load_binding", "work_of"),
    "compiler.job": ("describe_plan",),
    "contract.delivery.manifest": ("Manifest",),
    "contract.delivery.plausible": ("Plausible",),
    "contract.reconcile.spec": ("ReconcileSpec", "load_spec"),
    "contract.effects.policy": ("ApprovalPolicy",),
    "contract.file_contract": ("FileContract", "load_contract"),
    "contract.foreign.catalogue": ("read_catalogue",),
    "contract.outcome": ("Done", "Failed", "Held"),
    "contract.task": (
        "CreditRule",
        "Deliverable",
        "Drop",
        "Limits",
        "NamedInput",
        "ResultShape",
        "Scope",
        "Task",
        "Watch",
    ),
    "contract.tool": ("Tool", "ToolCall", "ToolContract", "ToolRegistry"),
    "definitions.triggers.arrival_sensor": ("arrival_sensor",),
    "definitions.approval.approval_sensor": ("approval_sensor",),
    "definitions.approval.notices": ("HoldNews",),
    "definitions.build": ("planexec_definitions", "task_job"),
    "definitions.triggers.failure_sensor": ("failure_sensor",),
    "definitions.planned_task": ("PlannedTask",),
    "definitions.triggers.schedule": ("task_schedule",),
    "errors": ("PlanexecError",),
    "plan.foreign.plans": ("ForeignPlan", "import_plan", "read_plans"),
    "plan.model": ("Plan",),
    "planner.openai.openai_chooser": ("OpenAIChooser",),
    "planner.openai.openai_planner": ("OpenAIPlanner",),
    "planner.pinned_planner": ("PinnedPlanner",),
    "planner.planner": ("PlanRequest", "Planner", "Proposal"),
    "planner.recorded_planner": ("RecordedPlanner",),
    "planner.recording_planner": ("RecordingPlanner",),
    "recovery.choice": ("Choice", "Chooser", "Question"),
    "resources.model.openai_chooser": ("OpenAIChooserResource",),
    "resources.model.openai_planner": ("OpenAIPlannerResource",),
    "tools": ("BUILTIN_TOOLS",),
    "world.delivery.manifest.form": ("ManifestForm", "PartWords", "WholeWords"),
}
_MODULE_OF = {name: f"{__name__}.{module}" for module, names in _WHERE.items() for name in names}

__all__ = [
    "BUILTIN_TOOLS",
    "ApprovalPolicy",
    "Choice",
    "Chooser",
    "CreditRule",
    "Deliverable",
    "Done",
    "Drop",
    "Failed",
    "FileContract",
    "ForeignPlan",
    "Held",
    "HoldNews",
    "Limits",
    "Manifest",
    "ManifestForm",
    "NamedInput",
    "OpenAIChooser",
    "OpenAIChooserResource",
    "OpenAIPlanner",
    "OpenAIPlannerResource",
    "PartWords",
    "PinnedPlanner",
    "Plan",
    "PlanRequest",
    "PlanexecError",
    "PlannedTask",
    "Planner",
    "Plausible",
    "PortResources",
    "Proposal",
    "Question",
    "ReconcileSpec",
    "RecordedPlanner",
    "RecordingPlanner",
    "ResultShape",
    "Scope",
    "Task",
    "TaskBinding",
    "Tool",
    "ToolCall",
    "ToolContract",
    "ToolRegistry",
    "Watch",
    "WholeWords",
    "__version__",
    "approval_sensor",
    "arrival_sensor",
    "check_foreign",
    "check_structure",
    "describe_plan",
    "failure_sensor",
    "import_plan",
    "load_binding",
    "load_contract",
    "load_spec",
    "planexec_definitions",
    "read_catalogue",
    "read_plans",
    "task_job",
    "task_schedule",
    "work_of",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - PEP 562
    """Import a public name on first use."""
    module = _MODULE_OF.get(name)
    if module is None:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not."""
    return sorted({*globals(), *__all__})


DagsterLibraryRegistry.register("dagster-planexec", __version__, is_dagster_package=False)
