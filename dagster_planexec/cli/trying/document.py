"""What `ingest` and `reconcile` answer: one JSON document, or the same for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.printing import STYLES, paper, print_end
from dagster_planexec.cli.trying.delivery import Tried
from dagster_planexec.cli.trying.figures import SHOWN_REJECTS
from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.journal.run_report import RunReport, StepEntry
from dagster_planexec.journal.told.line import one_line

ACCEPT, REFUSE = "accept", "refuse"
EXIT = {ACCEPT: 0, REFUSE: 4}
"""Outcome to exit code; a request that could not be carried out ends with 1."""
_LONGEST_NAME = 120
_GONE = re.compile(r"; all of them are in \w+\.\w+")
"""What a run says of its rejects table; here it is gone when the answer is read."""


def ending_of(code: str | None, text: str, hint: str | None) -> dict[str, Any]:
    """The first fields of every answer: outcome, code, what is wrong and what to do."""
    said = hint or (meaning(code).hint if code else None)
    # The sentence of a run ends with what to do, and begins with its code; here both have fields of their own.
    text = text.removeprefix(f"{code}: ").removesuffix(f"; {said}")
    return {"version": 1, "outcome": REFUSE if code else ACCEPT, "code": code, "text": text or None, "hint": said}


def document_of(tried: Tried, looked_up: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The answer of `ingest`.

    | field | is |
    |---|---|
    | `outcome`, `code`, `text`, `hint` | `accept` or `refuse`, the code of the refusal, one sentence, what to do |
    | `rows`, `sum_amount` | rows that are loaded and what they add up to, at the contract's scale; of a refused file the good rows |
    | `sum_positive`, `sum_negative` | the same of amounts above and below zero |
    | `sums` | the same by currency |
    | `in_period`, `in_period_sum` | of the rows dated in the period; null without a period or a date column |
    | `rejects` | `rows`, `by_reason`, their readable `amounts` by reason, and the `first` of them: source, line, column, value, reason |
    | `dropped`, `normalised` | records that are no data, by what they are; cells that a text rule changed, by column. As the loader says |
    | `final` | whether every line is final, and the `estimated_rows` that are not with their `estimated_sum`; null if the contract says nothing of it |
    | `report_allowed` | whether a report may be written: of a bill that is an estimate it may, and no money moves |
    | `draft` | how many words of the contract are unconfirmed guesses |
    | `files` | key, bytes and SHA-256 of each |
    | `looked_up` | for every `--row KEY` the rows of that key as they are loaded, every cell as text |
    | `saved` | the `file` with every refused cell and its `rows`; null if none was asked for, or no row was looked at |
    | `checks` | every check with its verdict, both sides and their sources |
    """  # noqa: E501 - a table
    figures, contract = tried.figures, tried.contract
    text, hint = tried.report.text, tried.report.hint
    if tried.code == "NOT_FINAL":
        text = f"{figures.estimated_rows} of {figures.rows} rows are estimates"
        hint = None
    elif tried.code is None:
        text = ""
    return {
        **ending_of(tried.code, by_name(tried, text), hint),
        "contract": f"{contract.name} v{contract.version}",
        "period": tried.period.text if tried.period else None,
        "rows": figures.rows,
        "sum_amount": at_scale(contract, figures.sum),
        "sum_positive": at_scale(contract, figures.positive),
        "sum_negative": at_scale(contract, figures.negative),
        "sums": {word: at_scale(contract, total) for word, total in figures.by_currency.items()},
        "in_period": figures.in_period,
        "in_period_sum": None if figures.in_period_sum is None else at_scale(contract, figures.in_period_sum),
        "rejects": {
            "rows": figures.rejects,
            "by_reason": figures.by_reason,
            "amounts": {reason: at_scale(contract, worth) for reason, worth in figures.reject_amounts.items()},
            "first": [reject | {"source": tried.name_of(reject["source"])} for reject in figures.first_rejects],
        },
        **_beside(tried),
        "final": _final(tried),
        "report_allowed": tried.code in {None, "NOT_FINAL"},
        "files": [{"key": one.facts.key, "bytes": one.facts.size, "sha256": one.sha256} for one in tried.admitted],
        "looked_up": dict(looked_up or {}),
        "draft": len(contract.unconfirmed),
        "saved": None,
        "checks": [check | {"text": by_name(tried, check["text"])} for check in checks_of(tried.report)],
    }


def by_name(tried: Tried, text: str) -> str:
    """A text with the files' names in place of the digests that their landed copies are named by."""
    for sha256 in tried.key_of:
        name = one_line(tried.name_of(sha256), _LONGEST_NAME)
        text = text.replace(sha256, name).replace(f"{sha256[:12]}…", name)
    return _GONE.sub("", text)


def at_scale(contract: FileContract, amount: Decimal) -> str:
    """An amount as text with as many decimals as the contract declares."""
    scale = contract.column(contract.amount).scale
    return f"{amount:.{scale}f}"


