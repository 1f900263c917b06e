"""A drop with as many keys as are asked for, none of which is kept anywhere, and the sensor that looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from bench.plans.ready import ready
from bench.scene import opened
from dagster_planexec import PlannedTask, planexec_definitions
from dagster_planexec.contract.task import Drop
from dagster_planexec.definitions.triggers.arrival_sensor import arrival_sensor
from dagster_planexec.world.ports import ObjectFacts, ObjectStore, ObjectStream

_LONG_AGO = datetime(2026, 4, 1, 9, tzinfo=UTC)
_MONTHS = 10


@dataclass
class ManyKeys(ObjectStore):
    """Lists so many objects, spread over ten months. A sensor reads none of them."""

    count: int

    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:
        """All of them."""
        return self.list_after(bucket, prefix, "")

    def list_after(self, bucket: str, prefix: str, after: str) -> Iterator[ObjectFacts]:
        """Those behind a key."""
        for n in range(self.count):
            key = f"{prefix}2026-{1 + _MONTHS * n // self.count:02d}-part-{n:06d}.csv"
            if key > after:
                yield ObjectFacts(bucket, key, 10, f"tag-{n:032d}", _LONG_AGO)

    def versions(self, bucket: str, key: str) -> tuple[ObjectFacts, ...]:  # noqa: ARG002 - the interface
        """None but the newest."""
        return ()

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        """Not asked for."""
        raise AssertionError(bucket, key)

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:
        """Not asked for."""
        raise AssertionError(bucket, key, if_match)


class Watch:
    """The flagship's sensor on such a drop. What it has seen is in the journal of `PLANEXEC_HOME`."""

    def __init__(self, folder: Path, instance: dg.DagsterInstance, keys: int) -> None:
        self._instance = instance
        drop = Drop("bench", "in/", r"{period}.*\.csv", input="vendor")
        ports = replace(opened(folder).ports, objects=ManyKeys(keys))
        flagship = VENDOR_RECONCILIATION
        task = replace(flagship.binding.task, drop=drop)
        binding = replace(flagship.binding, task=task, resources=ready(ports))
        planned = PlannedTask(binding, flagship.planner)
        self._sensor = arrival_sensor(binding)
        self._definitions = planexec_definitions(planned, sensors=[self._sensor])

    def tick(self) -> dg.SensorResult:
        """One evaluation, as the daemon has it done; nothing it asks for is started."""
        with dg.build_sensor_context(
            instance=self._instance, definitions=self._definitions, sensor_name=self._sensor.name
        ) as context:
            return self._sensor.evaluate_tick(context)
