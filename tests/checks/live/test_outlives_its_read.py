"""An announced expiry is compared with the longest time until the read."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dagster_planexec.checks.check import Check, NotApplicable
from dagster_planexec.checks.live.outlives_its_read import outlives_its_read
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.tool import Admission, AdmittedObject
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.tools.s3_get import S3_GET, S3GetArgs
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import ObjectFacts, Roots
from tests.support.toolbox import TASK

NOW = datetime(2026, 3, 7, 9, 2, tzinfo=UTC)
ARGS = S3GetArgs(bucket="vendor-drops", key="vendor/exports/2026-03-invoice.csv")
FACTS = ObjectFacts(ARGS.bucket, ARGS.key, 7, "e1", NOW)


def scope(*, from_landing: bool = False) -> StepScope:
    """The fetch step of a plan."""
    admission = Admission((AdmittedObject(FACTS, "0" * 64, from_landing),), {}, {}, NOW)
    here = Path()
    return StepScope(
        TASK, Period.parse("2026-03", "month"), "fetch", S3_GET, ARGS, None, admission, Roots(here, here, here)
    )


def verdict(expires_at: datetime | None, *, wait_s: float = 120) -> Verdict:
    """What the check says of an object with that expiry."""
    (check,) = outlives_its_read(scope(), wait_s=wait_s)
    assert isinstance(check, Check)
    source = replace(check.observes.source(), at=NOW)
    return check.verdict({check.observes: Observation(source, "seen", {"expires_at": expires_at})})


def test_no_announced_expiry_is_kept() -> None:
    """No rule, nothing to fear."""
    assert verdict(None).status == "passed"


@pytest.mark.parametrize(("minutes", "opens"), [(6, False), (8, True)], ids=["too soon", "late enough"])
def test_it_must_outlive_the_steps_before_it_and_its_own_read(minutes: int, opens: bool) -> None:
    """Two minutes of waiting and five of reading: an expiry in six minutes is too soon, in eight it is not."""
    found = verdict(NOW + timedelta(minutes=minutes))

    assert found.opens is opens
    assert found.code == (None if opens else "EXPIRES_TOO_SOON")


def test_the_saturday_rule_is_seen_at_0902() -> None:
    """The rule that struck at 09:11 announces itself; a queue of ten minutes would have been too long."""
    assert verdict(NOW + timedelta(minutes=9), wait_s=600).code == "EXPIRES_TOO_SOON"


def test_a_landed_copy_does_not_expire() -> None:
    """Read from the landing: the drop expiring is no longer news."""
    (bound,) = outlives_its_read(scope(from_landing=True), wait_s=0)

    assert isinstance(bound, NotApplicable)
