"""Looking again at everything a period relies on. Runs nothing, and writes nothing to the world.

The journal says what was admitted, sealed and reported; what is there now is always asked of the world, by the same
probes that admitted and sealed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from dagster_planexec.contract.layout import credit_shape, effect_scope, live_view
from dagster_planexec.contract.tool import Admission
from dagster_planexec.contract.verdict import Side
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import hash_sql, reads_sql
from dagster_planexec.execute.judging import still_sealed
from dagster_planexec.execute.observer import look
from dagster_planexec.execute.reobserve.drop import drop_again
from dagster_planexec.execute.reobserve.sighting import About, Reobserved, Sighting, Word, compared, not_seen
from dagster_planexec.execute.work import Run, Work
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.encoding import encode
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.results import DoneStep, tools_done
from dagster_planexec.journal.run_report import newest_report
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.result.credits import CreditsIssued
from dagster_planexec.world.probes.table.evidence import FingerprintOfView
from dagster_planexec.world.subject import Subject, file

NOTHING_ADMITTED = Admission((), {}, {})


def reobserve(work: Work, period: Period) -> Reobserved:
    """Everything that the newest attempt of a period relies on, as it is now, in the order of the work."""
    # Ports that cannot change anything, where a port knows how to be one.
    work = replace(work, ports=work.ports.looking())
    attempt = work.journal.newest_attempt(work.task.name, period.text)
    admission = decode_admission(attempt.admission) if attempt else NOTHING_ADMITTED
    at = work.ports.clock.now()
    with work.ports.warehouse.together():
        found = [
            *drop_again(work, period, admission, relied_on=attempt is not None),
            *_tables(work, period, admission, relied_on=attempt is not None),
            *(_sql(work, admission, relied_on=attempt is not None) if reads_sql(work) else ()),
            *_watched(work, period, admission, relied_on=attempt is not None),
            *(_results(work, period, attempt, admission) if attempt else ()),
            *_credits(work, period),
        ]
    return Reobserved(work.task.name, period.key, attempt.id if attempt else None, at, tuple(found))


def _tables(work: Work, period: Period, admission: Admission, *, relied_on: bool) -> Iterator[Sighting]:
    """The live tables, in scope of the period."""
    for named in work.task.inputs:
        view = live_view(work.task, period, named.name)
        if view is None:
            continue
        source = Source(Subject("admission", view.table), "SQL fingerprint at admission", admission.at)
        was = admission.tables.get(named.name, "absent")
        expected = Side("nothing" if was == "absent" else was, source)
        seen = look(FingerprintOfView(view), work.ports)
        if seen.state == "errored":
            yield not_seen("table", expected, seen)
        elif not relied_on:
            yield _unasked("table", expected, Side(seen.facts.get("fingerprint", "nothing"), seen.source))
        elif seen.state == "absent":
            gone = was != "absent"
            yield Sighting(
                "table", expected, Side("nothing", seen.source), "gone" if gone else "unchanged", stands=not gone,
                means="the live table is gone; the snapshot that was judged is looked at below"
                if gone else "there was none at admission either",
                code="TABLE_GONE" if gone else None,
            )  # fmt: skip
        else:
            same = seen["fingerprint"] == was
            yield Sighting(
                "table", expected, Side(seen["fingerprint"], seen.source), "unchanged" if same else "changed",
                stands=same, code=None if same else "APPROVAL_STALE",
                means="the rows in scope are those that were admitted"
                if same else "rows in scope were changed since admission; the next run opens another attempt",
            )  # fmt: skip


def _sql(work: Work, admission: Admission, *, relied_on: bool) -> Iterator[Sighting]:
    """The SQL files, byte for byte."""
    now = work.ports.clock.now()
    try:
        found = hash_sql(work.ports.roots.sql)
    except (PlanexecError, OSError) as error:
        source = Source(file("*.sql"), "SHA-256 of the file", now)
        expected = Side(
            f"{len(admission.sql_sha256)} files", Source(Subject("admission", "*.sql"), "list", admission.at)
        )
        yield not_seen("sql", expected, Observation(source, "errored", {}, "BAD_CONTRACT", str(error)[:300]))
        return
    for name in sorted({*admission.sql_sha256, *found}):
        was, now_is = admission.sql_sha256.get(name), found.get(name)
        expected = Side(
            f"sha256 {was}" if was else "nothing",
            Source(Subject("admission", name), "SHA-256 at admission", admission.at),
        )
        seen = Side(f"sha256 {now_is}" if now_is else "nothing", Source(file(name), "SHA-256 of the file", now))
        if not relied_on:
            yield _unasked("sql", expected, seen)
        elif was == now_is:
            yield Sighting(
                "sql", expected, seen, "unchanged", stands=True, means="the file is the one that was admitted"
            )
        else:
            word: Word = "new" if was is None else ("gone" if now_is is None else "changed")
            yield Sighting(
                "sql", expected, seen, word, stands=False, code="VALIDATION_ERROR",
                means=f"the file is {word} since admission; the next run opens another attempt",
            )  # fmt: skip


def _watched(work: Work, period: Period, admission: Admission, *, relied_on: bool) -> Iterator[Sighting]:
    """Everything the task watches: the same facts, or what became of them."""
    for watch in work.task.watches:
        probe = watch.probe(work.task, period, work.ports.roots)
        was = admission.watched.get(watch.name)
        source = Source(Subject("admission", probe.subject.name), f"{probe.reader} at admission", admission.at)
        seen = look(probe, work.ports)
        expected, now = Side(_told(was), source), Side(_told(seen.facts or None), seen.source)
        if seen.state == "errored":
            yield not_seen("watched", expected, seen)
        elif not relied_on:
            yield _unasked("watched", expected, now)
        else:
            same = (encode(was) if was is not None else None) == (encode(seen.facts) if seen.state == "seen" else None)
            word: Word = "unchanged" if same else ("gone" if seen.state == "absent" else "changed" if was else "new")
            yield Sighting(
                "watched", expected, now, word, stands=same,
                code=None if same else watch.gone if word == "gone" else watch.changed,
                means=f"{watch.name}: as admitted" if same
                else f"{watch.name}: {word} since admission; the next run opens another attempt",
            )  # fmt: skip


def _told(facts: Mapping[str, Any] | None) -> str:
    """Facts in one word: counts, and a digest of everything."""
    if facts is None:
        return "nothing"
    counts = [f"{name} {value}" for name, value in facts.items() if isinstance(value, int)]
    return ", ".join([*counts, f"digest {digest_of(encode(dict(facts)))[:12]}"])


def _results(work: Work, period: Period, attempt: Attempt, admission: Admission) -> Iterator[Sighting]:
    """What the steps of the attempt left, against the seals that were taken when it was judged."""
    newest = {done.step: done for done in tools_done(work.journal, attempt.id)}
    if not newest or attempt.plan_digest is None:
        return
    try:
        plan = work.journal.load_plan(attempt.plan_digest)
    except PlanexecError as error:
        source = Source(Subject("journal", attempt.plan_digest[:12]), "bytes of the plan", work.ports.clock.now())
        altered = Observation(source, "errored", {}, error.code, error.message)
        yield not_seen("result", Side("the plan as it was stored", source), altered)
        return
    run = Run(work, attempt.id, plan, attempt.plan_digest, period, admission, "observe")
    for step in plan.steps:
        done = newest.get(step.id)
        if done is not None and done.tool in work.tools and work.tools[done.tool].contract.effect != "irreversible":
            yield _result(run, done)


def _result(run: Run, done: DoneStep) -> Sighting:
    about: About = "landed" if done.seal.source.subject.system == "landing" else "result"
    try:
        verdict = still_sealed(run, done)
    except Exception as error:  # noqa: BLE001 - a tool whose models have changed since cannot read its own result
        said = f"step {done.step} cannot be looked at again: {type(error).__name__}: {str(error)[:200]}"
        seen = Observation(Source(done.seal.source.subject, done.seal.source.reader), "errored", {}, "INTERNAL", said)
        return not_seen("result", Side("what was sealed", done.seal.source), seen)
    return compared(
        about, verdict,
        same=f"what {done.step} left is what was judged",
        otherwise=f"what {done.step} left is no longer what was judged; the next run does it again",
    )  # fmt: skip


def _credits(work: Work, period: Period) -> Iterator[Sighting]:
    """What the credit system holds for the period, against what the last run reported."""
    if work.task.irreversible is None:
        return
    scope, _ = effect_scope(work.task)
    document = newest_report(work.journal, work.task.name, period.text)
    expected = _reported(document)
    seen = look(CreditsIssued(scope, period.text, credit_shape(work.task).scale), work.ports)
    if seen.state == "errored":
        yield not_seen("credits", expected, seen)
        return
    side = Side(f"{seen['count']} credits, {seen['amount']}", seen.source)
    same = side.value == expected.value
    yield Sighting(
        "credits", expected, side, "unchanged" if same else "changed", stands=same,
        code=None if same else "EFFECT_DIFFERS",
        means="as the last run reported" if same else "issued or taken back by somebody else than the last run",
    )  # fmt: skip


def _reported(document: Mapping[str, Any] | None) -> Side:
    if document is None:
        return Side("0 credits, 0.00", Source(Subject("journal", "no run"), "no task run was reported"))
    said = document["credits"]
    source = Source(Subject("journal", f"task run {document['task_run_id']}"), "the report of the run")
    return Side(f"{said['issued_count']} credits, {said['issued_amount']}", source)


def _unasked(about: About, expected: Side, seen: Side) -> Sighting:
    """Something that is there while nothing was ever admitted: no news, and nothing that could have changed."""
    return Sighting(about, expected, seen, "new", stands=True, means="nothing was admitted for the period yet")
