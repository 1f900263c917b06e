"""From the drop to the credits: the sensor's request is run as it is, and a corrected delivery is another attempt."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg
import pytest
import sqlalchemy as sa

from assets.demo import saturday
from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import task_schedule
from dagster_planexec.journal.journal import Attempt, Journal
from dagster_planexec.journal.store import tables as schema
from tests.support.drops import SetClock, Watch, instance_in, with_ports
from tests.support.flagship import SMALL, world_of

pytestmark = pytest.mark.xdist_group("flagship-arrivals")
"""Groups share a worker: the world is seeded once."""
FEBRUARY = f"vendor/exports/{SMALL}-invoice.csv"
PARTITION = f"{SMALL}-01"


@dataclass
class Story:
    """A world, a sensor, and what became of it."""

    world: DemoWorld
    watch: Watch
    runs: list[dg.DagsterRun] = field(default_factory=list)

    def look(self) -> list[dg.RunRequest]:
        """A tick in which what came has settled."""
        self.watch.tick(started=False)
        self.watch.clock.forward(1000)
        return list(self.watch.tick(started=False).run_requests or [])

    def run(self, request: dg.RunRequest | None = None) -> dg.DagsterRun:
        """Run what was asked for, as the daemon would launch it; without a request, as a person does."""
        tags = {} if request is None else {**request.tags, "dagster/run_key": request.run_key or ""}
        result = self.watch.job.execute_in_process(
            instance=self.watch.instance, partition_key=PARTITION, tags=tags, raise_on_error=False
        )
        run = self.watch.instance.get_run_by_id(result.run_id)
        assert run is not None
        self.runs.append(run)
        return run

    def deliver(self, content: bytes, name: str = FEBRUARY) -> None:
        """The vendor uploads; every upload in a second of its own, as the store's clock has whole seconds."""
        time.sleep(1.05)
        self.world.put(name, content)

    @property
    def attempts(self) -> list[Attempt]:
        """Every attempt of the month, in order."""
        journal = Journal()
        with journal.reader.connect() as db:
            ids = db.execute(sa.select(schema.attempts.c.id).order_by(schema.attempts.c.opened_seq)).scalars().all()
        found = [journal.attempt(attempt) for attempt in ids]
        journal.close()
        return found

    @property
    def credits(self) -> dict[str, object]:
        """What the credit system holds for the month."""
        ports = self.watch.binding.resources.ports()
        return dict(ports.credits.issued("vendor-invoice-credits", SMALL))


@pytest.fixture
def story(tmp_path, seeded, endpoint):
    """February alone has been delivered."""
    clock = SetClock(ahead_s=3600)
    with world_of(seeded, tmp_path / "home", endpoint) as world, instance_in(tmp_path / "dagster") as instance:
        for key in world.data.exports():
            if key != FEBRUARY:
                world.remove(key)
        yield Story(world, Watch(with_ports(VENDOR_RECONCILIATION, clock=clock), instance, clock))


def corrected(world: DemoWorld) -> bytes:
    """The month's file with a cent more on a line that both sides agreed on."""
    known = {difference.charge_id for difference in world.pair.truth.differences}
    first = next(n for n, line in enumerate(world.pair.vendor) if line.charge_id not in known)
    lines = [line._replace(cents=line.cents + 1) if n == first else line for n, line in enumerate(world.pair.vendor)]
    return saturday.export_csv(lines)


def test_corrected_delivery_is_another_attempt_and_its_return_a_third(story):
    """A, B, A: three requests, three run keys, three attempts of which each supersedes the one before; credits once."""
    original = story.world.read(FEBRUARY)
    keys, issued = [], []
    for content in (None, corrected(story.world), original):
        if content is not None:
            story.deliver(content)
        (request,) = story.look()
        keys.append(request.run_key)
        assert story.run(request).status is dg.DagsterRunStatus.SUCCESS
        issued.append(story.credits)

    assert len(set(keys)) == 3
    a, b, a_again = story.attempts
    assert [a.status, b.status, a_again.status] == ["superseded", "superseded", "settled"]
    assert a.inputs_digest == a_again.inputs_digest != b.inputs_digest
    assert issued[0]
    assert issued[0] == issued[1] == issued[2]
    assert story.look() == []


