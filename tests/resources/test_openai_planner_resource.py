"""The planner's resource: the key is read where the planner is made, and stays there."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_planexec import OpenAIPlannerResource
from dagster_planexec.errors import PlanexecError
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.world.period import Period
from tests.support.chat_server import answers, chat_server
from tests.support.toolbox import REGISTRY, TASK

KEY = "sk-resource-0123456789abcdef"


def resource(url: str) -> OpenAIPlannerResource:
    """One that asks there, with the key of a variable."""
    return OpenAIPlannerResource(model="model-x", api_key=dg.EnvVar("PLANEXEC_TEST_KEY"), base_url=url)


def test_the_key_is_read_when_the_planner_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """And sent where it belongs."""
    with chat_server(answers("no")) as chat:
        made = resource(chat.url)
        monkeypatch.setenv("PLANEXEC_TEST_KEY", KEY)
        made.planner().propose(PlanRequest(TASK, Period.parse("2026-03", "month"), REGISTRY))
        headers = {name.lower(): value for name, value in chat.arrived[0]["headers"].items()}

    assert headers["authorization"] == f"Bearer {KEY}"


def test_a_variable_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """A code and a hint, no stack trace."""
    monkeypatch.delenv("PLANEXEC_TEST_KEY", raising=False)
    with pytest.raises(PlanexecError, match="the variable 'PLANEXEC_TEST_KEY' is not set") as refused:
        resource("http://127.0.0.1:9").planner()

    assert refused.value.code == "BAD_CONTRACT"
    assert refused.value.hint


def test_a_setting_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the planner refuses it."""
    monkeypatch.setenv("PLANEXEC_TEST_KEY", KEY)
    with pytest.raises(PlanexecError, match="base_url"):
        resource("ftp://127.0.0.1").planner()


def test_the_key_is_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of the resource nor of what Dagster stores of its settings."""
    monkeypatch.setenv("PLANEXEC_TEST_KEY", KEY)
    made = resource("http://127.0.0.1:9")
    ready = made.process_config_and_initialize()
    defs = dg.Definitions(resources={"planner": made})
    schema = defs.resources["planner"].get_resource_definition().config_schema

    assert KEY not in f"{made!r}{ready!r}{made.planner()!r}{schema.default_value if schema.default_provided else ''}"
