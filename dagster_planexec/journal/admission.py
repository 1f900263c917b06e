"""The admission record as JSON, and the digest that says whether two runs saw the same inputs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, cast

from dagster_planexec.contract.tool import Admission, AdmittedObject
from dagster_planexec.journal.encoding import decode, encode
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.world.history import PastPeriod
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.ports import ObjectFacts


def encode_admission(admission: Admission) -> dict[str, Any]:
    """The record as JSON."""
    return {
        "objects": [_encode(one) for one in admission.objects],
        "tables": dict(admission.tables),
        "sql_sha256": dict(admission.sql_sha256),
        "at": admission.at.isoformat() if admission.at else None,
        **({"watched": encode_watched(admission)} if admission.watched else {}),
        **({"manifests": [_encode(one) for one in admission.manifests]} if admission.manifests else {}),
        **({"suites": dict(admission.suites)} if admission.suites else {}),
        **({"past": [_encode_past(past) for past in admission.past]} if admission.past else {}),
    }  # fmt: skip


def decode_admission(value: Mapping[str, Any]) -> Admission:
    """The record that `encode_admission` wrote."""
    objects, manifests = (tuple(_decode(one) for one in value.get(what, ())) for what in ("objects", "manifests"))
    at = datetime.fromisoformat(value["at"]) if value["at"] else None
    watched = {name: cast("Mapping[str, Fact] | None", decode(f)) for name, f in value.get("watched", {}).items()}
    past = tuple(_decode_past(one) for one in value.get("past", ()))
    return Admission(
        objects, value["tables"], value["sql_sha256"], at, watched, manifests, value.get("suites", {}), past
    )


def _encode(one: AdmittedObject) -> dict[str, Any]:
    facts = one.facts
    return {
        "bucket": facts.bucket, "key": facts.key, "size": facts.size, "etag": facts.etag,
        "version_id": facts.version_id, "last_modified": facts.last_modified.isoformat(),
        "expires_at": facts.expires_at.isoformat() if facts.expires_at else None,
        "sha256": one.sha256, "from_landing": one.from_landing,
    }  # fmt: skip


def _decode(one: Mapping[str, Any]) -> AdmittedObject:
    expires = datetime.fromisoformat(one["expires_at"]) if one["expires_at"] else None
    seen = datetime.fromisoformat(one["last_modified"])
    facts = ObjectFacts(one["bucket"], one["key"], one["size"], one["etag"], seen, one["version_id"], expires)
    return AdmittedObject(facts, one["sha256"], one["from_landing"])


def _encode_past(past: PastPeriod) -> dict[str, Any]:
    return {
        "period": past.period, "attempt": past.attempt, "landed": sorted(past.landed), "rows": past.rows,
        "total": None if past.total is None else str(past.total),
        "lines": {side: list(counts) for side, counts in past.lines.items()},
    }  # fmt: skip


def _decode_past(value: Mapping[str, Any]) -> PastPeriod:
    total = None if value["total"] is None else Decimal(value["total"])
    lines = {side: (counts[0], counts[1]) for side, counts in value["lines"].items()}
    return PastPeriod(value["period"], value["attempt"], frozenset(value["landed"]), value["rows"], total, lines)


def encode_watched(admission: Admission) -> dict[str, Any]:
    """What was seen of the watched things, as JSON: two looks that encode alike saw the same."""
    return {name: None if facts is None else encode(facts) for name, facts in admission.watched.items()}


def inputs_digest(admission: Admission, *, recipe: Mapping[str, Any]) -> str:
    """What was admitted, without what changes when nothing does (ETags, versions, times, the place it was read from).

    Args:
        admission: The record.
        recipe: What else makes another attempt: contract versions, the planner's identity.
    """
    return digest_of(
        {
            "objects": sorted([o.facts.bucket, o.facts.key, o.sha256] for o in admission.objects),
            "tables": dict(admission.tables),
            "sql": dict(admission.sql_sha256),
            "recipe": dict(recipe),
            **({"watched": encode_watched(admission)} if admission.watched else {}),
            **({"manifests": sorted([m.facts.bucket, m.facts.key, m.sha256] for m in admission.manifests)}
               if admission.manifests else {}),
            **({"suites": dict(admission.suites)} if admission.suites else {}),
        }
    )  # fmt: skip
