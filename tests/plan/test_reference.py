"""What is a reference and what only looks like one."""

from __future__ import annotations

import pytest

from dagster_planexec.plan.diff import Keep, Update, diff
from dagster_planexec.plan.graph import edges
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.plan.reference import Reference, references, resolve


def _plan(args: dict[str, object]) -> Plan:
    steps = [{"id": "main", "tool": "x"}, {"id": "b", "tool": "git.checkout", "args": args}]
    return Plan.model_validate({"task": "t", "period": "p", "steps": steps})


def test_an_argument_named_ref_is_a_literal() -> None:
    """`{"ref": "main"}` as a whole are arguments, of which one is called `ref`: nothing is referred to."""
    step = Step(id="b", tool="git.checkout", args={"ref": "main"})

    assert list(references(step)) == []
    assert resolve(step.args, lambda _: pytest.fail("it is looked up")) == {"ref": "main"}
    assert edges(_plan({"ref": "main"})) == {"main": (), "b": ()}


def test_an_argument_named_ref_may_be_a_reference() -> None:
    """Its value is one if it has the form."""
    step = Step(id="b", tool="git.checkout", args={"ref": {"ref": "main.head"}, "all": [{"ref": "main"}]})

    assert list(references(step)) == [Reference("main", "head", "ref"), Reference("main", "", "all[0]")]
    assert resolve(step.args, str) == {"ref": "main.head", "all": ["main."]}


def test_two_plans_that_differ_in_an_argument_named_ref_differ() -> None:
    """The difference of plans reads arguments the same way."""
    old, new = _plan({"ref": "main"}), _plan({"ref": "next"})

    assert [type(edit) for edit in diff(old, new)] == [Keep, Update]
