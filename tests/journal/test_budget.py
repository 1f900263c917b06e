"""What an attempt has spent: read from its events, so that nothing can spend it unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_planexec.journal.attempts.budget import Left, Spent, left, left_of, spent
from dagster_planexec.journal.journal import Journal, NewEvent
from tests.support.bench import TASK

LIMITS = TASK.limits


@pytest.fixture
def journal(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    journal = Journal()
    yield journal
    journal.close()


def attempt(journal, inputs="a"):
    """An open attempt."""
    found, _ = journal.open_attempt(task="toy", version="1", period="2026-03", inputs_digest=inputs, admission={})
    return found.id


def decision(strategy, **more):
    return NewEvent("decided", "s", {"decision": "retry", "strategy": strategy, **more})


def asked(kind="proposed", **usage):
    return NewEvent(kind, None, {"usage": {"model": "m", "calls": 1, "tokens_in": 0, "tokens_out": 0, **usage}})


def test_everything_is_counted_over_all_runs(journal):
    """Two runs of one attempt spend from one purse."""
    a = attempt(journal)
    journal.append(a, None, [asked(tokens_in=100, tokens_out=20), NewEvent("replanned", "s", {"revision": 2})])
    journal.append(a, "r1", [decision("retry"), decision("use-fallback"), decision("skip")])
    journal.append(a, "r2", [decision("retry-after"), asked("chosen", tokens_out=3), decision("stop")])

    assert spent(journal, a) == Spent(retries=3, replans=1, model_calls=2, tokens=123)


def test_another_attempt_has_a_purse_of_its_own(journal):
    """New inputs, new budget; the old one's is not given back."""
    a = attempt(journal)
    journal.append(a, "r", [decision("retry")] * 3)
    b = attempt(journal, "b")

    assert (spent(journal, a).retries, spent(journal, b)) == (3, Spent())


def test_decisions_of_older_journals_count_by_their_own_word(journal):
    """Before strategies were named there was only one that repeats."""
    a = attempt(journal)
    journal.append(a, "r", [NewEvent("decided", "s", {"decision": word}) for word in ("retry", "proceed", "stop")])

    assert spent(journal, a).retries == 1


def test_proposals_without_a_model_cost_nothing(journal):
    """Recorded and pinned planners say so by saying nothing."""
    a = attempt(journal)
    journal.append(a, None, [NewEvent("proposed", None, {"usage": None}), NewEvent("proposed", None, {})])

    assert spent(journal, a) == Spent()


@pytest.mark.parametrize("said", [-5, True, "many", 1.5, None, [3]])
def test_what_a_server_says_of_its_tokens_gives_nothing_back(journal, said):
    """A negative or foreign number counts as none."""
    a = attempt(journal)
    journal.append(a, None, [asked(tokens_in=10), asked(tokens_in=said)])

    assert spent(journal, a) == Spent(model_calls=2, tokens=10)


def test_what_is_left_is_what_the_task_allows_less_what_is_spent(journal):
    """And never below nothing, should the task's limits have been lowered since."""
    a = attempt(journal)
    journal.append(a, "r", [decision("retry")] * 3)
    limits = replace(LIMITS, max_retries=2, max_model_calls=4, max_tokens=0)
    now = left_of(journal, a, limits)

    assert now == Left(retries=0, replans=2, model_calls=4, tokens=0)
    assert now.used_up == ("max_retries", "max_tokens")
    assert now.model_may_be_called is False


@given(st.builds(Spent, *[st.integers(0, 10**6)] * 4))
def test_left_and_spent_never_exceed_the_limits_together(used):
    """Of every budget."""
    now = left(LIMITS, used)

    assert min(now.retries, now.replans, now.model_calls, now.tokens) >= 0
    assert now.retries + min(used.retries, LIMITS.max_retries) == LIMITS.max_retries
    assert now.tokens + min(used.tokens, LIMITS.max_tokens) == LIMITS.max_tokens
    assert now.model_may_be_called == (now.model_calls > 0 and now.tokens > 0)
