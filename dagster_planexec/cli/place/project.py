"""Which project the command line works on: the folder with `workspace.yaml`, and what its definitions declare."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from dagster_planexec.cli.place.asked import no_such
from dagster_planexec.errors import PlanexecError

if TYPE_CHECKING:
    from dagster_planexec.cli.stage import DemoStage
    from dagster_planexec.definitions.planned_task import PlannedTask


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """A folder with a `workspace.yaml` that names one Python file."""

    root: Path
    definitions: Path
    working: Path
    """Where its imports start: `working_directory` of the workspace, else the folder itself."""

    def tasks(self) -> dict[str, PlannedTask]:
        """The tasks that the project's definitions declare as `TASKS`, by name.

        Raises:
            PlanexecError: BAD_CONTRACT if the definitions cannot be imported, or declare none.
        """
        declared = getattr(self.module(), "TASKS", ())
        if not declared:
            raise PlanexecError(
                "BAD_CONTRACT", f"{self.definitions.name} declares no `TASKS`",
                hint="set `TASKS = (PlannedTask(...),)` beside `defs`; see README.md, 'Your own task'",
            )  # fmt: skip
        return {planned.name: planned for planned in declared}

    def task(self, name: str) -> PlannedTask:
        """The task of that name.

        Raises:
            PlanexecError: BAD_CONTRACT if there is none.
        """
        tasks = self.tasks()
        if name not in tasks:
            raise no_such("task", name, tasks)
        return tasks[name]

    def module(self) -> Any:  # noqa: ANN401 - a module
        """The project's definitions, imported.

        Raises:
            PlanexecError: What the project's own code refuses with, e.g. BAD_CONTRACT for one of its contracts.
        """
        return self._import(self.definitions)

    def demo(self) -> DemoStage:
        """The project's demo, named in its `pyproject.toml` as `[tool.planexec] demo = "module:NAME"`.

        Raises:
            PlanexecError: BAD_CONTRACT if it names none.
        """
        try:
            settings = tomllib.loads((self.root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["planexec"]
            module, _, name = str(settings["demo"]).partition(":")
        except (OSError, KeyError, tomllib.TOMLDecodeError) as error:
            raise PlanexecError(
                "BAD_CONTRACT", f"the project in {self.root.name!r} has no demo",
                hint='name it in pyproject.toml: [tool.planexec] demo = "module:NAME"',
            ) from error  # fmt: skip
        self._enter()
        return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]

    def _enter(self) -> None:
        if str(self.working) not in sys.path:
            sys.path.insert(0, str(self.working))

    def _import(self, path: Path) -> Any:  # noqa: ANN401 - a module
        self._enter()
        name = path.stem
        if name in sys.modules and getattr(sys.modules[name], "__file__", None) == str(path):
            return sys.modules[name]
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018 - a path that ends in .py
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module


def find_project(folder: Path | None) -> ProjectFolder:
    """The project in that folder, or in the current one.

    Raises:
        PlanexecError: BAD_CONTRACT if there is no `workspace.yaml`, or it names no Python file.
    """
    root = (folder or Path.cwd()).resolve()
    workspace = root / "workspace.yaml"
    try:
        entries = yaml.safe_load(workspace.read_text(encoding="utf-8"))["load_from"]
        entry = next(entry["python_file"] for entry in entries if "python_file" in entry)
    except OSError as error:
        raise PlanexecError(
            "BAD_CONTRACT",
            f"there is no workspace.yaml in {root}",
            hint="change to the project's folder, or name it with --project",
        ) from error
    except (yaml.YAMLError, KeyError, TypeError, StopIteration) as error:
        raise PlanexecError(
            "BAD_CONTRACT", "workspace.yaml names no python_file", hint="see workspace.yaml of the example project"
        ) from error
    settings = entry if isinstance(entry, dict) else {"relative_path": entry}
    path = (root / str(settings.get("relative_path"))).resolve()
    working = (root / str(settings.get("working_directory") or ".")).resolve()
    for named, is_there in (("relative_path", path.is_file()), ("working_directory", working.is_dir())):
        if not is_there:
            raise PlanexecError(
                "BAD_CONTRACT", f"workspace.yaml names {named} {settings.get(named)!r}, which is not there",
                hint="correct it",
            )  # fmt: skip
    return ProjectFolder(root, path, working)
