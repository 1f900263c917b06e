"""Plans nobody would write: random ones, the flagship with random faults, and those of random catalogues."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from dagster_planexec.contract.foreign.described_tool import described_tool
from dagster_planexec.contract.tool import ToolRegistry
from tests.support.toolbox import REGISTRY, CreditArgs, GetArgs, LoadArgs, SqlArgs, flagship_json

_NAMES = st.sampled_from(
    [
        "scope_ledger",
        "fetch_export",
        "load_staging",
        "reconcile",
        "issue_credit",
        "a",
        "",
        "x-y",
        "\n",
        "class",
        "é" * 9,
    ]
)
_TOOLS = st.sampled_from([*REGISTRY, "nothing", ""])
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(2**63), max_value=2**63 - 1)
    | st.text(max_size=30)
    | st.sampled_from(
        ["ledger.charges", "recon.a_202602", "TBD", "9" * 4000, "NaN", "reconcile.sql", "../x", "$X", "\x00"]
    )
    | st.sampled_from(["<" * 3000, "{" * 900 + "}" * 900, "- " * 2000, ".\n" * 999, "\u202e" * 50, "your " * 500])
)
_REFS = st.builds(
    lambda step, field, more: {"ref": f"{step}{field}"} | more,
    _NAMES,
    st.sampled_from(["", ".", ".table", ".landed", ".rows", ".a.b.c", "..", ".issued"]),
    st.sampled_from([{}, {}, {"ref": 5}, {"more": None}, {"ref": None}]),
)
_VALUES = st.recursive(
    _SCALARS | _REFS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | _NAMES, inner, max_size=3),
    max_leaves=6,
)
_MORE = ("name", "prefix", "contract", "max_lines", "ref", "a.b", "\x00")
_ARGUMENTS = st.dictionaries(
    st.sampled_from(
        [*CreditArgs.model_fields, *SqlArgs.model_fields, *LoadArgs.model_fields, *GetArgs.model_fields, *_MORE]
    ),
    _VALUES,
    max_size=6,
)
_STEPS = st.fixed_dictionaries(
    {
        "id": _NAMES,
        "tool": _TOOLS,
        "args": _ARGUMENTS,
        "depends_on": st.lists(_NAMES, max_size=3),
        "claims": st.lists(
            st.fixed_dictionaries(
                {
                    "claim": st.sampled_from(["row_counts_agree", "", "in prose"]),
                    "args": st.dictionaries(st.sampled_from(["min_rows", "min_matched_share", "cap", "x"]), _VALUES),
                }
            ),
            max_size=2,
        ),
    }
)
_EXPECTATIONS = st.fixed_dictionaries(
    {
        "about": st.sampled_from(["drop", "input:ledger", "input:", "", "\n"]) | st.text(max_size=20),
        "measure": st.sampled_from(["rows", "objects", ""]),
        "op": st.sampled_from(["==", "<"]),
        "value": st.integers() | st.text(max_size=5),
    }
)
PLANS = st.fixed_dictionaries(
    {
        "task": st.sampled_from(["vendor_reconciliation", "", "x"]),
        "period": st.sampled_from(["2026-03", "0000-00", "", "2026-Q1", "9999-12"]) | st.text(max_size=10),
        "expects": st.lists(_EXPECTATIONS, max_size=2),
        "steps": st.lists(_STEPS, max_size=6),
    }
)
"""Plans by their schema, of the flagship's words and others; as plain data."""


@st.composite
def broken_flagships(draw: st.DrawFn) -> dict[str, Any]:
    """The flagship's plan after one to five changes at random places; often still a plan by its schema."""
    data = flagship_json()
    for _ in range(draw(st.integers(1, 5))):
        holders = [(holder, key) for holder, key in _places(data) if key != "task"]
        holder, key = draw(st.sampled_from(holders))
        match draw(st.sampled_from(["set", "set", "drop", "copy", "move"])):
            case "set":
                others = [value for place, other in holders if isinstance(value := place[other], str)]
                holder[key] = draw(_VALUES | _NAMES | st.sampled_from(others))
            case "drop":
                del holder[key]
            case "copy" if isinstance(holder, list):
                holder.insert(draw(st.integers(0, len(holder))), json.loads(json.dumps(holder[key])))
            case "move" if isinstance(holder, list):
                holder.insert(draw(st.integers(0, len(holder) - 1)), holder.pop(key))
            case _:
                pass
        if not isinstance(data.get("steps"), list):
            break
    return data


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every (object or list, key or index) in a value."""
    if isinstance(value, dict):
        keys: list[Any] = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    else:
        return []
    return [(value, key) for key in keys] + [place for key in keys for place in _places(value[key])]


_WORDS = st.sampled_from(["a", "b", "step 1", "step_1", "a.b", "class", "", "日本", "x" * 101]) | st.text(max_size=4)
_SCHEMAS = st.booleans() | st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(
            ["string", "integer", "number", "boolean", "array", "object", "null", "float", ["string"], 3]
        ),
        "enum": st.just([1]),
    },
)
_TOOL = st.fixed_dictionaries(
    {"tool": _WORDS.filter(bool)},
    optional={
        "description": st.text(max_size=20),
        "effect": st.sampled_from(["read", "write", "generic", 3]),
        "parameters": st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(_WORDS, _SCHEMAS, max_size=4),
                "required": st.lists(_WORDS, max_size=2),
            },
        ),
    },
)
CATALOGUES = st.lists(_TOOL, max_size=5, unique_by=lambda entry: entry["tool"]).map(
    lambda entries: ToolRegistry(described_tool(entry) for entry in entries)
)
"""Tools that are only described, with arguments of any name."""

_FOREIGN_REFS = st.fixed_dictionaries({"$ref": _WORDS}, optional={"path": st.text(max_size=4) | st.none()})
_FOREIGN_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | _FOREIGN_REFS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS | st.just("ref"), inner, max_size=2),
    max_leaves=5,
)


@st.composite
def foreign_plans(draw: st.DrawFn, tools: ToolRegistry) -> dict[str, Any]:
    """A record of a plan in its publisher's form, mostly of these tools and their arguments."""
    ids = draw(st.lists(_WORDS, max_size=5, unique=draw(st.booleans())))
    steps = []
    for at, name in enumerate(ids):
        tool = draw(st.sampled_from([*tools, "nothing"]))
        known = list(tools[tool].contract.args.model_json_schema()["properties"]) if tool in tools else []
        steps.append(
            {
                "id": name,
                "tool": tool,
                "args": draw(st.dictionaries(st.sampled_from([*known, "other"]), _FOREIGN_VALUES, max_size=4)),
                "deps": draw(st.lists(st.sampled_from(ids[:at]) if at else _WORDS, max_size=2)),
            }
        )
    return {"plan_id": "p", "task": draw(st.text(max_size=5)), "steps": steps}
