"""What `reconcile` answers: both sides, what became of their lines, and the first of those that differ."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.printing import paper
from dagster_planexec.cli.trying.bench import Bench
from dagster_planexec.cli.trying.document import by_name, checks_of, document_of, ending_of, print_ending
from dagster_planexec.cli.trying.sides import LEDGER, VENDOR, TriedSides
from dagster_planexec.contract.layout import comparison, result_layout
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.world.ports import Session
from dagster_planexec.world.sides.comparison.shape import IDENTICAL
from dagster_planexec.world.sides.relation import count_of, exact_sum

SHOWN = 20
"""Lines of each status that are shown; all of them are counted."""
_MATCHED = ("identical", "amount_differs", "column_differs", "currency_differs")


def compared_document(bench: Bench, tried: TriedSides) -> dict[str, Any]:
    """The answer of `reconcile`.

    | field | is |
    |---|---|
    | `outcome`, `code`, `text`, `hint` | as of `ingest`; the vendor's refusal first, then the ledger's, then the comparison's |
    | `side` | the sides whose files are refused: `vendor`, `ledger`, `both`; null if both could be compared |
    | `vendor`, `ledger` | each as `ingest` answers of it |
    | `statuses` | each word to `lines`, and the amounts of both sides in them |
    | `matched`, `vendor_only`, `ledger_only`, `discrepancies` | lines that both sides have; that one has; all that are not identical |
    | `differences` | each word but `identical` to the keys and amounts of its first lines |
    | `saved` | the `file` with every line that is not identical and its `rows`; null if none was asked for or compared |
    | `checks` | every check of the comparison, with both sides and their sources |
    """  # noqa: E501 - a table
    vendor, ledger = document_of(tried.vendor), document_of(tried.ledger)
    statuses, differences = _lines(bench, tried)
    text, hint = _said(tried, vendor, ledger)
    counts = {word: status["lines"] for word, status in statuses.items()}
    return {
        **ending_of(tried.code, text, hint),
        "side": _side(tried),
        "period": vendor["period"],
        "vendor": vendor,
        "ledger": ledger,
        "statuses": statuses,
        "matched": sum(counts.get(word, 0) for word in _MATCHED),
        "vendor_only": counts.get("vendor_only", 0),
        "ledger_only": counts.get("ledger_only", 0),
        "discrepancies": sum(count for word, count in counts.items() if word != IDENTICAL),
        "differences": differences,
        "saved": None,
        "checks": checks_of(tried.report) if tried.report is not None else [],
    }


def print_compared(document: Mapping[str, Any]) -> None:
    """The same for people."""
    out = paper()
    for name in (VENDOR, LEDGER):
        side = document[name]
        sums = ", ".join(f"{total} {one_line(word, 40)}" for word, total in side["sums"].items())
        rejected = f", {side['rejects']['rows']:,} rejected" if side["rejects"]["rows"] else ""
        inside = ""
        if side["in_period"] not in {None, side["rows"]}:  # of the ledger, the others are not compared
            inside = f"; {side['in_period']:,} rows, {side['in_period_sum']} in {side['period']}"
        out.print(Text(f"{name:<8}", "bold"), Text(f"{side['rows']:,} rows, {sums}{rejected}{inside}"))
    if document["statuses"]:
        out.print(_table(document["statuses"]))
    for word, lines in document["differences"].items():
        for line in lines[:5]:
            key = ", ".join(one_line(str(part), 60) for part in line["key"])
            amounts = (f"{name} {line[f'{name}_amount'] or 'none'}" for name in (VENDOR, LEDGER))
            out.print(Text(f"  {word}  {key}  {'  '.join(amounts)}"))
        if len(lines) > 5:  # noqa: PLR2004 - as above
            more = f"{document['statuses'][word]['lines'] - 5:,} more of {word}"
            out.print(Text(f"  … {more}; --json shows {SHOWN}, --differences FILE saves all", "dim"))
    print_ending(document)


def _table(statuses: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("status", "lines", "vendor amount", "ledger amount"):
        table.add_column(name, justify="left" if name == "status" else "right")
    for word, status in statuses.items():
        table.add_row(word, f"{status['lines']:,}", status["vendor_amount"], status["ledger_amount"])
    return table


def _lines(bench: Bench, tried: TriedSides) -> tuple[dict[str, Any], dict[str, Any]]:
    """Counts and amounts by status, and the first lines of each, read from the result."""
    if tried.task is None or tried.table is None:
        return {}, {}
    layout = result_layout(tried.task)
    with bench.warehouse.session() as session:
        if session.describe(tried.table) is None:
            return {}, {}
        statuses = {word: _status(session, tried, word, layout.scale) for word in comparison(tried.task).words}
        found = {
            word: _first(session, tried, word, layout.key, layout.scale)
            for word, status in statuses.items()
            if word != IDENTICAL and status["lines"]
        }
    return statuses, found


def _status(session: Session, tried: TriedSides, word: str, scale: int) -> dict[str, Any]:
    table = session.quote(tried.table or "")
    count, vendor, ledger = session.rows(
        f"select count(*), sum(vendor_amount), sum(ledger_amount) from {table} where status = ?", (word,)
    )[0]
    return {
        "lines": count_of(count),
        "vendor_amount": f"{exact_sum(vendor, 'vendor_amount'):.{scale}f}",
        "ledger_amount": f"{exact_sum(ledger, 'ledger_amount'):.{scale}f}",
    }


def _first(session: Session, tried: TriedSides, word: str, key: tuple[str, ...], scale: int) -> list[dict[str, Any]]:
    columns = ", ".join(f"left(cast({session.quote(name)} as varchar), 200)" for name in key)
    rows = session.rows(
        f"select {columns}, vendor_amount, ledger_amount from {session.quote(tried.table or '')} where status = ? "
        f"order by all limit {SHOWN}",
        (word,),
    )
    return [
        {"key": list(row[:-2]), "vendor_amount": _money(row[-2], scale), "ledger_amount": _money(row[-1], scale)}
        for row in rows
    ]


def _money(value: Any, scale: int) -> str | None:  # noqa: ANN401 - whatever the warehouse gives
    return None if value is None else f"{Decimal(value):.{scale}f}"


def _side(tried: TriedSides) -> str | None:
    refused = tried.refused_sides
    return "both" if len(refused) > 1 else next(iter(refused), None)


def _said(tried: TriedSides, vendor: Mapping[str, Any], ledger: Mapping[str, Any]) -> tuple[str, str | None]:
    refused = tried.refused_sides
    if refused:
        said = "; ".join(f"{name}: {(vendor if name == VENDOR else ledger)['text']}" for name in refused)
        return said, (vendor if refused[0] == VENDOR else ledger)["hint"]
    if tried.report is not None and tried.report.status != "succeeded":
        return by_name(tried.vendor, tried.report.text), tried.report.hint
    return vendor["text"] or ledger["text"] or "", vendor["hint"] or ledger["hint"]
