"""docs/performance.md: made of docs/performance.json by the generator, and by nothing else."""

import json
from pathlib import Path

import pytest

from bench.catalogue import MEASURES
from bench.told.page import page
from bench.told.words import FIGURES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def committed():
    """The document that lies beside the page."""
    return json.loads((DOCS / "performance.json").read_text(encoding="utf-8"))


def figure(name="load", value=1.5, *, budget=1.6, bound="at most", **more):
    """A figure of a document."""
    kept = None if budget is None else value <= budget if bound == "at most" else value >= budget
    return {
        "name": name, "value": value, "unit": "ratio", "budget": budget, "bound": bound, "within": kept,
        "medians": {"duckdb": 0.5, "with_every_check": 2.25}, "medians_in": "s", "size": {"rows": 5_000_000}, "runs": 3,
        **more,
    }  # fmt: skip


def document(*figures, left_out=()):
    """A document with these figures."""
    machine = {"cores": 2, "memory_gb": 8, "system": "Linux on x86_64", "python": "3.11.9", "duckdb": "2.0.1"}
    return {
        "version": 2, "machine": machine, "load_average_before": 0.1, "took_s": 90, "measured": list(figures),
        "left_out": list(left_out),
    }  # fmt: skip


def test_the_committed_page_is_what_the_generator_makes(committed):
    """Nobody edits it by hand; `make performance` writes both files."""
    assert (DOCS / "performance.md").read_text(encoding="utf-8") == page(committed)


def test_the_committed_document_is_of_a_whole_run(committed):
    """Every figure there is was measured, or is said not to have been; load and reconcile at 1 and 5 million lines."""
    names = {one["name"] for one in committed["measured"]}
    left_out = {entry["name"] for entry in committed["left_out"]}
    of_peers = {"dlt": {"faster_than_dlt"}, "datacompy": {"faster_than_datacompy", "leaner_than_datacompy"}}

    assert names | set().union(*(of_peers.get(name, set()) for name in left_out)) == set(FIGURES)
    assert left_out <= {name for name, measure in MEASURES.items() if measure.peer is not None}
    at_both = {name for name in FIGURES if name.startswith(("reconcile_", "typed_"))} | {"load", "load_memory"}
    for name in at_both:
        sizes = [one["size"]["rows"] for one in committed["measured"] if one["name"] == name]
        assert sizes == [1_000_000, 5_000_000], name


def test_the_committed_document_names_no_machine(committed):
    """Cores, memory, system and versions: no name, no path."""
    assert not [text for text in _texts(committed) if "/" in text or "\\" in text or "@" in text]


def _texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for child in value.values():
            yield from _texts(child)
    elif isinstance(value, list):
        for child in value:
            yield from _texts(child)


@pytest.mark.parametrize(
    ("given", "row"),
    [
        (figure(), "| 5,000,000 rows | 1.50x | at most 1.60x | yes | duckdb 500 ms, with every check 2.25 s; 3 r"),
        (figure(value=1.61), "| 1.61x | at most 1.60x | **no** |"),
        (figure("faster_than_dlt", 3.2, budget=3, bound="at least"), "| 3.20x | at least 3.00x | yes |"),
        (figure("faster_than_dlt", 1.1, budget=3, bound="at least"), "| 1.10x | at least 3.00x | **no** |"),
        (
            figure("load_memory", 279.6, budget=None, unit="MB", medians={"duckdb": 1200.4}, medians_in="MB", runs=1),
            "| 280 MB | none |  | duckdb 1,200 MB; 1 round |",
        ),
        (figure("check_plan", 88.4, budget=100, unit="ms", size={"steps": 1000}), "| 1,000 steps | 88 ms | at "),
    ],
    ids=["kept", "missed", "at least kept", "at least missed", "memory", "milliseconds"],
)  # fmt: skip
def test_a_row(given, row):
    """Value, budget, whether it is kept, and what is behind it."""
    assert row in page(document(given))


def test_missed_budgets_are_told_apart():
    """Each with its sizes and values, and why; none where all are kept."""
    kept = figure(size={"rows": 1_000_000})
    missed = page(document(kept, figure(value=1.75)))

    assert "- **load with every check, beside DuckDB's own**: 1.75x at 5,000,000 rows; the budget is at most" in missed
    assert "Every budget is kept." not in missed
    assert "Every budget is kept." in page(document(kept))


def test_what_was_not_measured_is_said():
    """With the reason."""
    entry = {"name": "dlt", "why": "dlt is not there"}

    assert "## Not measured\n\n- `dlt`: dlt is not there.\n" in page(document(figure(), left_out=[entry]))
    assert "Not measured" not in page(document(figure()))
