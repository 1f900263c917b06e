"""`python -m bench`: every measure runs on tiny sizes, and the document has its shape. No time is asserted."""

import json
import os
import sys

import pytest

from bench.__main__ import main
from bench.catalogue import MEASURES
from bench.told.words import FIGURES as WORDS
from bench.told.words import MISSES

TINY = (
    "--rows", "500", "700", "--steps", "12", "--chain", "2", "--step-rows", "50", "--runs", "1",
    "--cap-mb", "30", "--cap-times", "0.01", "--keys", "1000",
)  # fmt: skip
PEERS = ("dlt", "datacompy")
SIDES = {"join", "sides", "overlap", "identities"}
CASES = {"duckdb", "with_every_check"}


def at_each_size(name, unit, budget, cases, unit_of_cases="s"):
    """The same figure for both sizes."""
    return [(name, unit, budget, cases, unit_of_cases, {"rows": rows}) for rows in (500, 700)]


FIGURES = [
    ("check_plan", "ms", 100.0, {"check"}, "s", {"steps": 12}),
    ("compile_plan", "s", 1.5, {"compile"}, "s", {"steps": 12}),
    ("import_cost", "ratio", 1.15, {"interpreter", "dagster", "planexec", "both"}, "s", {}),
    ("step_cost", "ratio", 1.3, {"by_hand", "harness"}, "s", {"steps": 2, "rows": 50}),
    ("tick", "s", 5.0, {"first", "later"}, "s", {"keys": 1000}),
    ("tick_memory", "ratio", 1.1, {"100_keys", "1000_keys"}, "MB", {"keys": 1000}),
    *at_each_size("load", "ratio", 1.6, CASES | {"tool_alone"}),
    *at_each_size("reconcile_with_ablations", "ratio", 1.6, SIDES),
    *at_each_size("reconcile_with_everything", "ratio", 2.6, SIDES),
    *at_each_size("typed_beside_join", "ratio", None, {"join", "typed"}),
    *at_each_size("typed_with_ablations", "ratio", 1.6, SIDES),
    *at_each_size("typed_with_everything", "ratio", 2.6, SIDES),
    *at_each_size("load_memory", "MB", None, CASES, "MB"),
    *at_each_size("reconcile_memory", "MB", None, {"join", "with_everything"}, "MB"),
    ("capped_load_memory", "MB", 260, {"with_every_check"}, "MB", {"rows": 5660, "file_mb": 0, "cap_mb": 30}),
]


@pytest.fixture
def document(capsys):
    """Runs the bench with these arguments; what it prints on standard output."""

    def run(*arguments):
        assert main([*TINY, *arguments]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_every_budget_is_measured_with_its_absolute_figures(document):
    """One figure per budget and size, each with the medians behind it; what cannot be measured is listed, and why."""
    found = document()

    assert list(found) == ["version", "machine", "load_average_before", "took_s", "measured", "left_out"]
    by_name = sorted(found["measured"], key=lambda one: [name for name, *_ in FIGURES].index(one["name"]))
    assert [one["name"] for one in by_name] == [name for name, *_ in FIGURES]
    for one, (name, unit, budget, cases, unit_of_cases, size) in zip(by_name, FIGURES, strict=True):
        assert (one["unit"], one["budget"], set(one["medians"]), one["size"]) == (unit, budget, cases, size), name
        assert (one["medians_in"], one["runs"], one["bound"]) == (unit_of_cases, 1, "at most"), name
        assert all(median > 0 for median in one["medians"].values()), name
        assert one["within"] is (None if budget is None else one["value"] <= budget), name
    assert [entry["name"] for entry in found["left_out"]] == list(PEERS)
    assert all(entry["name"] in entry["why"] for entry in found["left_out"])


def test_an_environment_without_the_peers_leaves_them_out(document):
    """That of the tests has neither of them; what it has is named with its version."""
    found = document("--only", *PEERS, "--peers", sys.executable)

    assert (found["measured"], [entry["name"] for entry in found["left_out"]]) == ([], list(PEERS))
    assert "pandas" in found["machine"]


def test_only_what_is_asked_for_is_measured(document):
    """`--only` takes names of measures, in any order."""
    found = document("--only", "compile_plan", "check_plan")

    assert [one["name"] for one in found["measured"]] == ["check_plan", "compile_plan"]


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


def test_document_and_page_are_written(document, tmp_path):
    """A saved document makes the page it was saved with, and measures nothing."""
    saved, page, again = (tmp_path / name for name in ("saved.json", "page.md", "again.md"))
    printed = document("--only", "compile_plan", "--json", str(saved), "--page", str(page))

    assert json.loads(saved.read_text(encoding="utf-8")) == printed
    assert main(["--from", str(saved), "--page", str(again)]) == 0
    assert again.read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
    assert "| plan to Dagster job | 12 steps |" in page.read_text(encoding="utf-8")


def test_every_figure_has_its_words():
    """The page can say of each figure what it is, and of nothing else why it was missed."""
    peers = {"faster_than_dlt", "faster_than_datacompy", "leaner_than_datacompy"}

    assert {name for name, *_ in FIGURES} | peers == set(WORDS)
    assert set(MISSES) <= set(WORDS)
