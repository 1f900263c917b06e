"""The task's asset: it settles a period, shows the plan before it runs, and alone materialises."""

# No `from __future__ import annotations` here: Dagster reads the config class from the annotation itself.
import warnings
from collections.abc import Iterator

import dagster as dg

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.compiler.binding import work_of
from dagster_planexec.compiler.events import NO_MORE_RUNS
from dagster_planexec.compiler.plan_run import CODE_TAG, HOLD_TAG, STATUS_TAG, TASK_TAG
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.asking import MonthAsked
from dagster_planexec.definitions.launcher import DagsterLauncher
from dagster_planexec.definitions.partitions import partitions_of
from dagster_planexec.definitions.planned_task import PlannedTask
from dagster_planexec.definitions.shown.effects import log_effects
from dagster_planexec.definitions.shown.ending import as_told, deliverable_metadata, ending
from dagster_planexec.definitions.shown.gates import gates_of, made_by, repeatable, words_of
from dagster_planexec.definitions.shown.months import months_card
from dagster_planexec.definitions.shown.plan_card import plan_card
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.run_report import RunReport, credits_of, save_report
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.settle import settle
from dagster_planexec.settling.parts import CheckedPlan, Settling

Events = Iterator[dg.Output[None] | dg.AssetCheckResult]


class TaskRunConfig(dg.Config):
    """What a person may choose at launch: nothing about the plan itself."""

    replan: bool = False
    """Open another attempt and ask the planner again, although the inputs are the same."""


def task_asset(planned: PlannedTask) -> dg.AssetsDefinition:
    """The partitioned multi-asset of a task: one optional output per repeatable deliverable, one check per gate."""
    task, registry = planned.binding.task, planned.binding.registry
    partitions = partitions_of(task)
    made = repeatable(task)
    # In the order of the work: each deliverable is made from the ones before it.
    before = {d.name: {dg.AssetKey(made[i - 1].name)} if i else set() for i, d in enumerate(made)}

    @dg.multi_asset(
        name=task.name,
        description=task.goal,
        partitions_def=partitions,
        can_subset=False,
        outs={d.name: dg.AssetOut(dagster_type=dg.Nothing, is_required=False, group_name=task.name) for d in made},
        internal_asset_deps=before,
        check_specs=[_gate_spec(planned, d.name, gate) for d in made for gate in gates_of(task, d, registry)],
        op_tags={TASK_TAG: task.name},
    )
    def settle_period(context: dg.AssetExecutionContext, config: TaskRunConfig) -> Events:
        yield from _settle_period(planned, context, replan=config.replan)

    return settle_period


def _gate_spec(planned: PlannedTask, deliverable: str, gate: str) -> dg.AssetCheckSpec:
    checks = {**BINDERS, **planned.binding.checks}
    with warnings.catch_warnings():
        # Partitions of checks are a preview in Dagster. Without them a check keeps a PLANNED row for ever, and what
        # they do is pinned by the version bound and by tests; a warning per check would only hide others.
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            gate, asset=deliverable, blocking=True, partitions_def=partitions_of(planned.binding.task),
            description=words_of(gate, checks),
        )  # fmt: skip


def effect_assets(task: Task) -> tuple[dg.AssetSpec, ...]:
    """What cannot be undone, as external assets: recorded by the task run, and never materialised by a click."""
    made = repeatable(task)
    return tuple(
        dg.AssetSpec(
            d.name,
            description="Recorded when it has happened. Nobody materialises it here; nothing here may depend on it.",
            deps=[made[-1].name] if made else [],
            partitions_def=partitions_of(task),
            group_name=task.name,
        )
        for d in task.deliverables
        if not d.repeatable
    )


def _settle_period(planned: PlannedTask, context: dg.AssetExecutionContext, *, replan: bool) -> Events:
    task = planned.binding.task
    context.instance.add_run_tags(context.run.run_id, {TASK_TAG: task.name})
    report = RunReport.blank(task, task.period(context.partition_key), task_run_id=context.run.run_id)
    unforeseen: Exception | None = None
    try:
        work = work_of(planned.binding)
        try:
            report = _settled(planned, work, context, report, replan=replan)
        finally:
            work.journal.close()
    except dg.DagsterExecutionInterruptedError:
        _log_gates(context, planned, report.ended("error", "CANCELLED", "the task run was terminated"))
        raise
    except PlanexecError as error:
        report = report.ended("error", error.code, error.message, error.hint)
    except Exception as error:  # noqa: BLE001 - whatever it is, the gates are shown as not reached before it goes on
        unforeseen = error
        report = report.ended("error", "INTERNAL", one_line(f"{type(error).__name__}: {error}"))
    # A hold ends green; whoever looks at a list of runs sees by the tag that a person is waited for.
    context.instance.add_run_tags(context.run.run_id, {STATUS_TAG: report.status, CODE_TAG: report.code or "none"})
    hold_id = credits_of(report)["hold_id"]
    if hold_id:
        context.instance.add_run_tags(context.run.run_id, {HOLD_TAG: str(hold_id)})
    yield from _show(planned, context, report)
    failed = ending(report, tuple(made_by(report, planned.binding.registry)))
    if failed is not None:
        context.instance.add_run_tags(context.run.run_id, NO_MORE_RUNS)
        raise failed from as_told(unforeseen)


