"""Check plans that others wrote against the tools they were given. Needs no project, no home and no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.checks.static.rule import shown_name
from dagster_planexec.checks.static.static_check import check_foreign, message_of
from dagster_planexec.cli.document import EXIT
from dagster_planexec.cli.printing import paper, print_json
from dagster_planexec.contract.foreign.catalogue import read_catalogue
from dagster_planexec.plan.foreign.plans import read_plans

_LONGEST = 90


def check_plans(plans: Path, catalogue: Path, *, as_json: bool) -> int:
    """Print what is wrong with every plan of a file, by form and structure.

    Returns:
        The exit code: that of a rejection if any plan has an error.

    Raises:
        PlanexecError: PLAN_REJECTED if the plans cannot be read, BAD_CONTRACT if the catalogue is none.
    """
    checked = list(_checked(plans, catalogue))
    if as_json:
        print_json({"version": 1, "plans": checked})
    else:
        _print(checked)
    rejected = any(finding["severity"] == "error" for plan in checked for finding in plan["findings"])
    return EXIT["rejected" if rejected else "succeeded"]


def _checked(plans: Path, catalogue: Path) -> Iterator[dict[str, Any]]:
    tools = read_catalogue(catalogue)
    for plan in read_plans(plans):
        found = check_foreign(plan, tools)
        yield {"line": plan.line, "plan_id": plan.plan_id, "findings": [asdict(finding) for finding in found]}


def _print(checked: Sequence[Mapping[str, Any]]) -> None:
    """A line for each plan with findings, a line for each code, and how many are clean."""
    out = paper()
    wrong = [plan for plan in checked if plan["findings"]]
    if wrong:
        table = Table("plan", "findings", "the first of them", box=None, pad_edge=False)
        for plan in wrong:
            table.add_row(Text(_name(plan)), str(len(plan["findings"])), Text(_said(plan["findings"][0])))
        out.print(table)
        out.print(_codes(wrong))
    rejected = sum(1 for plan in checked if any(found["severity"] == "error" for found in plan["findings"]))
    verdict = Text(f"REJECTED {rejected:,}", "bold red") if rejected else Text("SUCCEEDED", "bold green")
    out.print(verdict, Text(f"of {len(checked):,} plans; {len(checked) - len(wrong):,} without a finding"))


def _codes(wrong: Sequence[Mapping[str, Any]]) -> Table:
    findings = Counter(found["code"] for plan in wrong for found in plan["findings"])
    plans = Counter(code for plan in wrong for code in {found["code"] for found in plan["findings"]})
    table = Table("code", "findings", "plans", "what it asks for", box=None, pad_edge=False)
    for code, count in findings.most_common():
        table.add_row(code, f"{count:,}", f"{plans[code]:,}", message_of(code))
    return table


def _name(plan: Mapping[str, Any]) -> str:
    return shown_name(plan["plan_id"]) if plan["plan_id"] is not None else f"line {plan['line']}"


def _said(finding: Mapping[str, Any]) -> str:
    where = " ".join(part for part in (finding["code"], finding["step"], finding["field"]) if part)
    said = f"{where}: {finding['seen']}"
    return said if len(said) <= _LONGEST else f"{said[: _LONGEST - 3]}..."
