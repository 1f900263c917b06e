"""What is told of a continuation that failed without a word of its own: a command that can be pasted, and no other."""

from __future__ import annotations

import pytest

from dagster_planexec.definitions.approval.continue_job import continue_job
from dagster_planexec.definitions.planned_task import finish_name
from dagster_planexec.definitions.triggers.failure_sensor import failure_text
from tests.definitions.approval.conftest import MakeDesk


@pytest.mark.parametrize(
    ("tag", "command"),
    [
        ("hold_0123456789ab", "planexec continue hold_0123456789ab"),
        ("hold_0123456789ab; rm -rf ~", "planexec run vendor_reconciliation --partition 2026-03-01"),
        ("$(rm -rf ~)", "planexec run vendor_reconciliation --partition 2026-03-01"),
        ("hold_0123456789ab\nnext: x", "planexec run vendor_reconciliation --partition 2026-03-01"),
    ],
)
def test_the_next_command_names_a_hold_and_nothing_that_somebody_wrote_into_a_tag(
    desk: MakeDesk, tag: str, command: str
) -> None:
    """Tags are anybody's to write."""
    d = desk()
    run = d.instance.create_run_for_job(
        continue_job(d.planned),
        run_config={"ops": {finish_name(d.task): {"config": {"hold": "hold_0"}}}},
        tags={"dagster/partition": "2026-03-01", "planexec/hold": tag},
    )

    assert failure_text(d.task, run, ()).splitlines()[-1] == f"next: {command}"
