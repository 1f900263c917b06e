"""`python -m tests.traces`: every trace in this folder anew, each from a real run in a seeded world."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from assets.demo.fault_ports import FaultListener
from assets.demo.faults import FAULTS
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from dagster_planexec.errors import PortError
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.told.trace import trace_of_run
from dagster_planexec.world.ports import (
    Credit,
    CreditApi,
    ObjectFacts,
    ObjectStore,
    ObjectStream,
    Ports,
)
from tests.support.flagship import CREDENTIALS, SMALL
from tests.support.killed import one_home
from tests.support.months import Counted, World

HERE = Path(__file__).parent
SATURDAY = "delete-export-after-admission"


class TimesOut(ObjectStore):
    """An object store whose reads pass their deadline once a run is admitted."""

    def __init__(self, inner: ObjectStore, after: Waiting) -> None:
        self._inner = inner
        self._after = after

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        return self._inner.head(bucket, key)

    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:
        return self._inner.list(bucket, prefix)

    def older_version(self, bucket: str, key: str) -> str | None:
        return self._inner.older_version(bucket, key)

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:
        if self._after.admitted:
            raise PortError("TIMEOUT", f"GET s3://{bucket}/{key} has not answered within 60 s")
        return self._inner.open(bucket, key, if_match=if_match)


class NeverAnswers(CreditApi):
    """A credit system that takes what it is sent, or does not, and says nothing."""

    def __init__(self, inner: CreditApi) -> None:
        self._inner = inner
        self._asked = False

    @property
    def target(self) -> str:
        return self._inner.target

    def listed(self, scope: str, period: str) -> Any:
        if self._asked:
            raise PortError("TIMEOUT", "the credit system has not answered within 60 s")
        return self._inner.listed(scope, period)

    def issue(self, credit: Credit) -> None:
        self._asked = True
        raise PortError("TIMEOUT", "the credit system has not answered within 60 s")


class Waiting(FaultListener):
    """Two faults that the demo does not have: one port that passes its deadline."""

    def __init__(self, port: str, world: DemoWorld) -> None:
        super().__init__(None, world)
        self._port = port
        self.admitted = False

    def on_event(self, kind: str, step: str | None) -> None:
        self.admitted = self.admitted or kind == "admitted"

    def wrap(self, ports: Ports) -> Ports:
        if self._port == "objects":
            return replace(ports, objects=TimesOut(ports.objects, self))
        return replace(ports, credits=NeverAnswers(ports.credits))


def runs() -> dict[str, tuple[str, str]]:
    """Name of a trace to its kind and fault: every fault, a run without any, the Saturday run, two time-outs."""
    return {
        "healthy": ("none", ""),
        "saturday": ("fault", SATURDAY),
        **{name: ("fault", name) for name in FAULTS if name != SATURDAY},
        "fetch-times-out": ("waiting", "objects"),
        "credits-time-out": ("waiting", "credits"),
    }


def recorded(seeded: Path, home: Path, endpoint: str, name: str) -> dict[str, Any]:
    """The trace of one run."""
    kind, what = runs()[name]
    period = "2026-03" if name == "saturday" else SMALL
    os.environ["PLANEXEC_HOME"] = str(home)
    with one_home(seeded, home, endpoint, period) as world:
        demo = DemoWorld(home, endpoint, period=period)
        if kind == "fault":
            _under(world, FaultListener(FAULTS[what], demo), FAULTS[what].recording)
        elif kind == "waiting":
            _under(world, Waiting(what, demo), "recorded_export_csv.json")
        world.settle(task_run_id=f"task-run-{name}")
        journal = Journal(looking=True)
        trace = trace_of_run(journal, f"task-run-{name}")
        journal.close()
    assert trace is not None, name
    document = trace.as_json()
    return {"name": name, **document, "events": [_short(event) for event in document["events"]]}


def _under(world: World, fault: FaultListener, recording: str) -> None:
    world.fault = fault
    world.planner = Counted(recording)
    fault.before_plan()


def _short(event: dict[str, Any]) -> dict[str, Any]:
    """Without the two sides of verdicts, and without facts: what was decided, and from what, is all there."""
    out = {name: value for name, value in event.items() if name not in {"facts", "result", "findings"}}
    for name in ("verdicts", "live"):
        if name in out:
            out[name] = [[v["check"], v["status"], v["code"]] for v in out[name]]
    return out


def main() -> None:
    """Write them."""
    os.environ.update(CREDENTIALS)
    with tempfile.TemporaryDirectory() as folder, LocalS3() as s3:
        seeded = Path(folder) / "seeded"
        DemoWorld(seeded, s3.endpoint).seed()
        for name in runs():
            trace = recorded(seeded, Path(folder) / name, s3.endpoint, name)
            lines = ",\n".join("  " + json.dumps(event, sort_keys=True) for event in trace.pop("events"))
            head = json.dumps(trace, sort_keys=True, indent=1)[:-2]
            text = f'{head},\n "events": [\n{lines}\n ]\n}}\n'
            (HERE / f"{name}.json").write_text(text, encoding="utf-8")
            sys.stdout.write(f"{name}: {trace['status']} {trace['code']}\n")


if __name__ == "__main__":
    main()
