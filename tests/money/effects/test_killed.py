"""kill -9 at every boundary of `issue_credit`, over both targets; `make chaos` runs 100 months of each."""

from __future__ import annotations

import pytest

from tests.support.credit_server import CreditServer
from tests.support.effects_killed import BOUNDARIES, Kill, kills, survived


@pytest.mark.parametrize("target", ["table", "http"])
@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_a_kill_at_any_boundary_leaves_each_line_to_be_issued_once(tmp_path, monkeypatch, boundary, target):
    """The next run looks up what was begun, and needs nobody."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    server = CreditServer(tmp_path / "credits.sqlite") if target == "http" else None
    try:
        wrong = survived(tmp_path / "home", server, [Kill(boundary, 3, 0.001)])
    finally:
        if server is not None:
            server.close()

    assert wrong == []


@pytest.mark.parametrize("number", [1, 3])
def test_kills_one_after_the_other_are_survived_too(tmp_path, monkeypatch, number):
    """By a server that kills whoever asks it, before and after it has issued."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    server = CreditServer(tmp_path / "credits.sqlite")
    try:
        wrong = survived(tmp_path / "home", server, kills(number), by_server=True)
    finally:
        server.close()

    assert wrong == []
