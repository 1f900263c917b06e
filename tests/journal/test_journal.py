"""The journal: plans verified by digest, one attempt per admitted inputs, append-only events, one hold per month."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.journal import Attempt, Journal, NewEvent
from dagster_planexec.journal.money.approvals.holds import hold, open_hold
from dagster_planexec.journal.store import tables as schema
from dagster_planexec.plan.digest import full_digest, semantic_digest
from dagster_planexec.plan.model import Plan, parse_plan

PLAN = parse_plan(
    '{"task": "t", "period": "2026-03", "intent": "x", "steps": [{"id": "a", "tool": "s3.get", "args": {"key": "k"}}]}'
)


def _open(journal: Journal, inputs: str = "i", *, version: str = "1", anew: bool = False) -> tuple[Attempt, bool]:
    return journal.open_attempt(
        task="t", version=version, period="2026-03", inputs_digest=inputs, admission={"objects": []}, anew=anew
    )


def test_a_plan_comes_back_as_it_was_stored(journal: Journal) -> None:
    """Saved under its digest, loaded by it, equal."""
    assert journal.load_plan(journal.save_plan(PLAN)) == PLAN


def test_a_plan_altered_in_the_store_is_refused_by_its_digest(journal: Journal) -> None:
    """One byte changed on disk and the plan does not load; the refusal names both digests."""
    digest = journal.save_plan(PLAN)
    with journal.engine.begin() as db:
        body = db.execute(sa.select(schema.plans.c.body)).scalar_one()
        db.execute(sa.update(schema.plans).values(body=body.replace(b'"k"', b'"K"')))

    with pytest.raises(PlanexecError, match=f"the stored plan {digest[:12]} was altered") as refused:
        journal.load_plan(digest)

    assert refused.value.code == "PLAN_REJECTED"


def test_bytes_that_are_no_plan_any_more_are_refused(journal: Journal) -> None:
    """Garbage in the store is an altered plan, not a crash."""
    digest = journal.save_plan(PLAN)
    with journal.engine.begin() as db:
        db.execute(sa.update(schema.plans).values(body=b"\x00{"))

    with pytest.raises(PlanexecError, match="was altered"):
        journal.load_plan(digest)


def test_words_change_the_full_digest_only() -> None:
    """Intent and rationale are not what a plan does; arguments are."""
    other_words = PLAN.model_copy(update={"intent": "y"})
    other_args: Plan = PLAN.model_copy(update={"steps": (PLAN.steps[0].model_copy(update={"args": {"key": "l"}}),)})

    assert full_digest(other_words) != full_digest(PLAN)
    assert semantic_digest(other_words) == semantic_digest(PLAN)
    assert semantic_digest(other_args) != semantic_digest(PLAN)


def test_the_same_inputs_continue_the_attempt(journal: Journal) -> None:
    """A new run without news opens nothing."""
    first, opened = _open(journal)
    again, opened_again = _open(journal)

    assert (opened, opened_again) == (True, False)
    assert again.id == first.id


@pytest.mark.parametrize(
    ("inputs", "version", "anew"),
    [("other", "1", False), ("i", "2", False), ("i", "1", True)],
    ids=["new inputs", "new task version", "replan"],
)
def test_news_open_another_attempt_that_supersedes(journal: Journal, inputs: str, version: str, *, anew: bool) -> None:
    """New inputs, a new task version or replan open another attempt; the older one says so."""
    first, _ = _open(journal)
    second, opened = _open(journal, inputs, version=version, anew=anew)

    assert opened
    assert second.id != first.id
    assert journal.attempt(first.id).status == "superseded"
    assert journal.newest_attempt("t", "2026-03") == second


def test_eight_runs_that_open_a_month_at_once_agree_on_one_attempt(place: None) -> None:
    """Whoever comes second continues what the first opened."""
    barrier = threading.Barrier(8, timeout=60)

    def run(_: int) -> str:
        mine = Journal()
        barrier.wait()
        try:
            return _open(mine)[0].id
        finally:
            mine.close()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(run, range(8)))) == 1


def test_a_new_journal_opened_by_eight_at_the_same_instant_opens_for_all(
    backend: str, fresh: Callable[[], None]
) -> None:
    """SQLite refuses, at once, the second who turns a new file into WAL: twenty new files, eight openers each."""
    barrier = threading.Barrier(8, timeout=60)

    def run(_: int) -> str:
        barrier.wait()
        mine = Journal()
        try:
            return _open(mine)[0].task
        finally:
            mine.close()

    with ThreadPoolExecutor(8) as pool:
        for _ in range(20 if backend == "sqlite" else 5):
            fresh()
            assert list(pool.map(run, range(8))) == ["t"] * 8


def test_events_keep_their_order_and_are_told_to_listeners_after_they_are_written(
    place: None,
) -> None:
    """A listener that looks finds the event it is told about."""
    told: list[tuple[str, str | None, int]] = []
    reader = Journal()
    attempt, _ = _open(reader)
    writer = Journal(listeners=[lambda kind, step: told.append((kind, step, len(reader.events(attempt.id))))])

    writer.append(attempt.id, "run", [NewEvent("step-started", "a"), NewEvent("step-done", "a")])

    assert told == [("step-started", "a", 3), ("step-done", "a", 3)]
    assert [e.kind for e in reader.events(attempt.id, run_id="run")] == ["step-started", "step-done"]
    reader.close()
    writer.close()


def test_the_same_question_is_the_same_hold_and_another_one_supersedes_it(journal: Journal) -> None:
    """At most one open hold per month."""
    attempt, _ = _open(journal)
    ask = {"attempt_id": attempt.id, "task": "t", "period": "2026-03", "step": "pay", "code": "CAP_EXCEEDED"}
    first = open_hold(journal, **ask, plan_digest="d", facts={"count": 60})
    again = open_hold(journal, **ask, plan_digest="d", facts={"count": 60})
    other = open_hold(journal, **ask, plan_digest="d", facts={"count": 61})

    assert again.id == first.id
    assert other.id != first.id
    states = [found.state for found in (hold(journal, first.id), hold(journal, other.id)) if found]
    assert states == ["superseded", "open"]


@pytest.mark.parametrize(("adopted", "state"), [("d", "open"), ("e", "superseded")], ids=["the same", "another"])
def test_another_plan_carries_no_question_over(journal: Journal, adopted: str, state: str) -> None:
    """What waits for a person waits under the plan that was shown; a revision asks anew, or has nothing to ask."""
    attempt, _ = _open(journal)
    asked = open_hold(journal, attempt_id=attempt.id, task="t", period="2026-03", step="pay", code="CAP_EXCEEDED",
                      plan_digest="d", facts={"count": 60})  # fmt: skip
    journal.adopt_plan(attempt.id, adopted, {})
    found = hold(journal, asked.id)

    assert found is not None
    assert found.state == state


def test_eight_questions_at_once_leave_one_open_hold(place: None) -> None:
    """Whoever asks last is asked about; no two are open at any time, for the database refuses a second one."""
    first = Journal()
    attempt, _ = _open(first)
    barrier = threading.Barrier(8, timeout=60)

    def run(n: int) -> str:
        mine = Journal()
        barrier.wait()
        try:
            return open_hold(mine, attempt_id=attempt.id, task="t", period="2026-03", step="pay", code="CAP_EXCEEDED",
                             plan_digest="d", facts={"count": n}).id  # fmt: skip
        finally:
            mine.close()

    with ThreadPoolExecutor(8) as pool:
        asked = set(pool.map(run, range(8)))
    states = sorted(found.state for found in (hold(first, name) for name in asked) if found)
    with pytest.raises(sa.exc.IntegrityError), first.engine.begin() as db:
        db.execute(sa.update(schema.holds).values(state="open"))
    first.close()

    assert states == ["open"] + ["superseded"] * 7


def test_eight_writers_of_one_attempt_lose_nothing_and_keep_their_order(place: None) -> None:
    """A reader that looks meanwhile never finds an event behind one that it has seen: numbers come in their order."""
    first = Journal()
    attempt, _ = _open(first)
    barrier = threading.Barrier(9, timeout=60)
    seen: list[int] = []

    def write(n: int) -> None:
        mine = Journal()
        barrier.wait()
        for m in range(20):
            mine.append(attempt.id, f"r{n}", [NewEvent("x", str(m))])
        mine.close()

    def read() -> None:
        barrier.wait()
        while len(seen) < 161:
            new = [e.seq for e in first.events(attempt.id) if e.seq not in seen]
            assert not seen or not new or min(new) > max(seen)
            seen.extend(new)

    with ThreadPoolExecutor(9) as pool:
        done = [pool.submit(read), *(pool.submit(write, n) for n in range(8))]
        for one in done:
            one.result(timeout=60)
    events = first.events(attempt.id, kinds=["x"])
    first.close()

    assert len(events) == 160
    assert all([e.step for e in events if e.run_id == f"r{n}"] == [str(m) for m in range(20)] for n in range(8))


@pytest.mark.parametrize(("status", "state"), [("settled", "settled"), ("held", "open"), ("stopped", "open")])
def test_hold_is_settled_with_its_attempt(journal: Journal, status: str, state: str) -> None:
    """Once its credits are issued nobody is asked any more: an open hold could be paid again by hand."""
    attempt, _ = _open(journal)
    ask = {"attempt_id": attempt.id, "task": "t", "period": "2026-03", "step": "issue_credit", "code": "CAP_EXCEEDED"}
    held = open_hold(journal, **ask, plan_digest="d", facts={"count": 60})

    journal.close_run(attempt.id, "run", status, None)

    found = hold(journal, held.id)
    assert found is not None
    assert found.state == state


def test_a_journal_that_nothing_names_says_which_variable_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only names travel; the place comes from the environment."""
    for variable in ("PLANEXEC_HOME", "DAGSTER_HOME"):
        monkeypatch.delenv(variable, raising=False)

    with pytest.raises(PlanexecError) as missing:
        Journal()
    with pytest.raises(PlanexecError) as named:
        Journal("billing")

    assert missing.value.code == "HOME_UNWRITABLE"
    assert "PLANEXEC_JOURNAL_BILLING" in named.value.hint


