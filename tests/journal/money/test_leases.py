"""One lease per month: who gets it, who does not and is told why, and when it goes to another."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.lease.holder import Holder, holder_here, is_gone
from dagster_planexec.journal.money.lease.leases import Lease, Standing, held_now, standing, take
from dagster_planexec.journal.store import tables as t
from tests.support.leases import PERIOD, TASK, awaited, lease_of, row_of, silent_for, someone, taken

LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system tells nothing of processes")


def test_a_free_month_is_taken_and_given_back(journal: Journal) -> None:
    """Every holder's token is higher than all before it."""
    tokens = []
    for n in range(3):
        lease = lease_of(journal, someone(n))
        tokens.append(lease.token)
        assert lease.taken_from is None
        assert list(held_now(journal, TASK)) == [PERIOD]
        lease.release()

    assert tokens == [1, 2, 3]
    assert held_now(journal, TASK) == {}


def test_a_held_month_says_who_holds_it(journal: Journal) -> None:
    """Which run, what started it, where, since when, and when it was last heard of; the run that came is noted."""
    lease = lease_of(journal, someone(1, started_by="the schedule s"))
    found = taken(journal, someone(2, run_key="2026-03-01:abc"))
    row = row_of(journal)

    assert isinstance(found, Standing)
    for words in ("run run-1", "the schedule s", "host host-1", "process 101", PERIOD, row.taken_at[:10]):
        assert words in found.words
    assert (row.token, Holder.read(row.holder).run_id) == (lease.token, "run-1")
    with journal.reader.connect() as db:
        noted = db.execute(sa.select(t.stood_back)).one()
    assert (noted.token, noted.run_id, noted.run_key) == (lease.token, "run-2", "2026-03-01:abc")
    lease.release()
    assert lease.stood_back == 1


def test_other_months_and_tasks_are_free(journal: Journal) -> None:
    """A lease is of one task and one period."""
    first = lease_of(journal)
    others = [
        take(journal, task=task, period=period, holder=someone(), lasts_s=600)
        for task, period in [(TASK, "2026-04"), ("other", PERIOD)]
    ]

    assert all(isinstance(other, Lease) for other in others)
    for lease in (first, *others):
        assert isinstance(lease, Lease)
        lease.release()


def test_a_silent_holder_is_taken_over(journal: Journal) -> None:
    """Not a second before its lease is over; and it is said from whom."""
    lease = lease_of(journal, someone(1), lasts_s=600)
    silent_for(journal, 590)
    early = taken(journal, someone(2))
    silent_for(journal, 601)
    late = lease_of(journal, someone(3))

    assert isinstance(early, Standing)
    assert (late.token, late.taken_from and late.taken_from.holder.run_id) == (2, "run-1")
    lease.release()
    assert row_of(journal).state == "held"
    late.release()


def test_how_long_a_lease_lasts_its_holder_has_said(journal: Journal) -> None:
    """Whoever comes with a shorter one takes nothing over early."""
    lease = lease_of(journal, someone(1), lasts_s=600)
    silent_for(journal, 300)

    assert isinstance(taken(journal, someone(2), lasts_s=10), Standing)
    lease.release()


def test_a_holder_whose_run_has_ended_is_taken_over(journal: Journal) -> None:
    """Whoever keeps count of runs is asked about that very holder, and only while the month is held."""
    asked: list[str | None] = []

    def has_ended(holder: Holder) -> bool:
        asked.append(holder.run_id)
        return True

    first = lease_of(journal, someone(1), has_ended=has_ended)
    second = lease_of(journal, someone(2), has_ended=has_ended)
    second.release()
    third = lease_of(journal, someone(3), has_ended=has_ended)

    assert asked == ["run-1"]
    assert [first.token, second.token, third.token] == [1, 2, 3]
    third.release()


def test_a_holder_that_changes_while_it_is_asked_about_is_not_taken_over(journal: Journal) -> None:
    """What was found out about one holder says nothing about the next."""
    lease_of(journal, someone(1))
    others: list[Lease] = []

    def meanwhile(_: Holder) -> bool:
        others.append(lease_of(journal, someone(2), has_ended=lambda _: True))
        return True

    found = taken(journal, someone(3), has_ended=meanwhile)

    assert isinstance(found, Standing)
    assert (found.token, found.holder.run_id) == (others[0].token, "run-2")
    others[0].release()


HOLD = """
import sys, time
from dagster_planexec.journal.journal import Journal
from tests.support.leases import lease_of
lease = lease_of(Journal())
print("held", flush=True)
if sys.argv[1:] == ["end"]:
    sys.exit(0)
time.sleep(600)
"""


