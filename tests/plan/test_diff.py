"""The difference of two plans."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagster_planexec.plan.diff import Insert, Keep, Move, Remove, Update, describe, diff, is_substantially_same
from dagster_planexec.plan.model import Plan
from tests.support.plan_edits import edited_plan
from tests.support.toolbox import flagship

COUNT = {"id": "count", "tool": "s3.count", "args": {"bucket": "vendor-drops", "prefix": "vendor/"}}


def _kinds(edits: list[dict[str, Any]]) -> list[str]:
    return [type(edit).__name__ for edit in diff(flagship(), edited_plan(edits))]


def test_a_plan_and_itself_are_seven_kept_steps() -> None:
    """Nothing differs between a plan and itself."""
    assert _kinds([]) == ["Keep"] * 7
    assert is_substantially_same(flagship(), flagship())


def test_other_words_are_substantially_the_same_plan() -> None:
    """Intent and rationale are words: every step is kept and the semantic digest is equal."""
    edits = [{"set": "intent", "to": "Do it"}, {"set": "steps/reconcile/rationale", "to": "because"}]
    assert _kinds(edits) == ["Keep"] * 7
    assert is_substantially_same(flagship(), edited_plan(edits))


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param({"set": "steps/fetch_export/args/key", "to": "x"}, id="an argument"),
        pytest.param({"set": "steps/reconcile/depends_on", "to": []}, id="a dependency"),
        pytest.param({"set": "steps/fetch_export/claims", "to": []}, id="a claim"),
        pytest.param({"set": "expects", "to": []}, id="an expectation"),
        pytest.param({"remove": "steps/issue_credit"}, id="a step"),
    ],
)
def test_another_deed_is_another_plan(edit: dict[str, Any]) -> None:
    """Whatever changes what is done makes it a different plan."""
    assert not is_substantially_same(flagship(), edited_plan([edit]))


def test_a_new_and_a_missing_step_are_seen() -> None:
    """A step without a counterpart is an insertion in the new plan's place or a removal from the old one's."""
    new = edited_plan([{"insert": COUNT, "before": "fetch_export"}, {"remove": "steps/write_report"}])
    edits = diff(flagship(), new)
    assert [edit for edit in edits if not isinstance(edit, Keep)] == [
        Insert(new.steps[2], 2),
        Remove(flagship().steps[5], 5),
    ]


def test_a_changed_argument_is_an_update_that_names_both_values() -> None:
    """The counterpart is found by tool and id; what differs is named."""
    new = edited_plan([{"set": "steps/fetch_export/args/key", "to": "vendor/exports/2026-03-invoice.csv.gz"}])
    (update,) = (edit for edit in diff(flagship(), new) if isinstance(edit, Update))
    assert update.fields == ("args",)
    line = describe(update)
    assert line.startswith("~ fetch_export: key 'vendor/exports/2026-03-invoice.csv' -> ")
    assert "2026-03-invoice.csv.gz" in line


def test_ids_alone_do_not_matter() -> None:
    """A renamed step with all that refers to it is the same step: kept, and described with both names."""
    new = edited_plan(
        [
            {"set": "steps/fetch_export/id", "to": "get_it"},
            {"set": "steps/load_staging/depends_on", "to": ["get_it"]},
            {"set": "steps/load_staging/args/sources", "to": [{"ref": "get_it.landed"}]},
        ]
    )
    edits = diff(flagship(), new)
    assert all(isinstance(edit, Keep) for edit in edits)
    assert describe(edits[2]) == "= get_it (was fetch_export)"


def test_a_renamed_and_changed_step_is_found_by_likeness() -> None:
    """Of steps with neither id nor arguments in common with the old plan, the one most alike is the counterpart."""
    new = edited_plan(
        [
            {"set": "steps/fetch_export/id", "to": "get_it"},
            {"set": "steps/get_it/args/key", "to": "vendor/exports/other.csv"},
            {"set": "steps/load_staging/depends_on", "to": ["get_it"]},
            {"set": "steps/load_staging/args/sources", "to": [{"ref": "get_it.landed"}]},
        ]
    )
    changed = [edit for edit in diff(flagship(), new) if not isinstance(edit, Keep)]
    assert [type(edit) for edit in changed] == [Update]
    assert describe(changed[0]).startswith("~ get_it (was fetch_export): key ")


def test_steps_of_one_tool_that_share_nothing_are_two_steps() -> None:
    """Likeness has a floor: another bucket, key and id are a removal and an insertion."""
    edits = [
        {"set": "steps/fetch_export/id", "to": "get_it"},
        {"set": "steps/get_it/args", "to": {"bucket": "b", "key": "k"}},
    ]
    kinds = _kinds(edits)
    assert (kinds.count("Insert"), kinds.count("Remove")) == (1, 1)


def test_a_step_at_another_place_is_one_move() -> None:
    """Only the step that was moved has moved, not those it passed."""
    new = edited_plan([{"move": "fetch_export", "before": "scope_ledger"}])
    edits = diff(flagship(), new)
    assert [edit for edit in edits if not isinstance(edit, Keep)] == [Move(new.steps[0], 2, 0)]
    assert describe(edits[0]) == "> fetch_export moved from 3 to 1"


def test_a_reference_to_another_step_is_a_change() -> None:
    """References are compared by the steps they stand for: the same field of another step is another argument."""
    new = edited_plan([{"set": "steps/write_report/args/source", "to": {"ref": "scope_ledger.table"}}])
    (update,) = (edit for edit in diff(flagship(), new) if isinstance(edit, Update))
    assert update.new.id == "write_report"


def test_a_description_is_one_bounded_line_whatever_the_plan_holds() -> None:
    """Control characters are quoted and long values cut."""
    hostile = "a\n\x1b[31m" + "x" * 3000
    new = edited_plan(
        [
            {"set": "steps/fetch_export/args", "to": {hostile: hostile, "b": [hostile] * 50, "c": 1, "d": 2}},
            {"set": "steps/reconcile/depends_on", "to": [hostile] * 50},
            {"set": "steps/write_report/id", "to": hostile[:200]},
            {"set": "steps/issue_credit/claims", "to": [{"claim": hostile[:100]}] * 20},
            {"insert": {**COUNT, "id": hostile[:200], "tool": hostile[:200]}, "before": "reconcile"},
        ]
    )
    for edit in diff(flagship(), new):
        line = describe(edit)
        assert line.isprintable(), line
        assert len(line) < 600, line


_STEP = st.builds(
    lambda step_id, tool, args, needs: {"id": step_id, "tool": tool, "args": args, "depends_on": needs},
    st.sampled_from("abcd"),
    st.sampled_from(["x", "y"]),
    st.dictionaries(st.sampled_from(["k", "l"]), st.integers(0, 2) | st.just({"ref": "a.t"}), max_size=2),
    st.lists(st.sampled_from("abcd"), max_size=2),
)
_PLAN = st.lists(_STEP, max_size=6).map(
    lambda steps: Plan.model_validate({"task": "t", "period": "2026-03", "steps": steps})
)


@given(_PLAN, _PLAN)
@settings(deadline=None)
def test_every_step_of_both_plans_is_in_exactly_one_edit(old: Plan, new: Plan) -> None:
    """Edits account for each step of both plans once, and a plan differs in nothing from itself."""
    edits = diff(old, new)
    gone = [edit for edit in edits if isinstance(edit, Remove)]
    added = [edit for edit in edits if isinstance(edit, Insert)]
    paired = len(edits) - len(gone) - len(added)
    assert paired + len(gone) == len(old.steps)
    assert paired + len(added) == len(new.steps)
    assert all(old.steps[edit.index] is edit.step for edit in gone)
    assert all(new.steps[edit.index] is edit.step for edit in added)
    assert all(isinstance(edit, Keep) for edit in diff(old, old))
