"""`conclude`: writes down the cause that was found, or that none was."""

from __future__ import annotations

import html
import json

from pydantic import Field

from assets.dependency_audit.tables import write_table
from assets.row_count_investigation.explained import Cause, RowsExplained
from assets.row_count_investigation.measuring import LOOK_S
from assets.row_count_investigation.places import landed, load_log, orders
from assets.row_count_investigation.tools.measures import Measurement, days_of
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.tools.report.files import write_whole
from dagster_planexec.tools.report.text import MOST_CHARACTERS, inert_in_markdown, visible
from dagster_planexec.world.period import Period
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import FingerprintTable

COLUMNS = ("period", "cause", "missing", "explained", "evidence")
IN_WORDS = {
    "missing_day": "a day was not loaded",
    "late_data": "the last days have not arrived yet",
    "source_stopped": "one source sends nothing any more",
    "view_filter": "the view leaves rows out that it did not leave out before",
    "deduplication": "rows that repeated an order are there once now",
    "not_found": "no cause was found",
}


class ConcludeArgs(Model):
    """The cause, what it rests on, and where it is written."""

    cause: Cause
    """`not_found` where the measures carry none: an answer, too."""
    evidence: tuple[Measurement, ...] = Field(min_length=1, max_length=20)
    target: TableName


class ConcludeResult(Model):
    """What was concluded."""

    table: TableName
    cause: str
    md_file: str
    html_file: str
    json_file: str


def explained(cause: str, period: Period) -> RowsExplained:
    """The look that says how many of the missing rows a cause accounts for."""
    return RowsExplained(cause, orders(period), landed(period), load_log(period), *days_of(period))


def _inert(text: str) -> str:
    """A longer text as Markdown shows it literally, piece by piece."""
    return "".join(inert_in_markdown(text[at : at + MOST_CHARACTERS]) for at in range(0, len(text), MOST_CHARACTERS))


class Conclude(Tool):
    """Writes what it is told; whether the numbers carry it is judged before and after, by a look of its own."""

    def call(self, args: ConcludeArgs, call: ToolCall) -> Outcome:
        """One row per piece of evidence, and a page for people."""
        seen = explained(args.cause, call.period).observe(call.ports)
        if seen.state != "seen":
            return Failed("TABLE_GONE", seen.message)
        figures = {name: int(str(seen[name])) for name in ("usual", "rows", "missing", "explained")}
        evidence = [visible(said, most=500) for said in args.evidence]
        with call.ports.warehouse.session(deadline_s=LOOK_S) as session:
            rows = [
                (call.period.text, args.cause, str(figures["missing"]), str(figures["explained"]), said)
                for said in evidence
            ]
            write_table(session, args.target, COLUMNS, rows)
        name = f"{call.period.text}-row-count"
        title = f"Why rows are missing in {call.period.text}: {IN_WORDS[args.cause]}"
        counted = (
            f"{figures['missing']} of {figures['usual']} usual rows are missing; "
            f"the cause accounts for {figures['explained']} of them."
        )
        files = {
            f"{name}.md": "\n".join(
                [f"# {title}", "", counted, "", *(f"- {_inert(said)}" for said in evidence), ""]
            ),
            f"{name}.html": f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{html.escape(title)}</title>'
            f"<h1>{html.escape(title)}</h1><p>{html.escape(counted)}</p><ul>"
            + "".join(f"<li>{html.escape(said)}</li>" for said in evidence) + "</ul></html>\n",
            f"{name}.json": json.dumps({"cause": args.cause, "figures": figures, "evidence": evidence}, indent=1),
        }  # fmt: skip
        write_whole(call.ports.roots.reports, files)
        md, page, data = files
        return Done(ConcludeResult(table=args.target, cause=args.cause, md_file=md, html_file=page, json_file=data))

    def seal(self, args: ConcludeArgs, result: ConcludeResult, call: ToolCall) -> Probe:  # noqa: ARG002 - the interface
        """The finding."""
        return FingerprintTable(result.table)

    contract = ToolContract(
        name="conclude",
        description="End the investigation: write the cause with its evidence, or `not_found`. A cause is refused that "
        "does not account for four in five of the missing rows.",
        args=ConcludeArgs,
        result=ConcludeResult,
        effect="write",
        preconditions=("watched_is_unchanged", "cause_is_carried"),
        postconditions=("finding_is_written", "cause_is_carried"),
        errors={"TABLE_GONE": "the tables of the month are not there", "DISK_FULL": "free space"},
    )
