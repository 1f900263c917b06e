"""`planexec`: a thin front over the code that Dagster runs. With `--json`, standard output is one JSON document."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from dagster_planexec.cli import files, money
from dagster_planexec.cli.document import EXIT
from dagster_planexec.cli.frame import AS_JSON, HOME, PARTITION, answering, looking_only
from dagster_planexec.cli.place.asked import period_of
from dagster_planexec.cli.place.home import at_home, looking_home
from dagster_planexec.cli.place.project import find_project
from dagster_planexec.cli.printing import print_json, progress
from dagster_planexec.errors import PlanexecError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.option(
    "--project", type=click.Path(path_type=Path, file_okay=False), default=None,
    help="Folder with workspace.yaml. Default: the current one.",
)  # fmt: skip
@click.version_option(package_name="dagster-planexec")
@click.pass_context
def main(context: click.Context, project: Path | None) -> None:
    """A model writes a plan, code keeps the guarantees.

    Exit codes: 0 succeeded, 3 held for a person, 4 stopped, 5 plan rejected, 6 waiting for a time, 7 stood back for a
    run that holds the period, 1 error.
    """
    context.obj = project


@main.command()
@click.argument("task")
@PARTITION
@click.option("--replan", is_flag=True, help="Ask the planner again, although the inputs are the same.")
@HOME
@AS_JSON
@click.pass_obj
@answering
def run(project: Path | None, task: str, partition: str, *, replan: bool, home: Path | None, as_json: bool) -> Any:  # noqa: ANN401, ARG001
    """Run TASK for one period, as its Dagster asset does."""
    from dagster_planexec.cli.verbs.running import run_task  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    chosen = at_home(folder, home)
    planned = folder.task(task)
    period = period_of(planned, partition)
    return run_task(folder, planned, period, chosen, replan=replan, console=progress())


@main.command()
@click.argument("task")
@PARTITION
@click.option("--answer", default=None, help="Check this answer of a model instead: a file, or - for standard input.")
@HOME
@AS_JSON
@click.pass_obj
@answering
def plan(
    project: Path | None, task: str, partition: str, *, answer: str | None, home: Path | None, as_json: bool
) -> Any:  # noqa: ANN401
    """Have a plan proposed and checked against the world, and show it. Runs nothing.

    With --answer, the plan is what somebody's model answered to `planexec prompt`: nobody is asked, nothing is kept.
    """
    folder = find_project(project)
    at_home(folder, home)
    planned = folder.task(task)
    period = period_of(planned, partition, ended=False)
    if answer is not None:
        from dagster_planexec.cli.verbs.model.asking import judge_answer  # noqa: PLC0415 - Dagster, where it is needed

        return judge_answer(planned, period, answer, show=not as_json)
    from dagster_planexec.cli.verbs.looking import propose  # noqa: PLC0415 - Dagster, only where it is needed

    return propose(planned, period, show=not as_json)


@main.command()
@click.argument("task")
@PARTITION
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def prompt(project: Path | None, task: str, partition: str, *, home: Path | None, as_json: bool) -> None:  # noqa: ARG001
    """Print exactly what a model would be asked for a plan, as one JSON document. Asks none, runs nothing.

    Paste `messages` into any model, and give its answer to `planexec plan --answer`.
    """
    from dagster_planexec.cli.verbs.model.asking import prompt as asked  # noqa: PLC0415 - Dagster, where it is needed

    folder = find_project(project)
    looking_home(folder, home)
    planned = folder.task(task)
    print_json(asked(planned, period_of(planned, partition, ended=False)))


@main.command()
@click.argument("plan_file", type=click.Path(path_type=Path))
@click.option("--task", default=None, help="The task that the plan is for.")
@click.option(
    "--catalogue", type=click.Path(path_type=Path), default=None,
    help="Tools that others described, one a line; PLAN_FILE then holds their plans, one a line. Needs no project.",
)  # fmt: skip
@AS_JSON
@click.pass_obj
@answering
def check(project: Path | None, plan_file: Path, task: str | None, catalogue: Path | None, *, as_json: bool) -> Any:  # noqa: ANN401
    """Check a plan file by every rule that needs no world. Every finding is shown, each with a remedy.

    With --catalogue, PLAN_FILE holds the plans that others wrote for their own tools, one JSON object a line:
    {plan_id, task, steps: [{id, tool, args, deps}]}; in args, {"$ref": "<step id>", "path": "<field>"} is the result
    of a step. The catalogue has one tool a line: {tool, description, parameters}, the last a JSON Schema.
    """
    if catalogue is not None and task is None:
        from dagster_planexec.cli.verbs.files.foreign import check_plans  # noqa: PLC0415 - only where it is needed

        sys.exit(check_plans(plan_file, catalogue, as_json=as_json))
    if task is None or catalogue is not None:
        raise PlanexecError(
            "VALIDATION_ERROR",
            f"a plan is checked for a task or against a catalogue; {'both were' if task else 'neither was'} named",
            hint="name one: `planexec check PLAN --task TASK` or `planexec check PLANS.jsonl --catalogue TOOLS.jsonl`",
        )
    from dagster_planexec.cli.verbs.looking import check_file  # noqa: PLC0415 - Dagster, only where it is needed

    return check_file(find_project(project).task(task), plan_file)


@main.command()
@click.argument("reference")
@click.option("--partition", default=None, help="With a task's name: which period.")
@click.option("--lines", is_flag=True, help="With a hold: every line that would be issued, read now.")
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def show(
    project: Path | None, reference: str, partition: str | None, *, lines: bool, home: Path | None, as_json: bool
) -> None:
    """Show a plan by its digest, a hold or an attempt by its id, a task run by its id, or a TASK's last run."""
    folder = find_project(project)
    chosen = looking_home(folder, home)
    if lines:
        from dagster_planexec.cli.verbs.deciding import show_lines  # noqa: PLC0415 - Dagster, only where it is needed

        show_lines(folder, reference, as_json=as_json)
        return
    from dagster_planexec.cli.verbs.looking import show as look  # noqa: PLC0415 - Dagster, only where it is needed

    look(folder, reference, partition, chosen, as_json=as_json)


