"""The graph of a plan: order, circles, ancestry."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.graph import (
    Ancestry,
    ancestors,
    children,
    critical,
    cycles,
    declared,
    depths,
    descendants,
    edges,
    graph_of,
    longest_chain,
    topological_order,
)
from dagster_planexec.plan.model import Plan
from tests.support.toolbox import flagship

DIAMOND = {"top": (), "left": ("top",), "right": ("top",), "bottom": ("left", "right"), "alone": ()}


def _plan(**steps: tuple[dict[str, Any], list[str]]) -> Plan:
    listed = [{"id": name, "tool": "t", "args": args, "depends_on": needs} for name, (args, needs) in steps.items()]
    return Plan.model_validate({"task": "t", "period": "2026-03", "steps": listed})


def test_edges_are_dependencies_and_references_to_steps_that_exist() -> None:
    """An edge comes from depends_on or from a reference however deep; a name nobody has is none."""
    plan = _plan(
        a=({}, []), b=({"x": [{"y": {"ref": "a.table"}}]}, ["nobody"]), c=({"x": {"ref": "none.x"}}, ["b", "a", "b"])
    )
    assert edges(plan) == {"a": (), "b": ("a",), "c": ("a", "b")}
    assert declared(plan) == {"a": (), "b": (), "c": ("a", "b")}


def test_steps_of_one_id_share_their_needs() -> None:
    """A duplicated id is one node that needs what both steps need."""
    assert graph_of([("a", ()), ("b", ["a"]), ("b", ["c"]), ("c", ())]) == {"a": (), "b": ("a", "c"), "c": ()}


def test_the_flagship_runs_in_its_listed_order() -> None:
    """Where the listed order is possible it is the order."""
    plan = flagship()
    assert topological_order(edges(plan)) == tuple(step.id for step in plan.steps)
    assert longest_chain(edges(plan)) == tuple(step.id for step in plan.steps)


def test_the_listed_order_decides_where_the_graph_does_not() -> None:
    """Of several steps that could run, the first listed does; a step listed early waits only for what it needs."""
    assert topological_order({"late": ("b",), "b": (), "a": ()}) == ("b", "late", "a")
    assert topological_order(DIAMOND) == ("top", "left", "right", "bottom", "alone")


def test_a_graph_with_a_circle_has_no_order_and_names_it() -> None:
    """The error names the circle and says what to do."""
    with pytest.raises(PlanexecError, match=r"a -> b -> c -> a") as caught:
        topological_order({"x": (), "a": ("b",), "b": ("c", "x"), "c": ("a",)})
    assert (caught.value.code, bool(caught.value.hint)) == ("PLAN_REJECTED", True)


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        pytest.param({}, (), id="no steps"),
        pytest.param(DIAMOND, (), id="two ways to one step"),
        pytest.param({"a": ("a",)}, (("a",),), id="itself"),
        pytest.param({"a": ("b",), "b": ("a",), "c": ("d",), "d": ("c",)}, (("a", "b"), ("c", "d")), id="two circles"),
        pytest.param({"a": ("b",), "b": ("a", "c"), "c": ("b",)}, (("a", "b"),), id="two that share a step are one"),
        pytest.param({"in": ("a",), "a": ("b",), "b": ("a", "out"), "out": ()}, (("a", "b"),), id="in and out of one"),
    ],
)
def test_circles_are_paths_that_share_no_step(needs: dict[str, tuple[str, ...]], expected: Any) -> None:
    """Each knot of the graph is shown as one path, in the order in which each step needs the next."""
    assert cycles(needs) == expected


def test_family_of_a_step() -> None:
    """Ancestors, descendants, children, depths and what a target cannot do without."""
    assert ancestors(DIAMOND, "bottom") == {"top", "left", "right"}
    assert descendants(DIAMOND, "top") == {"left", "right", "bottom"}
    assert children(DIAMOND)["top"] == ("left", "right")
    assert depths(DIAMOND) == {"top": 0, "left": 1, "right": 1, "bottom": 2, "alone": 0}
    assert longest_chain(DIAMOND) == ("top", "left", "bottom")
    assert critical(DIAMOND, ["left", "nobody"]) == {"left", "top"}
    assert longest_chain({}) == ()


def test_a_long_chain_needs_no_recursion() -> None:
    """Ten thousand steps in one chain, listed backwards, are ordered and searched for circles."""
    needs = {str(n): (str(n + 1),) for n in range(10_000)} | {"10000": ()}
    assert topological_order(needs)[0] == "10000"
    assert cycles(needs) == ()
    assert len(cycles(needs | {"10000": ("0",)})[0]) == 10_001


_GRAPHS = st.integers(1, 9).flatmap(
    lambda size: st.lists(st.sets(st.integers(0, size - 1)), min_size=size, max_size=size).map(
        lambda rows: {str(at): tuple(str(n) for n in sorted(row)) for at, row in enumerate(rows)}
    )
)


@given(_GRAPHS)
def test_order_and_circles_agree_with_the_standard_library(needs: dict[str, tuple[str, ...]]) -> None:
    """There is an order exactly where graphlib finds one, and every reported circle is one."""
    try:
        TopologicalSorter(needs).prepare()
    except CycleError:
        found = cycles(needs)
        assert found
        for path in found:
            assert all(after in needs[step] for step, after in zip(path, (*path[1:], path[0]), strict=True))
        return
    assert cycles(needs) == ()
    order = topological_order(needs)
    assert sorted(order) == sorted(needs)
    assert all(order.index(parent) < order.index(name) for name in needs for parent in needs[name])


@given(_GRAPHS)
def test_ancestry_agrees_with_a_walk(needs: dict[str, tuple[str, ...]]) -> None:
    """The bit sets say of every pair what walking the graph says, circles included."""
    ancestry = Ancestry(needs)
    for name in needs:
        assert ancestry.above(name) == ancestors(needs, name)
        assert {other for other in needs if ancestry.precedes(other, name)} == ancestors(needs, name)
    assert not ancestry.precedes("nobody", "0")
