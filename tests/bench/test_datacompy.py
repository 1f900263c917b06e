"""`docs/datacompy.md`: our column, and datacompy's where it is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.peers.datacompy_answers import INPUTS, answer
from dagster_planexec.world.sides.comparison.shape import Tolerance
from tests.support.comparing import compared, on_duckdb, row

PAGE = (Path(__file__).parents[2] / "docs" / "datacompy.md").read_text()
TABLE = {
    cells[0]: cells[1:]
    for line in PAGE.splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 3 and cells[0] in INPUTS
}


def said(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def test_the_page_has_every_input() -> None:
    """And each once."""
    assert list(TABLE) == list(INPUTS)
    assert len(re.findall(r"^\| ", PAGE, re.MULTILINE)) == len(INPUTS) + 1


@pytest.mark.parametrize("name", INPUTS)
def test_our_answer(name: str) -> None:
    """Lines by status, in the order of the page."""
    ledger, vendor, options = INPUTS[name]
    tolerance = {"tolerance": Tolerance("absolute", "0.01")} if options else {}
    sides = [[row(None if key is None else str(key), amount) for key, amount in side] for side in (ledger, vendor)]
    lines = on_duckdb(compared(**tolerance), *sides)
    counts = {word: sum(line["status"] == word for line in lines) for word in sorted({x["status"] for x in lines})}
    counts = {word: counts[word] for word in sorted(counts, key=lambda w: (w != "identical", w))}

    assert TABLE[name][1] == said(counts)


@pytest.mark.parametrize("engine", ["pandas", "polars"])
@pytest.mark.parametrize("name", INPUTS)
def test_its_answer(name: str, engine: str) -> None:
    """As it was measured."""
    pytest.importorskip("datacompy")
    pytest.importorskip(engine)
    found = answer(engine, name)

    assert TABLE[name][0] == (
        "raises" if "raises" in found else said({k: v for k, v in found.items() if k != "matches"})
    )
