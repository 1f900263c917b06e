"""Tests reach nothing but this machine, and a planner of one that does not know better says that nobody answered."""

from __future__ import annotations

import socket

import pytest

from dagster_planexec.planner.openai.openai_planner import OpenAIPlanner
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.world.period import Period
from tests.support.toolbox import REGISTRY, TASK


@pytest.mark.parametrize("host", ["api.openai.com", "192.0.2.1", "2001:db8::1", "10.0.0.1"])
def test_a_connection_to_elsewhere_is_refused(host: str) -> None:
    """By name or by number, before anything is sent."""
    with pytest.raises(PermissionError, match="not on this machine"):
        socket.create_connection((host, 443), timeout=1)


def test_a_connection_to_this_machine_is_not() -> None:
    """By name, too."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1]), timeout=1).close()


def test_a_planner_that_would_ask_the_real_service_gets_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the guard gone, this test would be the first to reach out."""
    monkeypatch.setattr("dagster_planexec.planner.openai.openai_planner.time.sleep", lambda _: None)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    request = PlanRequest(TASK, Period.parse("2026-03", "month"), REGISTRY)

    assert OpenAIPlanner("model-x", api_key="sk-none-000000", timeout_s=5).propose(request).code == "UNAVAILABLE"
