"""The drop seen again: each admitted object, the landed copy that stands for it, and what has arrived since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from dagster_planexec.checks.fetch.admitted import landed_look
from dagster_planexec.contract.tool import Admission, AdmittedObject
from dagster_planexec.contract.verdict import Side
from dagster_planexec.execute.observer import look
from dagster_planexec.execute.reobserve.sighting import Sighting, not_seen
from dagster_planexec.execute.work import Work
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.delivery.objects import DigestOfObject, HeadObject, ListDrop
from dagster_planexec.world.subject import Subject, s3_object

MOST_NEW = 50
"""New objects named one by one; the rest are counted."""


def drop_again(work: Work, period: Period, admission: Admission, *, relied_on: bool) -> Iterator[Sighting]:
    """Every admitted object, then everything in the drop that was not admitted."""
    for one in (*admission.manifests, *admission.objects):
        yield _object(work, one, admission.at)
    drop = work.task.drop
    if drop is None:
        return
    listed = look(ListDrop(drop.bucket, drop.prefix, drop.pattern_of(period)), work.ports)
    names = Source(Subject("admission", f"{drop.bucket}/{drop.prefix}*"), "list of objects", admission.at)
    yield from _other_manifests(work, period, admission, names, relied_on=relied_on)
    if listed.state == "errored":
        yield not_seen("drop", Side(f"{len(admission.objects)} objects", names), listed)
        return
    known = {o.facts.key for o in admission.objects if o.facts.bucket == drop.bucket}
    keys = listed["keys"]
    fresh = [key for key in keys if key not in known] if isinstance(keys, tuple) else []
    for key in fresh[:MOST_NEW]:
        yield _arrived(Side("nothing", names), _named(listed, drop.bucket, str(key)), "an object", relied_on=relied_on)
    if len(fresh) > MOST_NEW:
        more = f"{len(fresh) - MOST_NEW} more objects"
        yield _arrived(Side("nothing", names), listed.source, more, relied_on=relied_on)
    if not admission.objects and not fresh:
        yield Sighting("drop", Side("nothing", names), Side("nothing", listed.source), "unchanged", stands=True,
                       means="nothing has been delivered")  # fmt: skip


def _other_manifests(
    work: Work, period: Period, admission: Admission, names: Source, *, relied_on: bool
) -> Iterator[Sighting]:
    """Manifests that have come since: each makes another delivery of the same objects."""
    drop = work.task.drop
    if drop is None or drop.manifest is None:
        return
    listed = look(ListDrop(drop.bucket, drop.prefix, drop.manifest.pattern_of(period)), work.ports)
    known = {one.facts.key for one in admission.manifests}
    keys = listed.facts.get("keys")
    for key in [str(key) for key in keys if key not in known][:MOST_NEW] if isinstance(keys, tuple) else ():
        yield _arrived(Side("nothing", names), _named(listed, drop.bucket, key), "a manifest", relied_on=relied_on)


def _named(listed: Observation, bucket: str, key: str) -> Source:
    return Source(s3_object(bucket, key), listed.source.reader, listed.source.at)


def _arrived(expected: Side, source: Source, what: str, *, relied_on: bool) -> Sighting:
    means = "it came after admission; the next run admits it as a new attempt" if relied_on else "it waits for a run"
    return Sighting("drop", expected, Side(what, source), "new", stands=not relied_on, means=means,
                    code="DROP_INCOMPLETE" if relied_on else None)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Copy:
    """The landed copy of an admitted object."""

    is_intact: bool
    said: str


def _object(work: Work, one: AdmittedObject, at: datetime | None) -> Sighting:
    facts = one.facts
    where = " (from its landed copy)" if one.from_landing else ""
    expected = Side(
        _identity(facts.size, facts.etag, facts.version_id, one.sha256) + where,
        Source(Subject("admission", f"{facts.bucket}/{facts.key}"), "HEAD and SHA-256 at admission", at),
    )
    seen = look(DigestOfObject(facts.bucket, facts.key, facts.etag), work.ports)
    if seen.state == "errored":
        return not_seen("drop", expected, seen)
    copy = _copy(work, one)
    if seen.state == "absent":
        older = f"; {seen.message}" if seen.message else ""
        return Sighting(
            "drop", expected, Side("nothing", seen.source), "gone", stands=copy.is_intact,
            code=None if copy.is_intact else "OBJECT_GONE",
            means=("the drop expired, the landed copy stands for it" if copy.is_intact
                   else f"the object is gone, and {copy.said}") + older,
        )  # fmt: skip
    head = look(HeadObject(facts.bucket, facts.key), work.ports)
    same = bool(seen["same_etag"]) and seen["size"] == facts.size
    sha256 = one.sha256 if same else str(seen["sha256"])
    now = Side(_identity(seen["size"], seen["etag"], head.facts.get("version_id"), sha256), seen.source)
    if sha256 == one.sha256:
        other = "" if same else "; uploaded again, the same bytes"
        means = f"the delivery is the one that was admitted{other}{_expiry(head, copy)}"
        return Sighting("drop", expected, now, "unchanged", stands=True, means=means)
    return Sighting("drop", expected, now, "changed", stands=False, code="OBJECT_CHANGED",
                    means="another delivery lies there; the next run admits it as a new attempt")  # fmt: skip


def _copy(work: Work, one: AdmittedObject) -> _Copy:
    path = work.ports.roots.landed_path(one.sha256)
    seen = look(landed_look(path, one.sha256, one.facts.key, work.task), work.ports)
    if seen.state != "seen":
        return _Copy(is_intact=False, said="no copy of it was landed")
    intact = seen["sha256"] == one.sha256 and bool(seen["decodes"])
    return _Copy(is_intact=intact, said="its landed copy is damaged")


def _identity(size: object, etag: object, version: object, sha256: str) -> str:
    named = f", version {version}" if version else ""
    return f"{size} bytes, etag {etag}{named}, sha256 {sha256}"


def _expiry(head: Observation, copy: _Copy) -> str:
    expires = head.facts.get("expires_at")
    if not isinstance(expires, datetime):
        return ""
    then = "; its landed copy stands for it then" if copy.is_intact else "; no copy of it was landed"
    return f"; a lifecycle rule deletes it at {expires:%Y-%m-%dT%H:%M:%SZ}{then}"