def _settled(
    planned: PlannedTask, work: Work, context: dg.AssetExecutionContext, report: RunReport, *, replan: bool
) -> RunReport:
    """The report of the period, which the journal has too, also if there was no planner to begin with."""
    asked = MonthAsked(context, planned.binding.task, report.period)
    try:
        settling = _settling(planned, work, context, asked)
    except PlanexecError as error:
        report = report.ended("error", error.code, error.message, error.hint)
        save_report(work.journal, context.run.run_id, report)
    else:
        report = settle(settling, report.period, replan=replan)
    if report.code != "LEASE_LOST" and asked.is_hidden(work.journal):
        _say_again(planned, context, report)
    if report.status != "stood-back":  # it has changed nothing that would be news
        _log_months(context, work)
    return report


def _say_again(planned: PlannedTask, context: dg.AssetExecutionContext, report: RunReport) -> None:
    """The results of the gates as events of their own: else the asset shows those of a run that has done nothing."""
    for evaluation in _evaluations(planned, context, report):
        context.instance.report_runless_asset_event(evaluation)


def _log_months(context: dg.AssetExecutionContext, work: Work) -> None:
    """How all periods stand now, on the asset: without a partition, as it is about every one.

    What cannot be read of another month is no failure of this one.
    """
    key = repeatable(work.task)[-1].name
    try:
        metadata = months_card(work.journal, work.task, work.ports.clock.now())
    except (PlanexecError, ValueError, KeyError) as error:
        context.log.warning("How the periods stand cannot be shown: %s", one_line(f"{type(error).__name__}: {error}"))
        return
    context.log_event(dg.AssetObservation(key, description="How the periods stand", metadata=metadata))


def _seen_before_it_runs(revision: int) -> str:
    return "The plan, before it runs" if revision <= 1 else f"Another plan, revision {revision}, before it runs"


def _settling(planned: PlannedTask, work: Work, context: dg.AssetExecutionContext, asked: MonthAsked) -> Settling:
    task = planned.binding.task

    def show(checked: CheckedPlan) -> None:
        context.log_event(
            dg.AssetObservation(
                repeatable(task)[-1].name,
                description=_seen_before_it_runs(checked.attempt.revision),
                partition=context.partition_key,
                metadata=plan_card(checked, work),
            )
        )

    launcher = DagsterLauncher(planned.binding, context.instance, task_run_id=context.run.run_id)
    return Settling(work, planned.planner(), launcher, context.run.run_id, show, asked.asking)


def _show(planned: PlannedTask, context: dg.AssetExecutionContext, report: RunReport) -> Events:
    """Outputs of what was made, one result for every gate, and what happened to the things that cannot be undone."""
    for made in made_by(report, planned.binding.registry):
        if made.is_made:
            yield dg.Output(None, made.deliverable.name, metadata=deliverable_metadata(report, made))
        for gate in made.gates:
            yield gate.result(report.plan_run_id)
    log_effects(context, report)


def _log_gates(context: dg.AssetExecutionContext, planned: PlannedTask, report: RunReport) -> None:
    """Fill the planned rows of a run that is being ended, which can yield nothing any more."""
    for evaluation in _evaluations(planned, context, report):
        context.log_event(evaluation)


def _evaluations(
    planned: PlannedTask, context: dg.AssetExecutionContext, report: RunReport
) -> Iterator[dg.AssetCheckEvaluation]:
    """Every gate as an event for the partition."""
    for made in made_by(report, planned.binding.registry):
        for gate in made.gates:
            result = gate.result(report.plan_run_id)
            yield dg.AssetCheckEvaluation(
                asset_key=dg.AssetKey(gate.deliverable), check_name=gate.name, passed=result.passed,
                severity=result.severity, description=result.description, metadata=result.metadata,
                partition=context.partition_key,
            )  # fmt: skip
