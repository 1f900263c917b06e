"""A journal that several processes have open at once, as a task run, its steps and the sensors do."""

from __future__ import annotations

import subprocess
import sys

from dagster_planexec.journal.journal import Journal

OPEN_AND_CLOSE = """
from dagster_planexec.journal.journal import Journal
journal = Journal()
journal.newest_attempts("t")
journal.close()
"""


def test_opening_a_second_journal_keeps_the_locks_of_the_first(tmp_path, monkeypatch):
    """Or another process believes to be the last one, and removes the log that this one still writes to."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    first = Journal()
    first.open_attempt(task="t", version="1", period="2026-02", inputs_digest="x", admission={})
    second = Journal()
    subprocess.run([sys.executable, "-c", OPEN_AND_CLOSE], check=True)

    assert (tmp_path / "journal.sqlite-wal").exists()
    first.close()
    second.close()
