"""One op definition per tool. A step of a plan is an alias of its tool's op."""

# No `from __future__ import annotations` here: Dagster reads the context class from the annotation itself.

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import dagster as dg

from dagster_planexec.compiler.events import NO_MORE_RUNS, evaluations, failure, follow
from dagster_planexec.compiler.markup import escaped
from dagster_planexec.compiler.plan_run import TASK_RUN_TAG, PlanRun, stop_if_terminated
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.recovery.decision import Stop


@cache  # one definition per tool and process: two of one name would conflict
def op_of(name: str, description: str, pool: str | None) -> dg.OpDefinition:
    """The op of a tool.

    Args:
        name: `s3_get` of the tool `s3.get`; see `plan.naming`.
        description: The tool contract's own words; nothing of a plan.
        pool: The concurrency pool of the warehouse, for instances that limit it.
    """

    @dg.op(
        name=name,
        description=escaped(description, 1_000),
        ins={"after": dg.In(dg.Nothing)},
        # Not yielded by a step that is held or not run: whatever depends on it is skipped.
        out={"done": dg.Out(dg.Nothing, is_required=False)},
        required_resource_keys={"planexec"},
        pool=pool,
    )
    def step(context: dg.OpExecutionContext) -> Iterator[dg.AssetCheckEvaluation | dg.Output[None]]:
        plan_run: PlanRun = context.resources.planexec
        run = plan_run.run(context)
        terminated = stop_if_terminated(run, context)
        # What cannot be undone asks again before every line: a batch may take long.
        run = replace(run, ended_by=lambda: stop_if_terminated(run, context))
        report = run_step(run, context.op_handle.name)
        yield from evaluations(run.work.task, report, run.period)
        stops = isinstance(report.decision, Stop) and report.state != "not-run"
        if stops or terminated is not None:
            _retry_no_run(context)
        if terminated is not None:
            raise failure(f"CANCELLED: {terminated}", code="CANCELLED", step=report.step, verdict=None)
        tries = run.work.tools[report.tool].contract.max_tries
        yield from follow(report, run.work.task, max_tries=tries, log=context.log)

    return step


def _retry_no_run(context: dg.OpExecutionContext) -> None:
    for run_id in (context.run_id, context.run.tags.get(TASK_RUN_TAG)):
        if run_id and context.instance.has_run(run_id):
            context.instance.add_run_tags(run_id, NO_MORE_RUNS)
