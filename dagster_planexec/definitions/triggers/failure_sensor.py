"""The failure sensor: tells about task runs that failed, in one text with everything one needs to act."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import dagster as dg

from dagster_planexec.compiler.plan_run import HOLD_TAG, PARTITION_TAG
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.planned_task import finish_name
from dagster_planexec.definitions.triggers.task_runs import TaskRuns
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.journal.told.sentence import LONGEST_TOLD

URL_VARIABLE = "PLANEXEC_DAGSTER_URL"
"""Where people open Dagster, e.g. `https://dagster.example.org`; without it links are paths."""

_HOLD = re.compile(r"hold_[0-9a-f]{12}")

OnFailure = Callable[[str], None]


def log_failure(text: str) -> None:
    """Write it to the log of the daemon; what a project gets that names nothing better."""
    logging.getLogger("dagster_planexec.failures").error(text)


def failure_sensor(
    tasks: Iterable[Task], *, on_failure: OnFailure = log_failure, name: str = "planexec__failures"
) -> dg.SensorDefinition:
    """A sensor for every failed task run of this code location, whatever started it.

    It names no jobs: runs from the asset page, from backfills and from the job itself are all heard. A plan run has no
    origin in the location and is not; its task run says what happened in it.

    Args:
        tasks: Whose runs.
        on_failure: Given the text.
        name: The sensor's name.
    """
    known = tuple(tasks)

    @dg.run_failure_sensor(
        name=name,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Tells about every task run that failed: claim, both sides, a link, and what to do next.",
    )
    def failures(context: dg.RunFailureSensorContext) -> dg.SkipReason | None:
        run, instance = context.dagster_run, context.instance
        # The tag is set by the run itself; one that died earlier is known by its job, or by what it was to make.
        task = next((task for task in known if TaskRuns(instance, task).is_of_task(run)), None)
        if task is None:
            return dg.SkipReason("not a task run")
        text = failure_text(task, run, context.get_step_failure_events())
        context.log.error(text)
        on_failure(text)
        return None

    return failures


def failure_text(task: Task, run: dg.DagsterRun, failures: Iterable[dg.DagsterEvent]) -> str:
    """The one sentence, then code, step, link and next command, one per line.

    The sentence is plain text; whoever sends it on as Markdown or HTML has to escape it.
    """
    partition = run.tags.get(PARTITION_TAG, "no partition")
    found = next((f for f in failures if f.step_key in {task.name, finish_name(task)}), None)
    sentence, metadata = _said(found)
    lines = [
        f"{task.name} {partition}: {one_line(sentence, LONGEST_TOLD)}",
        f"code: {metadata.get('code', 'INTERNAL')}",
        f"step: {metadata.get('step', 'none: the run failed outside the steps of its plan')}",
    ]
    lines.append(f"run: {os.environ.get(URL_VARIABLE, '').rstrip('/')}/runs/{run.run_id}")
    if str(metadata.get("hint", "")) not in sentence or "hint" not in metadata:
        lines.append(f"hint: {one_line(str(metadata.get('hint', 'look at the log of the run')))}")
    hold = run.tags.get(HOLD_TAG, "")  # anybody can write a tag, and somebody will paste the command
    again = f"planexec run {task.name} --partition {partition}"
    if _HOLD.fullmatch(hold):
        again = f"planexec continue {hold}"
    lines.append(f"next: {metadata.get('next', again)}")
    return "\n".join(lines)


def _said(event: dg.DagsterEvent | None) -> tuple[str, Mapping[str, Any]]:
    """The sentence and the metadata of our own failure; of any other, its message and nothing."""
    if event is None:
        return "the run failed before or outside its task", {}
    data = event.step_failure_data
    if data.user_failure_data is None:
        return (data.error.message.strip() if data.error else "failed"), {}
    metadata = {name: value.value for name, value in data.user_failure_data.metadata.items()}
    return data.user_failure_data.description or "failed", metadata
