"""`write_audit`: the audit for people, as Markdown, HTML and JSON."""

from __future__ import annotations

import html
import json
from typing import Annotated

from pydantic import Field

from assets.dependency_audit.probes import LOOK_S, FiguresOfTables
from assets.dependency_audit.tables import FIXES
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import Model, ReportName, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.tools.report.files import NAME, write_whole
from dagster_planexec.tools.report.text import inert_in_markdown, visible
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.report import HashReport

COLUMNS = {
    "lockfile": "lockfile", "name": "package", "version": "version", "advisory": "advisory", "summary": "what it says",
    "fixed_version": "fixed in",
}  # fmt: skip
MOST_ROWS = 2_000
"""Matches that the report lists; all of them are in the table."""


class WriteAuditArgs(Model):
    """Which tables, and under which name."""

    looked_up: TableName
    fixes: TableName
    name: Annotated[ReportName, Field(pattern=NAME)]
    """One plain file name without suffix, with the period in it."""


class WriteAuditResult(Model):
    """The report and its three files."""

    report: ReportName
    md_file: str
    html_file: str
    json_file: str


class WriteAudit(Tool):
    """Every text in it is somebody else's: bounded, visible and inert."""

    def call(self, args: WriteAuditArgs, call: ToolCall) -> Outcome:
        """Read both tables and replace the three files."""
        if call.period.text not in args.name and call.period.compact not in args.name:
            return Failed("VALIDATION_ERROR", f"report name {args.name!r} does not hold the period {call.period.text}")
        figures = FiguresOfTables(args.looked_up, args.fixes).observe(call.ports)["figures"]
        assert isinstance(figures, dict)  # noqa: S101 - the probe's own fact
        with call.ports.warehouse.session(deadline_s=LOOK_S) as session:
            found = session.rows(
                f"select {', '.join(FIXES)} from {session.quote(args.fixes)} order by all limit {MOST_ROWS}"
            )
        rows = [{c: "" if v is None else visible(str(v)) for c, v in zip(FIXES, row, strict=True)} for row in found]
        for row in rows:
            if row["verdict"] == "undecided":
                row["fixed_version"] = "not comparable"
            elif row["fix"] == "absent":
                row["fixed_version"] = "no released fix"
        said = (
            f"{figures['packages']} packages, {figures['matches']} matches: {figures['fixed']} with a fix, "
            f"{figures['absent']} without one; {figures['undecided']} could not be compared."
        )
        title = f"Dependency audit {call.period.text}"
        files = {
            f"{args.name}.md": _markdown(title, said, rows),
            f"{args.name}.html": _html(title, said, rows),
            f"{args.name}.json": json.dumps({"period": call.period.text, "figures": figures, "rows": rows}, indent=1),
        }
        write_whole(call.ports.roots.reports, files)
        md, page, data = files
        return Done(WriteAuditResult(report=args.name, md_file=md, html_file=page, json_file=data))

    def seal(self, args: WriteAuditArgs, result: WriteAuditResult, call: ToolCall) -> Probe:  # noqa: ARG002
        """One digest over the three files."""
        return HashReport(result.report)

    contract = ToolContract(
        name="write_audit",
        description="Write the audit as <name>.md, <name>.html and <name>.json.",
        args=WriteAuditArgs,
        result=WriteAuditResult,
        effect="write",
        preconditions=("watched_is_unchanged",),
        postconditions=("audit_matches_tables",),
        errors={"VALIDATION_ERROR": "name the report plainly, with the period in it", "DISK_FULL": "free space"},
        writes="name",
    )


def _markdown(title: str, said: str, rows: list[dict[str, str]]) -> str:
    lines = [f"# {title}", "", said, "", f"| {' | '.join(COLUMNS.values())} |", f"|{'---|' * len(COLUMNS)}"]
    lines += [f"| {' | '.join(inert_in_markdown(row[name]) for name in COLUMNS)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _html(title: str, said: str, rows: list[dict[str, str]]) -> str:
    head = "".join(f"<th>{html.escape(word)}</th>" for word in COLUMNS.values())
    body = "\n".join(
        "<tr>" + "".join(f"<td>{html.escape(row[name])}</td>" for name in COLUMNS) + "</tr>" for row in rows
    )
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f"<h1>{html.escape(title)}</h1><p>{html.escape(said)}</p>\n<table><tr>{head}</tr>\n{body}\n</table></html>\n"
    )
