"""The flagship with `reconcile` in the place of `run_sql`: nothing else changed, and the same money."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.demo.fault_ports import FaultListener
from assets.demo.faults import FAULTS
from assets.demo.saturday import month
from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.task import TASK
from dagster_planexec.contract.reconcile.spec import ReconcileSpec
from dagster_planexec.plan.model import Plan
from dagster_planexec.planner.planner import Proposal
from dagster_planexec.planner.request import PlanRequest
from tests.support.flagship import SMALL, endpoint, seeded  # noqa: F401 - fixtures
from tests.support.months import Counted, World


def _swapped(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("reconcile" if name == "run_sql" else name for name in names)


TYPED = replace(
    TASK,
    tools=_swapped(TASK.tools),
    deliverables=tuple(replace(made, tools=_swapped(made.tools)) for made in TASK.deliverables),
    reconciliation=ReconcileSpec(),
)


class Swapping(Counted):
    """The recorded plan, whose `run_sql` becomes `reconcile`: the same inputs, the same target, no file."""

    def propose(self, request: PlanRequest) -> Proposal:
        """The other plan."""
        answer = super().propose(request)
        assert answer.plan is not None
        data: dict[str, Any] = answer.plan.model_dump(mode="json")
        for step in data["steps"]:
            if step["tool"] == "run_sql":
                step["tool"] = "reconcile"
                del step["args"]["file"]
        return replace(answer, plan=Plan.model_validate(data))


@pytest.fixture
def home(seeded: Path, endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:  # noqa: F811 - fixtures are parameters
    """A seeded home, and a journal beside it."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path / "journal"))
    shutil.copytree(seeded, tmp_path / "world")
    DemoWorld(tmp_path / "world", endpoint, period=SMALL).seed_drop()
    return tmp_path / "world"


def test_the_same_month_ends_with_the_same_credits(home: Path, endpoint: str) -> None:  # noqa: F811 - as above
    """Every check of the typed tool opens, and each credit is that of `run_sql`."""
    report = World(home, endpoint, task=TYPED, planner=Swapping()).settle()
    truth = month(SMALL).truth
    figures = report.as_json()["reconciliation"]

    assert (report.status, report.code) == ("succeeded", None), report.text
    assert dict(World(home, endpoint, task=TYPED).credits()) == {k: str(a) for k, a in truth.credits.items()}
    assert {name: figures[name] for name in ("identical", "amount_differs", "ledger_only", "vendor_only")} == {
        "identical": truth.identical,
        "amount_differs": truth.count("amount_differs"),
        "ledger_only": truth.count("ledger_only"),
        "vendor_only": truth.count("vendor_only"),
    }
    (step,) = (step for step in report.steps if step.id == "reconcile")
    assert {check.check for check in step.checks if check.phase == "post" and check.opens} >= {
        "keys_can_be_matched", "amounts_share_a_currency", "both_sides_contribute", "closing_identities_hold",
    }  # fmt: skip


def test_the_saturday_run_ends_as_before(home: Path, endpoint: str) -> None:  # noqa: F811 - as above
    """Staging emptied right before the comparison: no credit, whichever tool compares."""
    world = World(home, endpoint, task=TYPED, planner=Swapping())
    fault = FAULTS["empty-staging-before-reconcile"]
    world.fault = FaultListener(fault, DemoWorld(home, endpoint, period=SMALL))
    world.fault.before_plan()
    report = world.settle()

    assert (report.status, report.code) == ("stopped", fault.ends.code), report.text
    assert world.credits() == ()