def test_a_home_that_is_a_file_is_unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a stack trace but a code and what to do."""
    (tmp_path / "home").write_text("")
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path / "home"))

    with pytest.raises(PlanexecError) as refused:
        Journal()

    assert refused.value.code == "HOME_UNWRITABLE"


def test_opening_and_closing_journals_disturbs_nobody(place: None) -> None:
    """Many processes open, write and close one journal at once; none meets an error, no event is lost."""
    first = Journal()
    attempt, _ = _open(first)
    first.close()
    script = (
        "import sys\n"
        "from dagster_planexec.journal.journal import Journal, NewEvent\n"
        "for n in range(15):\n"
        "    a, b = Journal(), Journal()\n"
        "    a.append(sys.argv[1], None, [NewEvent('x', str(n))])\n"
        "    a.close()\n"
        "    b.append(sys.argv[1], None, [NewEvent('x', str(n))])\n"
        "    b.close()\n"
    )

    running = [subprocess.Popen([sys.executable, "-c", script, attempt.id], stderr=subprocess.PIPE) for _ in range(4)]
    errors = [process.communicate()[1].decode() for process in running]

    reader = Journal()
    assert errors == [""] * 4
    assert len(reader.events(attempt.id, kinds=["x"])) == 4 * 15 * 2
    reader.close()
