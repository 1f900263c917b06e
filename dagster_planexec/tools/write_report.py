"""Writes what a reconciliation found, and all its differences; both are checked against the result."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from dagster_planexec.contract.layout import currency_of, result_layout
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import Model, ReportName, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.tools.report.content import Heading, read_content
from dagster_planexec.tools.report.differences import Differences, parquet_of, xlsx_of
from dagster_planexec.tools.report.files import NAME, Content, write_whole
from dagster_planexec.tools.report.render import render_html, render_json, render_markdown
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.credits import holds_money
from dagster_planexec.world.probes.result.differences import DIFFERENCES
from dagster_planexec.world.probes.result.report import HashReport


class WriteReportArgs(Model):
    """Which result, and under which name."""

    source: TableName
    name: Annotated[ReportName, Field(pattern=NAME)]
    """One plain file name without suffix, with the period in it: a month never overwrites another."""


class WriteReportResult(Model):
    """The report and its three files, named relative to the report root."""

    report: ReportName
    md_file: str
    html_file: str
    json_file: str


CONTRACT = ToolContract(
    name="write_report",
    description="Write the report of a reconciliation result as <name>.md, <name>.html and <name>.json.",
    args=WriteReportArgs,
    result=WriteReportResult,
    effect="write",
    preconditions=(),
    postconditions=("report_matches_result",),
    errors={
        "VALIDATION_ERROR": "name the report plainly, with the period in it, e.g. `2026-03-recon`",
        "TABLE_GONE": "the result was dropped between the reconciliation and its report; run the month again",
        "SCHEMA_DRIFT": "cast amounts to DECIMAL in the query",
        "DISK_FULL": "free space under the report root, then run the month again",
        "FORBIDDEN": "make the report root writable for the worker",
    },
    deadline_s=300.0,
    writes="name",
)


class WriteReport(Tool):
    """The tool `write_report`."""

    contract = CONTRACT

    def call(self, args: WriteReportArgs, call: ToolCall) -> Outcome:
        """Read the result and replace the files."""
        if call.period.text.lower() not in args.name.lower() and call.period.compact not in args.name.lower():
            text = f"report name {args.name!r} does not hold the period {call.period.text}"
            return Failed("VALIDATION_ERROR", f"{text}; it could replace another period's report")
        task = call.task
        heading = Heading(
            task.name, task.version, call.period.text, currency_of(task), args.source, call.ports.clock.now()
        )
        with call.ports.warehouse.session(deadline_s=call.left_s) as session:
            layout = result_layout(task)
            if not holds_money(session, args.source, layout.money):
                return Failed("TABLE_GONE", f"result table {args.source!r} is not there")
            content = read_content(session, heading, layout)
            result = WriteReportResult(
                report=args.name,
                md_file=f"{args.name}.md",
                html_file=f"{args.name}.html",
                json_file=f"{args.name}.json",
            )
            differences = Differences(session, args.source, layout)
            files: dict[str, Content] = {
                result.md_file: render_markdown(content),
                result.html_file: render_html(content),
                result.json_file: render_json(content),
                f"{args.name}.{DIFFERENCES[0]}": parquet_of(differences),
                f"{args.name}.{DIFFERENCES[1]}": xlsx_of(differences),
            }
            call.require_wanted("writing the report")
            write_whole(call.ports.roots.reports, files)
        return Done(result)

    def seal(self, args: WriteReportArgs, result: WriteReportResult, call: ToolCall) -> Probe:  # noqa: ARG002
        """One digest over all files."""
        return HashReport(result.report, DIFFERENCES)
