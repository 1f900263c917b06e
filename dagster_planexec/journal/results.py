"""Results of done steps and landed copies: what a later run of the same month may build on."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.journal.door.redact import redacted, without_own_secrets
from dagster_planexec.journal.encoding import (
    decode_observation,
    decode_verdict,
    dumps,
    encode_observation,
    encode_verdict,
)
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.store import tables as t
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import ObjectFacts


@dataclass(frozen=True, slots=True)
class DoneStep:
    """A step whose postconditions passed. Its identity is what it did to what, never its name in a plan."""

    identity: str
    step: str
    tool: str
    run_id: str
    args: Mapping[str, Any]
    """Resolved arguments, as JSON."""
    result: Mapping[str, Any]
    seal: Observation
    witnessed: tuple[Observation, ...]
    verdicts: tuple[Verdict, ...]
    tries: int
    duration_s: float
    taken_out: tuple[str, ...] = ()
    """Parts that are not stored as they were, because a secret of the environment stood in them."""


def identity_of(
    tool: str, args: Mapping[str, Any], inputs: Mapping[str, str], claims: Sequence[Mapping[str, Any]] = ()
) -> str:
    """What makes two done steps the same: tool, resolved arguments, the seals of the inputs, and what was claimed."""
    same: dict[str, Any] = {"tool": tool, "args": args, "inputs": inputs}
    if claims:
        same["claims"] = sorted(digest_of(claim) for claim in claims)
    return digest_of(same)


def save_done(journal: Journal, attempt_id: str, done: DoneStep) -> None:
    """Remember a done step, without secrets.

    What is built upon (arguments, result, seal, what was witnessed) is kept to the letter but for secrets of the
    environment; a part that held one is named, so that nobody takes what is left of it for what was seen: `find_done`
    does not offer the step for reuse, and no later step can refer to it. Verdicts are only shown.
    """
    parts = {
        "args": done.args,
        "result": done.result,
        "seal": encode_observation(done.seal),
        "witnessed": [encode_observation(seen) for seen in done.witnessed],
    }
    kept = {name: without_own_secrets(value) for name, value in parts.items()}
    body: dict[str, Any] = {
        **kept,
        "verdicts": redacted([encode_verdict(verdict) for verdict in done.verdicts]),
        "tries": done.tries,
        "duration_ms": int(done.duration_s * 1000),
    }
    taken_out = [name for name, value in parts.items() if dumps(value) != dumps(kept[name])]
    if taken_out:
        body["taken_out"] = taken_out
    body["digest"] = digest_of(body)
    with journal.writing() as db:
        db.execute(
            sa.insert(t.results).values(
                attempt=attempt_id,
                identity=done.identity,
                step=done.step,
                tool=done.tool,
                run_id=done.run_id,
                body=dumps(body),
            )
        )


def _done(row: Mapping[str, Any]) -> DoneStep:
    body = json.loads(row["body"])
    if digest_of({name: value for name, value in body.items() if name != "digest"}) != body["digest"]:
        raise ValueError("the stored result was altered")
    return DoneStep(
        row["identity"],
        row["step"],
        row["tool"],
        row["run_id"],
        body["args"],
        body["result"],
        decode_observation(body["seal"]),
        tuple(decode_observation(seen) for seen in body["witnessed"]),
        tuple(decode_verdict(verdict) for verdict in body["verdicts"]),
        body["tries"],
        body["duration_ms"] / 1000,
        tuple(body.get("taken_out", ())),
    )


def _readable(row: Mapping[str, Any]) -> DoneStep | None:
    """The done step of a row; None if the row is not what was written, for then nothing may be built on it."""
    try:
        return _done(row)
    except (ValueError, KeyError, TypeError):
        return None


def find_done(journal: Journal, attempt_id: str, identity: str) -> DoneStep | None:
    """The newest done step of that identity in an attempt; None too if what it left may not be compared."""
    found = _newest(journal, t.results.c.attempt == attempt_id, t.results.c.identity == identity)
    return found if found is None or not found.taken_out else None


def done_in_run(journal: Journal, attempt_id: str, run_id: str, step: str) -> DoneStep | None:
    """What a step of this very run left, if it is done or reused. A step of an earlier run does not count."""
    return _newest(journal, t.results.c.attempt == attempt_id, t.results.c.run_id == run_id, t.results.c.step == step)


def _newest(journal: Journal, *where: sa.ColumnElement[bool]) -> DoneStep | None:
    query = sa.select(t.results).where(*where).order_by(t.results.c.seq.desc()).limit(1)
    with journal.reader.connect() as db:
        row = db.execute(query).mappings().first()
    return _readable(dict(row)) if row else None


def tools_done(journal: Journal, attempt_id: str) -> tuple[DoneStep, ...]:
    """Every step that is done in an attempt, oldest first."""
    query = sa.select(t.results).where(t.results.c.attempt == attempt_id).order_by(t.results.c.seq)
    with journal.reader.connect() as db:
        rows = (_readable(dict(row)) for row in db.execute(query).mappings().all())
        return tuple(done for done in rows if done is not None)


def save_landing(journal: Journal, *, task: str, period: str, attempt_id: str, admitted: AdmittedObject) -> None:
    """Remember that a copy of an object was landed for a month."""
    facts = admitted.facts
    body = {
        "size": facts.size,
        "etag": facts.etag,
        "version_id": facts.version_id,
        "last_modified": facts.last_modified.isoformat(),
    }
    with journal.writing() as db:
        db.execute(
            sa.insert(t.landings).values(
                task=task,
                period=period,
                bucket=facts.bucket,
                object_key=facts.key,
                sha256=admitted.sha256,
                attempt=attempt_id,
                object=dumps(body),
                landed_at=datetime.now(UTC).isoformat(),
            )
        )


def landed_for(journal: Journal, task: str, period: str) -> dict[tuple[str, str], list[AdmittedObject]]:
    """What was landed for a month: (bucket, key) to its versions, newest first, each digest once."""
    query = (
        sa.select(t.landings)
        .where(t.landings.c.task == task, t.landings.c.period == period)
        .order_by(t.landings.c.seq.desc())
    )
    out: dict[tuple[str, str], list[AdmittedObject]] = {}
    with journal.reader.connect() as db:
        for row in db.execute(query).mappings():
            body = json.loads(row["object"])
            facts = ObjectFacts(
                row["bucket"],
                row["object_key"],
                body["size"],
                body["etag"],
                datetime.fromisoformat(body["last_modified"]),
                body["version_id"],
            )
            versions = out.setdefault((facts.bucket, facts.key), [])
            if row["sha256"] not in {version.sha256 for version in versions}:
                versions.append(AdmittedObject(facts, row["sha256"], from_landing=True))
    return out
