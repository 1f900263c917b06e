"""What is made from the code: what each code means, what each rule, check and tool says, the schema of contracts.

`python -m tests.support.reference_pages` writes them; `tests/test_docs.py` compares them with the code.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

from dagster_planexec.checks import input_still_holds
from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.live import (
    earlier_effects_are_known,
    expectations_of_the_plan,
    outlives_its_read,
    source_matches_contract,
    watched_is_there,
)
from dagster_planexec.checks.live.catalogue import LIVE_STEP_CHECKS
from dagster_planexec.checks.static.rule import code_of
from dagster_planexec.checks.static.static_check import RULES, message_of
from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.strategies import STRATEGIES, WORDS
from dagster_planexec.recovery.decide import FILTERS
from dagster_planexec.recovery.decide import RULES as DECISIONS
from dagster_planexec.tools import BUILTIN_TOOLS

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python -m tests.support.reference_pages"
MADE = f"<!-- Made from the code by `{COMMAND}`; do not edit. -->"
LIVE: tuple[ModuleType, ...] = (
    outlives_its_read,
    watched_is_there,
    source_matches_contract,
    earlier_effects_are_known,
    expectations_of_the_plan,
)
GROUPS = {
    "fetch": "Fetching",
    "load": "Loading",
    "state": "State of periods and tables",
    "keys": "Keys and reconciliation",
    "report": "The report",
    "transient": "Transient: the same call may succeed a little later",
    "access": "Access and space",
    "plan": "The plan",
    "effect": "What cannot be undone",
    "attempt": "The attempt",
    "setup": "Set-up",
}


def codes_page() -> str:
    """`docs/codes.md`: every stable code, by group."""
    lines = [
        "# Codes",
        "",
        MADE,
        "",
        "A code is a stable string: it is never renamed and never used for something else.",
        "Every stop, hold, rejection and error carries one; `planexec` prints the hint with it.",
        "Codes that nothing uses yet belong to work that is still to come, see [requirements](requirements.md).",
        "",
        "What may follow a code is its line here, in order: the first that no [rule](rules.md) takes away is done.",
        "A tool's contract may leave less of a line, never more. A code that nobody knows stops.",
        "",
        *_table(("strategy", "what it does"), ((f"`{name}`", words) for name, words in WORDS.items())),
    ]
    for group, title in GROUPS.items():
        members = ((code, m) for code, m in CODES.items() if m.group == group)
        rows = [(f"`{code}`", m.summary, ", ".join(STRATEGIES[code]), m.hint) for code, m in members]
        header = ("code", "what it says", "what may follow", "the next thing to do")
        lines += ["", f"## {title}", "", *_table(header, rows)]
    return "\n".join(lines) + "\n"


def rules_page() -> str:
    """`docs/rules.md`: every rule, check, decision and tool, in its own words."""
    lines = [
        "# Rules, checks, decisions, tools",
        "",
        MADE,
        "",
        "One word is the name of the rule, its function, its file and its test.",
        "",
        "## Static rules",
        "",
        "Judged on the plan alone, all in one pass, in this order; `planexec check` runs only these.",
        f"Findings that only warn come from {_and(f'`{code_of(rule)}`' for rule in RULES if _warns(rule))};",
        "every other finding rejects the plan.",
        "",
        *_table(("rule", "what it asks for"), ((f"`{code_of(r)}`", message_of(code_of(r))) for r in RULES)),
        "",
        "## Live rules",
        "",
        "Judged on the world after the plan is written and before it runs, for steps that are not done yet.",
        f"First the step checks {_and(f'`{name}`' for name in BINDERS if name in LIVE_STEP_CHECKS)}; then:",
        "",
        *_table(("rule", "what it says"), ((f"`{_name(m)}`", _first(m)) for m in LIVE)),
        "",
        "## Step checks",
        "",
        "Judged before a step's call (pre) and after it (post).",
        "`input_still_holds` comes first at every step that takes an earlier step's result, once for each.",
        "",
        *_table(("check", "what it says", "pre of", "post of"), _checks()),
        "",
        "## Decisions",
        "",
        "What follows from a step's code. The first rule that answers decides.",
        "",
        *_table(("rule", "what it does"), ((f"`{rule.__name__}`", _first(rule)) for rule in DECISIONS)),
        "",
        "If none answers, the code's [strategies](codes.md) are gone through in order, without those taken away here.",
        "The journal names what was left, and for each that was not the first rule that took it away.",
        "",
        *_table(("rule", "what it forbids"), ((f"`{one.__name__}`", _first(one)) for one in FILTERS)),
        "",
        "## Tools",
    ]
    for tool in BUILTIN_TOOLS:
        c = tool.contract
        arguments = ", ".join(f"`{name}`" for name in c.args.model_fields)
        results = ", ".join(f"`{name}`" for name in c.result.model_fields)
        lines += ["", f"### `{c.name}`", "", c.description.replace("<", "\\<"), ""]
        lines += [f"- takes {arguments}; gives {results}"]
        lines += [f"- effect: {c.effect}; deadline {c.deadline_s:g} s; at most {c.max_tries} tries"]
        lines += [f"- ends with: {', '.join(f'`{code}`' for code in c.errors)}, or the code of a check"]
    return "\n".join(lines) + "\n"


def contract_schema() -> str:
    """`docs/file-contract.schema.json`: what an editor checks a file contract with, in the words of the code."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **FileContract.model_json_schema()}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


PAGES: dict[str, Callable[[], str]] = {
    "docs/codes.md": codes_page,
    "docs/rules.md": rules_page,
    "docs/file-contract.schema.json": contract_schema,
}


def _checks() -> Iterator[tuple[str, ...]]:
    yield "`input_still_holds`", _first(input_still_holds), "every step that refers to another", ""
    for name, binder in BINDERS.items():
        module = sys.modules[binder.__module__]
        pre = [f"`{t.contract.name}`" for t in BUILTIN_TOOLS if name in t.contract.preconditions]
        post = [f"`{t.contract.name}`" for t in BUILTIN_TOOLS if name in t.contract.postconditions]
        yield f"`{name}`", _first(module), ", ".join(pre), ", ".join(post)


def _warns(rule: object) -> bool:
    return '"warning"' in inspect.getsource(inspect.getmodule(rule) or rule)  # type: ignore[arg-type]


def _name(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _first(thing: object) -> str:
    """The first line of its docstring, which is a fact."""
    return (inspect.getdoc(thing) or "").splitlines()[0]


def _and(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}"


def _table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    cells = [header, ("---",) * len(header), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return ["| " + " | ".join(row) + " |" for row in cells]


def main() -> None:
    """Write them all."""
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8")
        sys.stdout.write(f"{name} is written\n")


if __name__ == "__main__":
    main()
