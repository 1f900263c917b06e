"""The gate asks no plan and no catalogue of checks: with all of them disabled, an empty month still credits nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from dagster_planexec.contract.outcome import Done, Outcome
from dagster_planexec.contract.tool import ToolCall
from dagster_planexec.tools import BUILTIN_TOOLS
from dagster_planexec.tools.s3_get import S3Get, S3GetArgs, S3GetResult
from dagster_planexec.tools.warehouse.load import LoadArgs, LoadResult, WarehouseLoad
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import FingerprintTable
from tests.support.approvals import Office
from tests.support.disabled import every_check_is_off


class GetsNothing(S3Get):
    """The literal executor's: a 404 is an answer like any other."""

    def call(self, args: S3GetArgs, call: ToolCall) -> Outcome:
        admitted = call.admission.object(args.bucket, args.key)
        return Done(S3GetResult(landed=admitted.sha256, bytes=0, key=args.key))

    def seal(self, args: S3GetArgs, result: S3GetResult, call: ToolCall) -> Probe:
        return FingerprintTable("ledger.charges")


class LoadsNothing(WarehouseLoad):
    """It says that all went well."""

    def call(self, args: LoadArgs, call: ToolCall) -> Outcome:
        return Done(LoadResult(table=args.target, rows=1, files=1))


def with_tools(office: Office, *tools: Any) -> None:
    mine = {tool.contract.name: tool for tool in tools}
    office.world.tools = [mine.get(tool.contract.name, tool) for tool in BUILTIN_TOOLS]


def header_only(office: Office) -> None:
    header = office.demo.read(office.demo.export_key).split(b"\n")[0]
    office.demo.put(office.demo.export_key, header + b"\n")


def never_landed(office: Office) -> None:
    with_tools(office, GetsNothing(), LoadsNothing())


def never_loaded(office: Office) -> None:
    with_tools(office, LoadsNothing())


def a_tenth_delivered(office: Office) -> None:
    header, *lines = office.demo.read(office.demo.export_key).splitlines(keepends=True)
    office.demo.put(office.demo.export_key, header + b"".join(lines[: len(lines) // 10]))


def no_ledger(office: Office) -> None:
    office.sql("delete from ledger.charges where charged_on >= date '2026-02-01' and charged_on < date '2026-03-01'")


EMPTY: dict[Callable[[Office], None], tuple[str, str]] = {
    header_only: ("EMPTY_EXTRACT", "landed_bytes_have_rows"),
    never_landed: ("EMPTY_EXTRACT", "landed_bytes_are_admitted"),
    never_loaded: ("IDENTITY_BROKEN", "result_closes_against_raw_sides"),
    a_tenth_delivered: ("COVERAGE_LOW", "raw_sides_match"),
    no_ledger: ("EMPTY_SIDE", "sides_have_rows"),
}


@pytest.mark.parametrize(("break_it", "ends"), EMPTY.items(), ids=[f.__name__ for f in EMPTY])
def test_with_every_check_disabled_an_empty_month_credits_nothing(office: Office, break_it, ends) -> None:
    """It stops at the step that would pay, by what the gate reads itself; no person is asked to release it."""
    code, check = ends
    every_check_is_off(office)
    break_it(office)
    report = office.settle()

    assert (report.status, report.code) == ("stopped", code), report.text
    assert report.steps[-1].outcome == "failed"
    assert {s.outcome for s in report.steps[:-1]} == {"done"}
    assert next(v.check for v in report.steps[-1].checks if not v.opens) == check
    assert office.world.credits() == ()
    assert office.holds() == ()


def test_the_61_400_credits_of_the_saturday_run_are_not_issued(office: Office) -> None:
    """March, the whole of it: an empty delivery, no check that objects, no limit, and 61,400 lines to credit."""
    office.world.period = "2026-03"
    key = re.sub("2026-02", "2026-03", office.demo.export_key)
    office.demo.put(key, office.demo.read(key).split(b"\n")[0] + b"\n")
    every_check_is_off(office)
    report = office.settle()
    (closing,) = [v for v in report.steps[-1].checks if v.check == "result_closes_against_raw_sides"]

    assert (report.status, report.code) == ("stopped", "EMPTY_EXTRACT"), report.text
    assert "discrepancies = rows of ledger (61400)" in closing.text
    assert office.world.credits() == ()
    assert office.holds() == ()


def test_a_sound_month_passes_the_gate_with_every_check_disabled(office: Office) -> None:
    """So what stopped the others was the evidence."""
    every_check_is_off(office)
    report = office.settle()

    assert report.status == "succeeded", report.text
    assert len(office.world.credits()) == len(office.demo.pair.truth.credits)
