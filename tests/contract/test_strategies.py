"""The table of what may follow each code, and contracts that take away from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.strategies import ALL_STRATEGIES, STRATEGIES, WORDS, strategies_of
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PlanexecError
from dagster_planexec.tools import BUILTIN_TOOLS
from tests.support.toolbox import TASK, GetArgs, GetResult, idle_tool


def tool_with(name="s3.get", *, effect="read", **changes):
    """An idle tool whose contract says more."""
    tool = idle_tool(name, GetArgs, GetResult, effect=effect, writes=None)
    tool.contract = replace(tool.contract, **changes)
    return tool


def test_every_code_has_a_line_and_every_line_a_code():
    """One table for all of them."""
    assert set(STRATEGIES) == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_each_line_ends_with_stop_names_nothing_twice_and_nothing_unknown(code):
    """Stopping is always possible, and always the last resort."""
    line = STRATEGIES[code]

    assert line[-1] == "stop"
    assert len(set(line)) == len(line)
    assert set(line) <= set(ALL_STRATEGIES)


def test_what_is_transient_is_what_may_be_retried():
    """The word in the table of codes and the line in this one say the same."""
    assert {c for c, m in CODES.items() if m.transient} == {c for c, line in STRATEGIES.items() if "retry" in line}


def test_every_strategy_is_in_use_and_in_words():
    """None is there for the list alone."""
    assert {one for line in STRATEGIES.values() for one in line} == set(ALL_STRATEGIES) == set(WORDS)


def test_an_unknown_code_stops():
    """Whatever a contract says of it."""
    assert strategies_of("NOT_A_CODE", {"NOT_A_CODE": ("retry",)}) == ("stop",)


@pytest.mark.parametrize(
    ("kept", "left"),
    [((), ("stop",)), (("stop",), ("stop",)), (("stop", "use-fallback"), ("use-fallback", "stop")),
     (("skip", "retry"), ("retry", "skip", "stop"))],
    ids=["nothing", "stop alone", "the fallback", "the table's order"],
)  # fmt: skip
def test_a_contract_takes_away_and_keeps_the_order(kept, left):
    """The order of preference is the table's, whatever order the contract has."""
    assert strategies_of("UNAVAILABLE", {"UNAVAILABLE": kept}) == left
    assert strategies_of("TIMEOUT", {"UNAVAILABLE": kept}) == STRATEGIES["TIMEOUT"]


@pytest.mark.parametrize(
    ("narrowed", "says"),
    [({"OBJECT_GONE": ("retry", "stop")}, "OBJECT_GONE may not be followed by retry"),
     ({"NOT_A_CODE": ("stop",)}, "'NOT_A_CODE' is no code"),
     ({"TIMEOUT": ("hope",)}, "hope")],
    ids=["more than the table", "unknown code", "unknown strategy"],
)  # fmt: skip
def test_a_contract_that_adds_is_refused_when_the_registry_is_built(narrowed, says):
    """Before anything could run by it."""
    with pytest.raises(PlanexecError, match=says) as refused:
        ToolRegistry([tool_with(strategies=narrowed)])
    assert refused.value.code == "BAD_CONTRACT"


def test_the_built_in_tools_only_take_away():
    """The registry of all of them can be built."""
    assert len(list(ToolRegistry(BUILTIN_TOOLS))) == len(BUILTIN_TOOLS)


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([tool_with("a", fallback="a")], "its own fallback"),
        ([tool_with("a", fallback="b"), tool_with("b", effect="write")], "effect 'write'"),
        ([tool_with("a", effect="write", fallback="b"), tool_with("b", effect="irreversible")], "'irreversible'"),
        ([tool_with("a", effect="irreversible", fallback="b"), tool_with("b")], "names a fallback"),
    ],
    ids=["itself", "a write for a read", "money for a write", "for money"],
)
def test_a_fallback_does_no_more_than_what_it_stands_for(tools, says):
    """And nothing stands in for what cannot be undone."""
    with pytest.raises(PlanexecError, match=says) as refused:
        ToolRegistry(tools)
    assert refused.value.code == "BAD_CONTRACT"


def test_a_fallback_that_is_not_at_hand_is_no_fault():
    """A task that does not allow it goes without."""
    assert "a" in ToolRegistry([tool_with("a", fallback="b")])
    assert "a" in ToolRegistry([tool_with("a", effect="write", fallback="b"), tool_with("b")])


def test_a_task_lists_only_codes_after_which_another_plan_can_help():
    """No plan brings a service back."""
    with pytest.raises(PlanexecError, match="UNAVAILABLE") as refused:
        replace(TASK, replannable=frozenset({"UNAVAILABLE", "DROP_INCOMPLETE"}))
    assert refused.value.code == "BAD_CONTRACT"
