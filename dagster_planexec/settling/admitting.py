"""What an attempt is opened on, and what it takes in later: what is new, and nothing that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dagster_planexec.contract.task import Watch
from dagster_planexec.contract.tool import Admission
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.admit import admit_inputs
from dagster_planexec.execute.observer import DeadlinePassedError, within
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.admission import decode_admission, encode_admission, encode_watched, inputs_digest
from dagster_planexec.journal.journal import Attempt
from dagster_planexec.journal.results import landed_for, save_landing
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.settling.parts import Settling
from dagster_planexec.world.period import Period

ADMISSION_DEADLINE_S = 900.0
"""Seconds in which the drop, the live tables and the SQL files must have been looked at."""


def admit(work: Work, period: Period) -> Admission:
    """What is there now.

    Raises:
        PlanexecError: TIMEOUT if it could not be looked at in time; what `admit_inputs` raises.
    """
    try:
        return within(ADMISSION_DEADLINE_S, lambda: admit_inputs(work, period, keeps=True))
    except DeadlinePassedError as error:
        text = f"what there is could not be looked at within {ADMISSION_DEADLINE_S:g} s"
        raise PlanexecError("TIMEOUT", text) from error


def open_attempt(settling: Settling, period: Period, *, anew: bool) -> Attempt:
    """The attempt on what is there now: the open one if nothing is new, else another.

    Raises:
        PlanexecError: As `admit`.
    """
    work = settling.work
    admission = admit(work, period)
    attempt, is_new = work.journal.open_attempt(
        task=work.task.name, version=work.task.version, period=period.text, inputs_digest=_inputs(settling, admission),
        admission=encode_admission(admission), anew=anew,
    )  # fmt: skip
    _remember_manifests(work, attempt, period, admission)
    if not is_new:  # a run of the same attempt is judged against the past that it was opened on
        admission = replace(admission, past=decode_admission(attempt.admission).past)
    # What was admitted now replaces the older record: same content, but ETags and places may have moved on.
    return replace(attempt, admission=work.journal.readmit(attempt.id, encode_admission(admission)))


@dataclass(frozen=True, slots=True)
class TakenIn:
    """An attempt after it was looked for what is new."""

    attempt: Attempt
    changed: str | None
    """What else changed of the admitted inputs, in words; nothing was taken in then."""


def take_in_what_is_new(settling: Settling, attempt: Attempt, period: Period) -> TakenIn:
    """The attempt with objects that have arrived since it was opened; a later run with them is a run of this attempt.

    Raises:
        PlanexecError: As `admit`.
    """
    journal = settling.work.journal
    before = decode_admission(attempt.admission)
    now = replace(admit(settling.work, period), past=before.past)
    changed = only_grown(before, now, watches=settling.work.task.watches)
    if changed is not None:
        return TakenIn(attempt, changed)
    _remember_manifests(settling.work, attempt, period, now)
    journal.readmit(attempt.id, encode_admission(now), inputs_digest=_inputs(settling, now))
    return TakenIn(journal.attempt(attempt.id), None)


def _remember_manifests(work: Work, attempt: Attempt, period: Period, admission: Admission) -> None:
    """The copy of a manifest stands for it when the drop has expired, as those of the data do."""
    known = landed_for(work.journal, work.task.name, period.text) if admission.manifests else {}
    for one in admission.manifests:
        newest = next(iter(known.get((one.facts.bucket, one.facts.key), ())), None)
        if not one.from_landing and (newest is None or newest.sha256 != one.sha256):
            save_landing(work.journal, task=work.task.name, period=period.text, attempt_id=attempt.id, admitted=one)


def only_grown(before: Admission, now: Admission, *, watches: Sequence[Watch] = ()) -> str | None:
    """What changed of the admitted inputs besides new objects, or None. What was done rests on them.

    Args:
        before: What the attempt rests on.
        now: What is there.
        watches: What the task watches. A fact that holds things by name may hold more, a measure may count more.
    """
    held = {(o.facts.bucket, o.facts.key): o.sha256 for o in (*now.objects, *now.manifests)}
    for admitted in (*before.objects, *before.manifests):
        name = (admitted.facts.bucket, admitted.facts.key)
        if held.get(name) != admitted.sha256:
            what = "is gone" if name not in held else "was replaced"
            return f"{name[0]}/{name[1]} {what}"
    for kind, old, new in (
        ("table", before.tables, now.tables),
        ("SQL file", before.sql_sha256, now.sql_sha256),
        ("suite of", before.suites, now.suites),
    ):
        changed = next((name for name in sorted({*old, *new}) if old.get(name) != new.get(name)), None)
        if changed is not None:
            return f"{kind} {changed} changed"
    was, is_now = encode_watched(before), encode_watched(now)
    found = (watch.lost(was.get(watch.name), is_now.get(watch.name)) for watch in watches)
    return next((what for what in found if what is not None), None)


def _inputs(settling: Settling, admission: Admission) -> str:
    contracts = settling.work.task.contracts
    recipe = {
        "planner": settling.planner.recipe,
        # The content and not the version: an edit that forgot to raise it is news all the same.
        "contracts": {name: digest_of(contract.model_dump(mode="json")) for name, contract in contracts.items()},
    }
    return inputs_digest(admission, recipe=recipe)
