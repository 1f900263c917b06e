"""`warehouse.load`: landed files into a table, by their contract."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from dagster_planexec.checks.load.contract_of import contract_of, format_of
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import LandedDigest, Model, TableName, Tool, ToolCall, ToolContract
from dagster_planexec.errors import PlanexecError
from dagster_planexec.world.ingest import REJECTS, IngestReport, TextColumn, TextIngest
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import CountTable, FingerprintTable


class LoadArgs(Model):
    """Which landed files, and into which table."""

    sources: tuple[LandedDigest, ...] = Field(min_length=1)
    target: TableName


class LoadResult(Model):
    """What the loader says it did."""

    table: TableName
    rows: int
    files: int


class WarehouseLoad(Tool):
    """Replaces the table's rows. A refused row fails the load: rows never disappear in silence.

    Where the contract allows some, the load goes on, and `rejects_are_allowed` looks at what was refused.
    """

    def call(self, args: LoadArgs, call: ToolCall) -> Outcome:
        """Read the headers, then load everything in one transaction."""
        try:
            contract = contract_of(call.task, args)
            formats = {format_of(contract, call.admission, sha256) for sha256 in args.sources}
        except PlanexecError as error:
            return Failed(error.code, error.message)
        repeated = sorted({sha256[:12] for sha256 in args.sources if args.sources.count(sha256) > 1})
        if repeated:
            return Failed("VALIDATION_ERROR", f"the landed copy {repeated[0]!r} would be loaded twice")
        if len(formats) > 1:
            text = "the files differ in format or compression; one load reads files of one format"
            return Failed("VALIDATION_ERROR", text, {"formats": len(formats)})
        form = formats.pop()
        paths = tuple(call.ports.roots.landed_path(sha256) for sha256 in args.sources)
        for path in paths:
            if not path.is_file():
                return Failed("OBJECT_GONE", f"there is no landed copy {path.name[:80]}")
        columns = _columns(contract)
        rejects = args.target + REJECTS
        sign = None if contract.sign is None else contract.sign.flat
        request = TextIngest(paths, form, columns, args.target, rejects, contract.key, contract.amount, sign)
        call.require_wanted("the load")
        report = call.ports.warehouse.ingest(request, deadline_s=call.left_s)
        if report.rejects and contract.allowed_rejects is None:
            return _refused(report, rejects)
        return Done(LoadResult(table=args.target, rows=report.rows_loaded, files=len(paths)))

    def seal(self, args: LoadArgs, result: LoadResult, call: ToolCall) -> Probe:  # noqa: ARG002 - the interface
        """The table, row for row."""
        return FingerprintTable(result.table)

    def measure(self, name: str, args: Any, result: LoadResult, call: ToolCall) -> Probe:  # noqa: ANN401, ARG002 - interface
        """The rows of the table."""
        return CountTable(result.table)

    contract = ToolContract(
        name="warehouse.load",
        description="Load landed files into a staging table by the contract of the task's drop; replaces its rows.",
        args=LoadArgs,
        result=LoadResult,
        effect="write",
        preconditions=("extract_has_rows", "no_unexpected_columns", "period_is_current"),
        postconditions=(
            "row_counts_agree",
            "rejects_are_allowed",
            "amounts_agree",
            "control_totals_agree",
            "currency_is_declared",
            "schema_matches_contract",
            "period_is_covered",
            "keys_are_present",
            "keys_are_unique",
            "volume_is_plausible",
            "expectations_hold",
        ),
        errors={
            "BAD_AMOUNT": "look at the rejects table; correct the file, or declare its style in the contract",
            "BAD_DATE": "look at the rejects table; correct the file, or declare its format in the contract",
            "SCALE_OVERFLOW": "look at the rejects table; declare the scale the file really has",
            "AMBIGUOUS_DATE": "ask the vendor which of the orders it is, and declare formats in the contract",
            "NULL_KEY": "look at the rejects table; correct the lines without a key",
            "UNKNOWN_VALUE": "look at the rejects table; find out what the word means, then add it to the contract",
            "BAD_CONTRACT": "correct the named word of the file contract",
            "RAGGED_ROW": "look at the line that is named; an unquoted delimiter is the usual cause",
            "BAD_ENCODING": "declare the encoding the file really has",
            "TRUNCATED_STREAM": "ask the vendor to deliver the file again",
            "AMBIGUOUS_ARCHIVE": "declare which members, or which sheet, are data",
            "BAD_FORMAT": "have the vendor save the file again; what cannot be read of it is named",
            "TOO_LARGE": "ask the vendor what it is; if it is rightly as long, raise `max_bytes` in the contract",
            "EMPTY_EXTRACT": "ask the vendor for the data",
            "MISSING_COLUMN": "ask the vendor, or add the new header to the contract",
            "TABLE_GONE": "create the table before it is loaded",
            "SCHEMA_DRIFT": "create the table from the contract it is loaded by",
            "OBJECT_GONE": "fetch the file again; its landed copy is not there",
            "VALIDATION_ERROR": "load what a fetch step of the same plan has landed, each file once",
            "LOCKED": "wait for the process that holds the warehouse file",
            "DISK_FULL": "free space beside the warehouse file and in the temporary folder",
        },
        deadline_s=900.0,
        measures={"rows": "the rows of the table it made"},
    )


def _columns(contract: FileContract) -> tuple[TextColumn, ...]:
    """The table's columns; every part of a delivery carries them under whichever of their headers it likes.

    What is optional may be missing from any of them, so no header is demanded for it.
    """
    return tuple(
        column.in_file(column.aliases[0] if column.required else None, contract.nulls) for column in contract.columns
    )


def _refused(report: IngestReport, rejects: str) -> Failed:
    total = sum(report.rejects.values())
    counts = ", ".join(f"{count} {reason}" for reason, count in sorted(report.rejects.items()))
    text = f"{total} rows were refused ({counts}); the first: {report.first_reject}; all of them are in {rejects}"
    return Failed(report.first_code, text, dict(report.rejects))
