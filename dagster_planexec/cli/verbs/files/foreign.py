"""Check plans that others wrote against the tools they were given. Needs no project, no home and no network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dagster_planexec.checks.static.rule import shown_name
from dagster_planexec.checks.static.static_check import check_foreign, message_of
from dagster_planexec.cli.document import EXIT
from dagster_planexec.cli.printing import paper, print_finding, print_json
from dagster_planexec.contract.foreign.catalogue import read_catalogue
from dagster_planexec.plan.foreign.plans import read_plans

MOST_PLANS = 50
"""Plans whose findings people are shown; `--json` has them all."""
MOST_FINDINGS = 20
"""Findings that people are shown of one plan."""


def check_plans(plans: Path, catalogue: Path, *, as_json: bool) -> int:
    """Print what is wrong with every plan of a file, by form and structure.

    Returns:
        The exit code: that of a rejection if any plan has an error.

    Raises:
        PlanexecError: VALIDATION_ERROR if the plans cannot be read, BAD_CONTRACT if the catalogue is none.
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
        yield {"line": plan.line, "plan_id": plan.plan_id, "findings": [finding.as_json() for finding in found]}


def _print(checked: Sequence[Mapping[str, Any]]) -> None:
    """Every finding of each plan that has any, a line for each code, and how many are clean."""
    out = paper()
    wrong = [plan for plan in checked if plan["findings"]]
    for plan in wrong[:MOST_PLANS]:
        _print_plan(out, plan)
    if len(wrong) > MOST_PLANS:
        out.print(Text(f"... {_counted(len(wrong) - MOST_PLANS, 'more plan')} with findings, use --json", "dim"))
    if wrong:
        out.print(_codes(wrong))
    rejected = sum(1 for plan in checked if any(found["severity"] == "error" for found in plan["findings"]))
    verdict = Text(f"REJECTED {rejected:,}", "bold red") if rejected else Text("SUCCEEDED", "bold green")
    said = f"of {_counted(len(checked), 'plan')}; {len(checked) - len(wrong):,} without a finding"
    out.print(verdict, Text(said))


def _print_plan(out: Console, plan: Mapping[str, Any]) -> None:
    findings = plan["findings"]
    at = "" if plan["plan_id"] is None else f"line {plan['line']}, "
    out.print(Text(_name(plan), "bold"), Text(f"{at}{_counted(len(findings), 'finding')}", "dim"), soft_wrap=True)
    for finding in findings[:MOST_FINDINGS]:
        print_finding(out, finding)
    if len(findings) > MOST_FINDINGS:
        more = _counted(len(findings) - MOST_FINDINGS, "more finding")
        out.print(Text(f"  ... {more}, use --json", "dim"))


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _codes(wrong: Sequence[Mapping[str, Any]]) -> Table:
    findings = Counter(found["code"] for plan in wrong for found in plan["findings"])
    plans = Counter(code for plan in wrong for code in {found["code"] for found in plan["findings"]})
    table = Table(box=None, pad_edge=False)
    for name in ("code", "findings", "plans", "what it asks for"):
        table.add_column(name, overflow="fold")
    for code, count in findings.most_common():
        table.add_row(code, f"{count:,}", f"{plans[code]:,}", message_of(code))
    return table


def _name(plan: Mapping[str, Any]) -> str:
    return shown_name(plan["plan_id"]) if plan["plan_id"] is not None else f"line {plan['line']}"
