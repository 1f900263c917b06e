"""A drop, the sensor that looks at it as Dagster would have it look, and the daemon's part: storing and starting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import dagster as dg
from dagster import DagsterRunStatus
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import PlannedTask, TaskBinding, planexec_definitions
from dagster_planexec.compiler.binding import PortResources
from dagster_planexec.contract.task import Drop
from dagster_planexec.definitions.planned_task import task_run_name
from dagster_planexec.definitions.triggers.arrival_sensor import arrival_sensor
from dagster_planexec.journal.arrivals.drop import Seen, seen_for
from dagster_planexec.journal.journal import Journal
from dagster_planexec.world.ports import Clock, ObjectFacts, ObjectStore, ObjectStream, Ports

QUIET_S = 900


class SetClock(Clock):
    """Shows the time it is set to, or runs ahead of the real one by so much."""

    def __init__(self, at: datetime | None = None, *, ahead_s: float = 0.0) -> None:
        self._at = at
        self._ahead = timedelta(seconds=ahead_s)

    def now(self) -> datetime:
        return (self._at or datetime.now(UTC)) + self._ahead

    def forward(self, seconds: float) -> None:
        """Later by so much."""
        self._ahead += timedelta(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        raise AssertionError(seconds)


@dataclass
class ScriptedDrop(ObjectStore):
    """A store that lists what it is told to; its objects cannot be read, and a sensor must not try."""

    newest: dict[str, ObjectFacts] = field(default_factory=dict)
    history: dict[str, list[ObjectFacts]] = field(default_factory=dict)
    """Key to every version, newest first, for a store that keeps them."""
    on_key: Callable[[str], None] = lambda _: None
    """Called before each object is listed."""
    listed_from: list[str] = field(default_factory=list)
    """Where each listing began."""
    ordered: bool = True

    def holds(self, objects: Iterable[ObjectFacts]) -> Self:
        """This, and nothing else, lies there now."""
        self.newest = {facts.key: facts for facts in objects}
        return self

    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:
        return self.list_after(bucket, prefix, "")

    def list_after(self, bucket: str, prefix: str, after: str) -> Iterator[ObjectFacts]:
        self.listed_from.append(after)
        for key in sorted(self.newest) if self.ordered else self.newest:
            if key.startswith(prefix) and key > after and self.newest[key].bucket == bucket:
                self.on_key(key)
                yield self.newest[key]

    def versions(self, bucket: str, key: str) -> tuple[ObjectFacts, ...]:
        return tuple(self.history.get(key, ()))

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        raise AssertionError(key)

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:
        raise AssertionError(key)


@dataclass(frozen=True)
class Given:
    """A resource whose port is given."""

    given: Any

    def get_resource_definition(self) -> dg.ResourceDefinition:
        return dg.ResourceDefinition.hardcoded_resource(self)

    def port(self) -> Any:
        return self.given


def planned_for(drop: Drop, objects: ObjectStore, clock: Clock, **task: Any) -> PlannedTask:
    """The flagship with another drop, served by a store; whoever asks for its warehouse or credits gets nothing."""
    flagship = VENDOR_RECONCILIATION
    binding = replace(
        flagship.binding,
        task=replace(flagship.binding.task, drop=drop, **task),
        resources=PortResources(
            objects=Given(objects), warehouse=Given(None), credits=Given(None), roots=Given(None), clock=clock
        ),
    )
    return PlannedTask(binding, flagship.planner)


def with_ports(planned: PlannedTask, **ports: Any) -> PlannedTask:
    """The task with some of its ports replaced."""

    def wrap(found: Ports) -> Ports:
        return replace(found, **ports)

    return replace(planned, binding=replace(planned.binding, wrap=wrap))


class Watch:
    """The sensor of one task with its instance: ticks it, keeps its cursor, and starts what it asks for.

    Args:
        planned: The task.
        instance: Where runs are.
        clock: The sensor's clock, to be put forward.
    """

    def __init__(self, planned: PlannedTask, instance: dg.DagsterInstance, clock: SetClock) -> None:
        self.binding: TaskBinding = planned.binding
        self.instance = instance
        self.clock = clock
        self.sensor = arrival_sensor(planned.binding)
        self.definitions = planexec_definitions(planned, sensors=[self.sensor])
        self.job = self.definitions.resolve_job_def(task_run_name(planned.binding.task))
        self.cursor: str | None = None
        self.runs: list[dg.DagsterRun] = []

    def tick(self, *, stored: bool = True, started: bool = True, ended: bool = True) -> Any:
        """Evaluate once, as the code location does; then what the daemon does.

        Args:
            stored: Whether the daemon lives to store the tick; if not, it starts nothing either.
            started: Whether it starts the runs.
            ended: Whether these have ended when this returns.
        """
        with dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, definitions=self.definitions, sensor_name=self.sensor.name
        ) as context:
            result = self.sensor.evaluate_tick(context)
        if stored:
            self.cursor = result.cursor
            if started:
                for request in result.run_requests or []:
                    self._start(request, ended=ended)
        return result

    def asked(self, **options: bool) -> list[str]:
        """Partitions that one tick asks for."""
        return [request.partition_key for request in self.tick(**options).run_requests or []]

    def said(self, **options: bool) -> str:
        """What one tick says when it asks for nothing."""
        result = self.tick(**options)
        assert not result.run_requests
        return str(result.skip_message)

    def settle(self, **options: bool) -> Any:
        """See what is new, let the quiet period pass, and look again."""
        assert not self.tick().run_requests
        self.clock.forward(QUIET_S + 1)
        return self.tick(**options)

    def run(self, partition: str, *, job: dg.JobDefinition | None = None, **more: Any) -> dg.DagsterRun:
        """A run that something else has started."""
        tags = {"dagster/partition": partition, **more.pop("tags", {})}
        status = more.pop("status", DagsterRunStatus.STARTED)
        return self._create(job or self.job, status, tags=tags, **more)

    def _create(self, job: dg.JobDefinition, status: DagsterRunStatus, **more: Any) -> dg.DagsterRun:
        origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("project"), "__repository__")
        return self.instance.create_run_for_job(
            job, status=status, remote_job_origin=origin.get_job_origin(job.name), **more
        )

    def seen(self, period: str) -> tuple[Seen, ...]:
        """What the journal knows of a period's objects."""
        journal = Journal()
        try:
            return seen_for(journal, self.binding.task.name, period)
        finally:
            journal.close()

    def _start(self, request: dg.RunRequest, *, ended: bool) -> None:
        tags = {**request.tags, "dagster/run_key": request.run_key or ""}
        if any(run.tags["dagster/run_key"] == request.run_key for run in self.runs):
            return  # as the daemon does: one run per key, for ever
        status = DagsterRunStatus.SUCCESS if ended else DagsterRunStatus.QUEUED
        self.runs.append(self._create(self.job, status, tags=tags))


@contextmanager
def instance_in(folder: Path) -> Iterator[dg.DagsterInstance]:
    """A Dagster instance of its own, with run storage on disk."""
    folder.mkdir(exist_ok=True)
    with dg.DagsterInstance.local_temp(str(folder), overrides={"telemetry": {"enabled": False}}) as instance:
        yield instance


def listed(bucket: str, entry: Mapping[str, Any]) -> ObjectFacts:
    """An object as `list_objects_v2` shows it."""
    return ObjectFacts(
        bucket, entry["Key"], entry["Size"], entry["ETag"], datetime.fromisoformat(entry["LastModified"])
    )
