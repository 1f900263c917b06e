"""`python -m bench`: every measure runs on tiny sizes, and the document has its shape. No time is asserted."""

import json
import os

import pytest

from bench.__main__ import MEASURES, main

TINY = ("--rows", "500", "--steps", "12", "--chain", "2", "--step-rows", "50", "--runs", "1")
FIGURES = {
    "check_plan": ("ms", 100.0, {"check"}, {"steps": 12}),
    "compile_plan": ("s", 1.5, {"compile"}, {"steps": 12}),
    "import_cost": ("ratio", 1.15, {"interpreter", "dagster", "dagster_planexec", "both"}, {}),
    "step_cost": ("ratio", 1.3, {"by_hand", "harness"}, {"steps": 2, "rows": 50}),
    "load": ("ratio", 1.6, {"duckdb", "tool_alone", "with_every_check"}, {"rows": 500}),
    "reconcile_with_ablations": ("ratio", 1.6, {"join", "sides", "overlap", "identities"}, {"rows": 500}),
    "reconcile_with_everything": ("ratio", 2.6, {"join", "sides", "overlap", "identities"}, {"rows": 500}),
}


@pytest.fixture
def document(capsys):
    """Runs the bench with these arguments; what it prints on standard output."""

    def run(*arguments):
        assert main([*TINY, *arguments]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_every_budget_is_measured_with_its_absolute_times(document):
    """One figure per budget, in order, each with the medians behind it."""
    found = document()

    assert list(found) == ["version", "machine", "runs", "measured"]
    assert [one["name"] for one in found["measured"]] == list(FIGURES)
    for one in found["measured"]:
        unit, budget, cases, size = FIGURES[one["name"]]
        assert (one["unit"], one["budget"], set(one["medians_s"]), one["size"]) == (unit, budget, cases, size)
        assert all(seconds > 0 for seconds in one["medians_s"].values())
        assert one["within"] is (one["value"] <= budget)


def test_only_what_is_asked_for_is_measured(document):
    """`--only` takes names of measures, in any order."""
    found = document("--only", "compile_plan", "check_plan")

    assert [one["name"] for one in found["measured"]] == ["compile_plan", "check_plan"]


def test_the_environment_is_left_as_it_was(document):
    """A measure that needs a home of its own does not leave it to whoever comes next."""
    before = dict(os.environ)

    document("--only", "step_cost")

    assert dict(os.environ) == before


def test_an_unknown_measure_is_refused(capsys):
    """The message names the measures there are."""
    with pytest.raises(SystemExit):
        main(["--only", "everything"])

    said = capsys.readouterr().err
    assert all(name in said for name in MEASURES)
