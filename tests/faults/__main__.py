"""`python -m tests.faults`: write `docs/faults.md` from the table."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.faults.page import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "faults.md"

if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write("docs/faults.md is written\n")
