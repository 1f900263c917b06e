"""The page on datacompy says what this project answers today; datacompy's side is made with the page."""

from __future__ import annotations

import pytest

from bench.differences.__main__ import PAGE, ours
from bench.differences.cases import CASES, Case


@pytest.mark.parametrize("case", CASES, ids=[case.name.replace(" ", "-") for case in CASES])
def test_the_page_states_our_answer(case: Case) -> None:
    """Made anew by `python -m bench.differences`."""
    section = PAGE.read_text().partition(f"## {case.name[0].upper()}{case.name[1:]}\n")[2].partition("\n## ")[0]

    assert f"| `planexec reconcile` | {ours(case)} |" in section
    assert section.count("| datacompy") >= 2
