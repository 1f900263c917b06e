"""Traces of real runs, decided again by today's rules: what an edit of a rule would have changed is named.

If a change is meant: `python -m tests.traces` records every run anew.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.demo.faults import FAULTS
from dagster_planexec.recovery.decide import RULES, decide
from dagster_planexec.recovery.decision import Situation, Stop, word_of
from dagster_planexec.recovery.situations import decode_situation, encode_situation
from tests.traces.__main__ import SATURDAY, runs

HERE = Path(__file__).parent
TRACES = sorted(HERE.glob("*.json"))


def changed(trace: dict[str, Any]) -> list[str]:
    """The decisions that today's rules would make otherwise."""
    found = []
    for event in trace["events"]:
        if event["kind"] != "decided":
            continue
        decision, rule = decide(decode_situation(event["situation"]))
        then, now = (event["decision"], event["rule"]), (word_of(decision), rule)
        if then != now:
            found.append(f"{event['step']} {event['code']}: {then[0]} by {then[1]}, today {now[0]} by {now[1]}")
    return found


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_today_decides_as_it_was_decided(path: Path) -> None:
    """Every decision of the run, in order."""
    trace = json.loads(path.read_text(encoding="utf-8"))

    assert changed(trace) == []


def test_every_run_has_its_trace() -> None:
    """Every fault, the Saturday run, a run without a fault, and the time-outs."""
    assert {path.stem for path in TRACES} == set(runs())
    assert set(FAULTS) - {SATURDAY} < set(runs())


def test_every_step_that_ended_was_decided_on() -> None:
    """A trace without decisions would replay anything."""
    decided = 0
    for path in TRACES:
        events = json.loads(path.read_text(encoding="utf-8"))["events"]
        ends = {e["step"] for e in events if e["kind"] == "step-ended" and e["state"] != "not-run"}
        assert ends == {e["step"] for e in events if e["kind"] == "decided"}
        decided += sum(e["kind"] == "decided" for e in events)
    assert decided > 80


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("saturday", ("fetch_export", "stop", "OBJECT_GONE")),
        ("s3-503-twice", ("fetch_export", "retry", "UNAVAILABLE")),
        ("inflate-credits", ("issue_credit", "hold", "CAP_EXCEEDED")),
        ("fetch-times-out", ("fetch_export", "stop", "TIMEOUT")),
        ("credits-time-out", ("issue_credit", "stop", "EFFECT_UNKNOWN")),
    ],
)
def test_the_traces_hold_what_they_are_named_after(name: str, expected: tuple[str, str, str]) -> None:
    """Each has the decision that it is kept for."""
    events = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["events"]

    assert expected in {(e["step"], e["decision"], e["code"]) for e in events if e["kind"] == "decided"}


def test_a_rule_that_decides_otherwise_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replay can fail: a rule that stops everything is told, decision by decision."""

    def stop_everything(situation: Situation) -> Stop:
        return Stop(situation.text)

    monkeypatch.setattr("dagster_planexec.recovery.decide.RULES", (stop_everything, *RULES))
    trace = json.loads((HERE / "s3-503-twice.json").read_text(encoding="utf-8"))

    named = changed(trace)

    assert named[2] == "fetch_export UNAVAILABLE: retry by retry_what_is_transient, today stop by stop_everything"
    assert len(named) == sum(event["kind"] == "decided" for event in trace["events"])


def test_no_trace_holds_a_path_or_a_secret() -> None:
    """They are committed."""
    for path in TRACES:
        text = path.read_text(encoding="utf-8")
        assert not [word for word in ("/tmp/", "/root/", "/home/", "127.0.0.1", "local-demo") if word in text]


SITUATIONS = st.builds(
    Situation,
    code=st.none() | st.text(max_size=20),
    stage=st.sampled_from(["precondition", "call", "postcondition", "surprise"]),
    effect=st.sampled_from(["read", "write", "irreversible"]),
    idempotent=st.booleans(),
    tries=st.integers(0, 9),
    max_tries=st.integers(0, 9),
    text=st.text(max_size=50),
    call_may_have_happened=st.booleans(),
    replannable=st.booleans(),
    checkpoint=st.booleans(),
)


@given(SITUATIONS)
def test_a_situation_comes_back_as_it_was(situation: Situation) -> None:
    """Through JSON; every field of it."""
    encoded = json.loads(json.dumps(encode_situation(situation)))

    assert decode_situation(encoded) == situation
    assert encoded.keys() == {field.name for field in fields(Situation)}


@given(SITUATIONS)
def test_an_old_situation_has_defaults_and_a_strange_fact_is_left_out(situation: Situation) -> None:
    """Traces outlive the fields of their day."""
    encoded = encode_situation(situation)
    del encoded["checkpoint"], encoded["replannable"]

    old = decode_situation({**encoded, "a_fact_of_another_day": 1})

    assert (old.checkpoint, old.replannable, old.code) == (False, False, situation.code)


def test_a_stage_that_is_no_more_is_refused() -> None:
    """Not taken for another."""
    with pytest.raises(ValueError, match="stage"):
        decode_situation({**encode_situation(Situation(None, "call", "read", True, 1, 1, "")), "stage": "elsewhere"})