@contextmanager
def holding(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the month; it is gone after the block."""
    with subprocess.Popen([sys.executable, "-c", HOLD, *arguments], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


@LINUX
def test_a_killed_holder_is_taken_over_at_once(journal: Journal) -> None:
    """Before its parent has asked about it, when it is still in the list of processes, and after."""
    for reaped in (False, True):
        with holding() as process:
            assert isinstance(taken(journal, someone()), Standing)
            process.kill()
            if reaped:
                process.wait()
            else:
                stat = Path(f"/proc/{process.pid}/stat")
                awaited(lambda stat=stat: stat.read_text().rpartition(")")[2].split()[0] == "Z")
            lease = lease_of(journal, someone())
            assert lease.taken_from is not None
            assert lease.taken_from.holder.pid == process.pid
            lease.release()


@LINUX
def test_a_heartbeat_keeps_no_process_alive(journal: Journal) -> None:
    """A process that ends without a word ends, and its month is free."""
    with holding("end") as process:
        assert process.wait(60) == 0
    lease_of(journal).release()


@LINUX
@pytest.mark.parametrize(
    ("change", "gone"),
    [
        pytest.param({}, True, id="this host, no such process"),
        pytest.param({"host": "another"}, False, id="another host has the same number"),
        pytest.param({"space": "pid:[1]"}, False, id="a container of this host has the same number"),
        pytest.param({"boot": "another"}, True, id="the host was started again, embedded"),
        pytest.param({"boot": None}, False, id="nothing known of the machine"),
        pytest.param({"space": None}, False, id="nothing known of the numbering"),
        pytest.param({"started": None}, False, id="nothing known of the process"),
    ],
)
def test_a_process_is_gone_if_it_is_known_to_be(change: dict[str, Any], gone: bool) -> None:
    """On this very host, by its number and its start; everything else might be somebody else's."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    holder = replace(holder_here(), pid=dead.pid, **change)

    assert is_gone(holder, one_machine=True) is gone


@LINUX
def test_a_number_that_is_used_again_is_another_process() -> None:
    """This process lives; one of its number that began at another time does not."""
    me = holder_here()

    assert not is_gone(me, one_machine=True)
    assert is_gone(replace(me, started="1"), one_machine=False)
    assert not is_gone(replace(me, boot="another"), one_machine=False)


def test_a_holder_that_nobody_can_read_is_not_gone(journal: Journal) -> None:
    """Written by another version, or by hand: it is waited for as long as its lease lasts."""
    lease = lease_of(journal)
    with journal.engine.begin() as db:
        db.execute(sa.update(t.leases).values(holder="[1]"))
    found = taken(journal, someone())

    assert isinstance(found, Standing)
    assert "an unknown program" in found.words
    silent_for(journal, 601)
    assert isinstance(taken(journal, someone()), Lease)
    lease.release()


@pytest.mark.parametrize("days", [-400, 400])
def test_a_clock_that_jumps_takes_nothing_away(
    journal: Journal, backend: str, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite counts from the start of the machine; Postgres has a clock of its own, and asks no other."""
    lease = lease_of(journal, replace(someone(), boot=holder_here().boot))
    if backend == "sqlite":
        if holder_here().boot is None:
            pytest.skip("the system does not tell when it was started")
        jumped = _later(row_of(journal).beat_at, days)
        with journal.engine.begin() as db:
            db.execute(sa.update(t.leases).values(beat_at=jumped))
    else:
        real = time.monotonic
        monkeypatch.setattr("time.monotonic", lambda: real() + days * 86_400)
        monkeypatch.setattr("time.time", lambda: 0.0)
        with journal.engine.begin() as db:
            db.execute(sa.update(t.leases).values(beat_s=-days * 86_400.0))

    assert isinstance(taken(journal, someone(2)), Standing)
    monkeypatch.undo()
    lease.release()


def _later(at: str, days: int) -> str:
    """The instant so many days later."""
    return (datetime.fromisoformat(at) + timedelta(days=days)).isoformat()


@pytest.mark.parametrize(("seconds", "stale"), [(-590, False), (-601, True), (590, False), (601, True)])
def test_without_a_start_of_the_machine_the_clock_decides(journal: Journal, seconds: float, stale: bool) -> None:
    """A beat from the future is no fresher than one from as long ago: the clock was set back since."""
    lease = lease_of(journal, someone())
    silent_for(journal, seconds)
    found = standing(journal, TASK, PERIOD)

    assert found is not None
    assert found.is_stale is stale
    lease.release()


def _ask(environ: dict[str, str], n: int, barrier: Any, answers: Any, done: Any) -> None:
    os.environ.update(environ)
    journal = Journal()
    barrier.wait(60)
    found = taken(journal, holder_here(run_id=f"run-{n}"))
    answers.put(
        (n, isinstance(found, Lease), found.token, found.holder.run_id if isinstance(found, Standing) else None)
    )
    done.wait(60)
    if isinstance(found, Lease):
        found.release()
    journal.close()


def test_one_of_eight_processes_gets_it(journal: Journal) -> None:
    """All ask at the same instant; the rest name the one that has it."""
    context = multiprocessing.get_context("spawn")
    barrier, answers, done = context.Barrier(8), context.Queue(), context.Event()
    environ = {name: value for name, value in os.environ.items() if name.startswith("PLANEXEC_")}
    processes = [context.Process(target=_ask, args=(environ, n, barrier, answers, done), daemon=True) for n in range(8)]
    for process in processes:
        process.start()
    found = [answers.get(timeout=120) for _ in processes]
    done.set()
    for process in processes:
        process.join(60)

    winners = [n for n, won, _, _ in found if won]
    assert len(winners) == 1
    assert {token for _, _, token, _ in found} == {1}
    assert {who for _, won, _, who in found if not won} == {f"run-{winners[0]}"}


@LINUX
def test_a_stopped_holder_is_alive_until_its_lease_is_over(journal: Journal) -> None:
    """SIGSTOP is not death: whoever comes waits for as long as the lease lasts."""
    with holding() as process:
        os.kill(process.pid, signal.SIGSTOP)
        early = taken(journal, someone())
        silent_for(journal, 601)
        late = lease_of(journal, someone())

    assert isinstance(early, Standing)
    assert late.token == 2
    late.release()


def test_a_journal_of_an_older_version_holds_nothing(journal: Journal) -> None:
    """Looking at it asks for no table that it lacks."""
    lease = lease_of(journal)
    journal.version = 4

    assert held_now(journal, TASK) == {}
    lease.release()
