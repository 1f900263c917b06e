"""What an effect rests on, in named parts, each read from the world whenever it is asked for.

A part is what the world says, never what a row of the journal says of it: lines are fetched again, copies hashed again
from their bytes, tables and reports sealed again, live rows fingerprinted again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.contract.layout import credit_shape, currency_of, live_view
from dagster_planexec.errors import PortError
from dagster_planexec.execute.judging import seal_probe
from dagster_planexec.execute.observer import look
from dagster_planexec.execute.resolve import Resolved, scope_again
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.encoding import encode
from dagster_planexec.journal.results import DoneStep, done_in_run
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.plan.model import Step
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import CreditLine
from dagster_planexec.world.probes.delivery.landed import HashLanded
from dagster_planexec.world.probes.result.credits import digest_of_lines, fetch_credit_lines
from dagster_planexec.world.probes.table.evidence import FingerprintOfView

ABSENT = "absent"
LINES = "credit lines"
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that the effect rests on."""

    name: str
    digest: str
    """SHA-256, or `absent`."""
    says: str
    """For people: a count, a size, a table."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that the effect rests on, as it is now."""

    parts: tuple[Part, ...]
    lines: tuple[CreditLine, ...] = ()
    """The credit lines themselves, sorted by key."""

    @property
    def by_name(self) -> dict[str, str]:
        """Part to digest."""
        return {part.name: part.digest for part in self.parts}

    @property
    def digest(self) -> str:
        """SHA-256 over all named parts."""
        return digest_of(self.by_name)

    @property
    def amount(self) -> Decimal:
        """The sum of the lines."""
        return sum((line.amount for line in self.lines), Decimal(0))


def read_evidence(run: Run, step: Step, resolved: Resolved) -> Evidence:
    """Read it all again.

    Raises:
        PortError: Something cannot be read now, or holds what cannot be credited.
    """
    with run.work.ports.warehouse.together():
        lines = lines_of(run, resolved)
        parts = [*_lines(run, lines), *_landed(run), *_done(run, step), *_live(run)]
    return Evidence(tuple(parts), tuple(lines or ()))


def lines_of(run: Run, resolved: Resolved) -> list[CreditLine] | None:
    """The credit lines of the result that the arguments name; None for a task that credits none. Raises as above."""
    made, source = run.work.task.irreversible, getattr(resolved.args, "source", None)
    if made is None or made.credit_rule is None or not isinstance(source, str):
        return None
    with run.work.ports.warehouse.session() as session:
        return fetch_credit_lines(session, source, credit_shape(run.work.task))


def digest_of_credits(run: Run, lines: Sequence[CreditLine]) -> str:
    """SHA-256 of sorted canonical credit lines."""
    return digest_of_lines(((line.key, line.amount) for line in lines), credit_shape(run.work.task).scale)


def _lines(run: Run, lines: Sequence[CreditLine] | None) -> Iterator[Part]:
    if lines is None:
        return
    amount = sum((line.amount for line in lines), Decimal(0))
    said = f"{len(lines):,} lines, {amount:,} {currency_of(run.work.task)}"
    yield Part(LINES, digest_of_credits(run, lines), said)


def _landed(run: Run) -> Iterator[Part]:
    """Every copy of what was admitted, manifests too, under the key it was delivered as."""
    for admitted in (*run.admission.objects, *run.admission.manifests):
        name = one_line(f"landed copy of {admitted.facts.bucket}/{admitted.facts.key}", _LONGEST_NAME)
        path = run.work.ports.roots.landed_path(admitted.sha256)
        seen = _looked(look(HashLanded(path, admitted.sha256), run.work.ports))
        if seen is None:
            yield Part(name, ABSENT, "the copy is not there")
        else:
            yield Part(name, str(seen["sha256"]), f"{seen['size']:,} bytes")


def _done(run: Run, step: Step) -> Iterator[Part]:
    """What every other done step of the run has left, sealed again."""
    hashed = {admitted.sha256 for admitted in run.admission.objects}
    for other in run.plan.steps:
        done = done_in_run(run.work.journal, run.attempt, run.run_id, other.id) if other.id != step.id else None
        if done is None or done.result.get("landed") in hashed:
            continue
        seen = _looked(look(seal_probe(run, scope_again(run, done)), run.work.ports))
        name = one_line(f"result of step {other.id} ({done.tool})", _LONGEST_NAME)
        if seen is None:
            yield Part(name, ABSENT, "it is not there")
        else:
            yield Part(name, digest_of(encode(seen.facts)), one_line(_said_of(done, seen), _LONGEST_NAME))


def _said_of(done: DoneStep, seen: Observation) -> str:
    made = done.result.get("table") or done.result.get("name") or done.tool
    rows = seen.facts.get("rows")
    return f"{made}, {rows:,} rows" if isinstance(rows, int) else str(made)


def _live(run: Run) -> Iterator[Part]:
    """The rows in scope of every side that is a live table."""
    for side in run.work.task.sides:
        view = live_view(run.work.task, run.period, side.name)
        if view is None:
            continue
        seen = _looked(look(FingerprintOfView(view), run.work.ports))
        name = f"live rows of side {side.name}"
        if seen is None:
            yield Part(name, ABSENT, f"there is no table {view.table}")
        else:
            yield Part(name, digest_of(str(seen["fingerprint"])), f"{view.table}, {seen['rows']:,} rows in scope")


def _looked(seen: Observation) -> Observation | None:
    """What was seen; None of what is not there.

    Raises:
        PortError: It could not be looked at. That is no evidence of anything.
    """
    if seen.state == "errored":
        raise PortError(seen.code or "INTERNAL", seen.message, retry_after_s=seen.retry_after_s)
    return seen if seen.state == "seen" else None