def credited_otherwise(world: DemoWorld) -> bytes:
    """The month's file with a cent less on a line that was credited: now a cent more would be due."""
    due = next(d.charge_id for d in world.pair.truth.differences if d.credit_cents > 0 and d.vendor_cents)
    vendor = world.pair.vendor
    return saturday.export_csv([n._replace(cents=n.cents - 1) if n.charge_id == due else n for n in vendor])


def test_correction_of_a_line_that_was_credited_issues_nothing_by_itself(story):
    """B says another amount for a credited line: the month stops for a person. A again: settled, and no credit more."""
    original = story.world.read(FEBRUARY)
    (first,) = story.look()
    story.run(first)
    issued = story.credits
    story.deliver(credited_otherwise(story.world))
    (second,) = story.look()
    run = story.run(second)
    b = story.attempts[-1]
    between = story.credits
    story.deliver(original)
    (third,) = story.look()
    story.run(third)

    assert (b.status, b.code, run.status.value) == ("held", "EFFECT_DIFFERS", "SUCCESS")
    assert issued == between == story.credits
    assert [attempt.status for attempt in story.attempts] == ["superseded", "superseded", "settled"]


def test_additional_key_is_another_attempt(story):
    """A second part beside the first: the month is run on both, and the plan that reads one of them stops there."""
    (first,) = story.look()
    story.run(first)
    story.deliver(saturday.export_csv(story.world.pair.vendor[:40]), f"vendor/exports/{SMALL}-invoice-part2.csv")
    (second,) = story.look()
    run = story.run(second)

    assert second.tags["planexec/objects"] == "2"
    assert run.status is dg.DagsterRunStatus.FAILURE
    assert [len(attempt.admission["objects"]) for attempt in story.attempts] == [1, 2]
    assert story.look() == []


def test_delivery_that_a_person_ran_already_is_run_once_more_and_changes_nothing(story):
    """The sensor asks for every settled set. The run continues the attempt: no other plan, no credit twice, green."""
    story.run()
    before = story.credits
    (request,) = story.look()
    run = story.run(request)

    assert run.status is dg.DagsterRunStatus.SUCCESS
    (attempt,) = story.attempts
    assert (attempt.status, attempt.revision) == ("settled", 1)
    assert before
    assert story.credits == before
    assert story.look() == []


def test_run_names_its_set_and_its_attempt_shows_the_objects(story):
    """From the run to the objects: the tag names the request, the attempt's admission what was read of it."""
    (request,) = story.look()
    run = story.run(request)
    (attempt,) = story.attempts
    (seen,) = story.watch.seen(SMALL)

    assert run.tags["planexec/delivery"] == request.run_key.partition(":")[2]
    assert run.tags["planexec/attempt"] == attempt.id
    assert seen.requested == run.tags["dagster/run_key"]
    assert [o["key"] for o in attempt.admission["objects"]] == [seen.key]


def test_failed_run_is_not_started_again_by_the_same_set(story):
    """A header and no lines: the run fails, and comes again only when the vendor delivers again."""
    story.deliver(saturday.export_csv(()))
    (request,) = story.look()
    assert story.run(request).status is dg.DagsterRunStatus.FAILURE
    assert [story.look(), story.look()] == [[], []]
    story.deliver(saturday.export_csv(story.world.pair.vendor))
    (again,) = story.look()

    assert story.run(again).status is dg.DagsterRunStatus.SUCCESS
    assert [attempt.status for attempt in story.attempts] == ["superseded", "settled"]


def test_schedule_after_the_arrival_continues_the_attempt_and_is_green(story):
    """The month is settled when its schedule comes: nothing is done or credited again."""
    (request,) = story.look()
    story.run(request)
    before = story.credits
    with dg.build_schedule_context(
        instance=story.watch.instance,
        scheduled_execution_time=datetime(2026, 3, 10, 6, tzinfo=UTC),
        repository_def=story.watch.definitions.get_repository_def(),
    ) as context:
        (scheduled,) = task_schedule(story.watch.binding.task).evaluate_tick(context).run_requests
    run = story.run(scheduled)

    assert scheduled.tags["dagster/partition"] == PARTITION
    assert run.status is dg.DagsterRunStatus.SUCCESS
    assert [attempt.status for attempt in story.attempts] == ["settled"]
    assert story.credits == before