@main.command()
@click.argument("task")
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def status(project: Path | None, task: str, *, home: Path | None, as_json: bool) -> None:
    """One line per period of TASK: settled, held, stopped with its code, not run."""
    from dagster_planexec.cli.verbs.looking import status as look  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    looking_home(folder, home)
    look(folder.task(task), as_json=as_json)


@main.command()
@click.argument("task")
@PARTITION
@HOME
@AS_JSON
@click.pass_obj
@answering
def observe(project: Path | None, task: str, partition: str, *, home: Path | None, as_json: bool) -> Any:  # noqa: ANN401
    """Look again at everything a period relies on: drop, landed copies, tables, results, credits. Runs nothing.

    Exit codes: 0 everything stands, 4 something changed, is gone or is new, 1 it could not be looked at.
    """
    from dagster_planexec.cli.verbs.observing import observe as look  # noqa: PLC0415 - Dagster, where it is needed

    folder = find_project(project)
    chosen = looking_home(folder, home)
    planned = folder.task(task)
    document = look(planned, period_of(planned, partition), chosen, show=not as_json)
    if as_json:
        return document
    sys.exit(EXIT[document["status"]])


@main.command()
@click.argument("reference")
@click.option("--partition", default=None, help="With a task's name: which period.")
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def trace(project: Path | None, reference: str, partition: str | None, *, home: Path | None, as_json: bool) -> None:
    """Tell what happened in a task run, a plan run, an attempt (att_...), or in TASK's period, event by event."""
    from dagster_planexec.cli.verbs.tracing import trace as look  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    look(folder, reference, partition, looking_home(folder, home), as_json=as_json)


@main.command()
@click.argument("task", required=False)
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def failures(project: Path | None, task: str | None, *, home: Path | None, as_json: bool) -> None:
    """How TASK, or every task, has failed: how often, when, what resolved it, and what that suggests."""
    from dagster_planexec.cli.memory.failures import failures as look  # noqa: PLC0415 - Dagster, where it is needed

    folder = find_project(project)
    look(folder, task, looking_home(folder, home), as_json=as_json)


@main.command()
@click.argument("task", required=False)
@click.option("--older-than", required=True, metavar="AGE", help="Days or weeks, e.g. 400d or 52w.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def prune(
    project: Path | None, task: str | None, *, older_than: str, dry_run: bool, home: Path | None, as_json: bool
) -> None:
    """Forget events, results and reports of old attempts whose period has settled. Effects and holds always stay."""
    from dagster_planexec.cli.memory.prune import prune as forget  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    forget(folder, task, older_than, looking_home(folder, home), dry_run=dry_run, as_json=as_json)


@main.command()
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def doctor(project: Path | None, *, home: Path | None, as_json: bool) -> None:
    """Check the installation: versions, home, journal, tasks and the systems behind their ports."""
    from dagster_planexec.cli.verbs.doctor import examine  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    sys.exit(0 if examine(folder, at_home(folder, home), as_json=as_json) else 1)


@main.command()
@click.option("--data", default=None, help="The data set: saturday (default), council, lockfiles or row_counts.")
@click.option("--fault", default=None, help="What goes wrong; `list` shows them all.")
@click.option("--executor", type=click.Choice(["harness", "literal"]), default="harness",
              help="literal: a loop over the steps that reads no answer, for comparison.")  # fmt: skip
@click.option("--partition", default=None, help="The period. Default: the data set's own.")
@click.option("--home", type=click.Path(path_type=Path, file_okay=False), default=None,
              help="Default: .planexec; a fault gets a fresh folder below it.")  # fmt: skip
@click.option("--ui", is_flag=True, help="Start the local S3 server and `dagster dev`, sensors on; stop with Ctrl-C.")
@click.option("--port", type=int, default=None, help="With --ui: the port of the UI. Default 3000.")
@AS_JSON
@click.pass_obj
@answering
def demo(project: Path | None, /, *, as_json: bool, **wanted: Any) -> Any:  # noqa: ANN401
    """Run the example in a local world: a real S3 server on loopback, a DuckDB file. No key, no model, no network."""
    from dagster_planexec.cli.verbs.demo import Wanted, run_demo  # noqa: PLC0415 - Dagster, only where it is needed

    return run_demo(find_project(project), Wanted(**wanted), as_json=as_json)


for verb in (*files.VERBS, *money.VERBS):
    main.add_command(verb)


if __name__ == "__main__":
    main()