def checks_of(report: RunReport) -> list[dict[str, Any]]:
    """Every check that was judged, in the order of the steps; of a rejected delivery what was seen before the run."""
    if report.status == "rejected":
        before = StepEntry("", "", "not-run", None, "", 0, 0.0, report.live)
        return [{"step": None, **check} for check in before.as_json()["checks"]]
    return [{"step": step.id, **check} for step in report.steps for check in step.as_json()["checks"]]


def print_tried(document: Mapping[str, Any], title: str) -> None:
    """The same for people: figures, what was rejected, the checks that did not pass, the sentence, the hint."""
    out = paper()
    out.print(Text(title, "bold"), Text(document["contract"], "dim"))
    figures = Table(box=None, pad_edge=False, show_header=False)
    for name, value in _figures(document):
        figures.add_row(Text(name, "dim"), Text(value))
    out.print(figures)
    if document["rejects"]["first"]:
        out.print(_rejects(document["rejects"]))
        if len(document["rejects"]["first"]) == SHOWN_REJECTS and not document["saved"]:
            out.print(Text(f"  the first {SHOWN_REJECTS}; --rejects FILE saves all of them", "dim"))
    shut = [check for check in document["checks"] if check["verdict"] not in {"passed", "not-applicable"}]
    passed = sum(1 for check in document["checks"] if check["verdict"] == "passed")
    beside = len(document["checks"]) - passed - len(shut)
    out.print(Text(f"{passed} checks passed, {len(shut)} did not, {beside} did not apply", "dim"))
    if document["draft"]:
        out.print(Text(f"the contract is a draft: {document['draft']} of its words are unconfirmed guesses", "yellow"))
    for check in shut[:10]:
        out.print(Text(f"  {check['check']}: {one_line(check['text'], 400)}"))
    for key, rows in document["looked_up"].items():
        found = "; ".join(", ".join(f"{name} {one_line(str(cell), 60)}" for name, cell in row.items()) for row in rows)
        out.print(Text(f"  {one_line(key, 60)}: {found or 'not loaded'}"))
    print_ending(document)


def print_ending(document: Mapping[str, Any]) -> None:
    """The last lines of an answer."""
    if document["saved"]:
        rows, file = document["saved"]["rows"], one_line(document["saved"]["file"], 400)
        paper().print(Text(f"{rows:,} {'row' if rows == 1 else 'rows'} saved in {file}"), soft_wrap=True)
    is_good = document["outcome"] == ACCEPT
    word = "ACCEPT" if is_good else f"REFUSE {document['code']}"
    style = STYLES["succeeded" if is_good else "stopped"]
    print_end(paper(), Text(word, style), document["text"] or "", document["hint"] or "")


def _final(tried: Tried) -> dict[str, Any] | None:
    if not tried.contract.final_when:
        return None
    rows = tried.figures.estimated_rows
    amount = at_scale(tried.contract, tried.figures.estimated_sum)
    return {"is_final": rows == 0, "estimated_rows": rows, "estimated_sum": amount}


def _beside(tried: Tried) -> dict[str, Any]:
    load = tried.report.step("load")
    facts = load.facts if load is not None else {}
    return {name: dict(facts.get(name) or {}) for name in ("dropped", "normalised")}


def _figures(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for file in document["files"]:
        yield "file", f"{one_line(file['key'], _LONGEST_NAME)}  {file['bytes']:,} bytes  {file['sha256'][:12]}"
    yield "rows", f"{document['rows']:,}"
    for word, total in document["sums"].items():
        yield "sum", f"{total} {one_line(word, 40)}"
    if document["in_period"] is not None:
        yield f"in {document['period']}", f"{document['in_period']:,} rows, {document['in_period_sum']}"
    if document["dropped"]:
        yield "no data", ", ".join(f"{count:,} {what}" for what, count in document["dropped"].items())
    if document["normalised"]:
        cells = ", ".join(f"{count:,} cells of {column}" for column, count in document["normalised"].items())
        yield "normalised", one_line(cells, 400)
    rejects = document["rejects"]
    if rejects["rows"]:
        yield "rejected", ", ".join(f"{count:,} {reason}" for reason, count in rejects["by_reason"].items())
    if document["final"] and not document["final"]["is_final"]:
        final = document["final"]
        yield "estimates", f"{final['estimated_rows']:,} rows worth {final['estimated_sum']}"


def _rejects(rejects: Mapping[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("line", "column", "value", "reason"):
        table.add_column(name, overflow="fold")
    for reject in rejects["first"]:
        where = f"{one_line(reject['source'], 40)}:{reject['line']}"
        value = "(empty)" if reject["value"] is None else repr(reject["value"])
        table.add_row(Text(where), Text(one_line(reject["column"], 60)), Text(one_line(value, 100)), reject["reason"])
    return table
