"""The page says what the test does."""

from __future__ import annotations

from tests.faults.__main__ import PAGE
from tests.faults.matrix import CASES, EXCLUDED
from tests.faults.page import COMMAND, page


def test_the_page_is_made_from_the_table():
    assert PAGE.read_text(encoding="utf-8") == page(), f"run `{COMMAND}`"


def test_the_page_holds_every_cell():
    text = page()
    assert all(case.does in text for case in CASES)
    assert all(cell.because in text for cell in EXCLUDED)
