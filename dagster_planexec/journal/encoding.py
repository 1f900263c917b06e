"""Facts as JSON and back, bounded. What the journal stores is what was seen, with its types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.journal.door import payload
from dagster_planexec.journal.door.redact import said
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.world.observation import Fact, Observation, Source
from dagster_planexec.world.subject import Subject

_LONGEST_SECRET = 4_096
LONGEST_TEXT = 2_000
"""Characters kept of any one string; the rest is cut and its length said."""


def bounded(text: str, limit: int = LONGEST_TEXT) -> str:
    """The text, cut at `limit` characters with its full length named."""
    if len(text) <= limit:
        return text
    # What is cut through the middle of a secret is not recognised as one any more, so secrets go first.
    return f"{said(text[: limit + _LONGEST_SECRET])[:limit]}… ({len(text)} characters)"


def encode(fact: Fact) -> Any:  # noqa: ANN401 - JSON
    """A fact as JSON that `decode` reads back: decimals and instants are tagged, tuples become lists."""
    if isinstance(fact, Decimal):
        return {"$decimal": str(fact)}
    if isinstance(fact, datetime):
        return {"$at": fact.astimezone(UTC).isoformat()}
    if isinstance(fact, Mapping):
        return {str(key): encode(value) for key, value in fact.items()}
    if isinstance(fact, tuple | list):
        return [encode(value) for value in fact]
    if isinstance(fact, str):
        return bounded(fact)
    return fact


def decode(value: Any) -> Fact:  # noqa: ANN401 - JSON
    """The fact that `encode` wrote."""
    if isinstance(value, dict):
        if set(value) == {"$decimal"}:
            return Decimal(value["$decimal"])
        if set(value) == {"$at"}:
            return datetime.fromisoformat(value["$at"])
        return {key: decode(child) for key, child in value.items()}
    if isinstance(value, list):
        return tuple(decode(child) for child in value)
    return value  # type: ignore[no-any-return]


def plain(fact: Fact) -> Any:  # noqa: ANN401 - JSON
    """A fact as people and other programs read it: decimals and instants as plain strings."""
    if isinstance(fact, Decimal):
        return f"{fact:f}"
    if isinstance(fact, datetime):
        return fact.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(fact, Mapping):
        return {str(key): plain(value) for key, value in fact.items()}
    if isinstance(fact, tuple | list):
        return [plain(value) for value in fact]
    if isinstance(fact, str):
        return bounded(fact)
    return fact


def encode_source(source: Source) -> dict[str, Any]:
    """A source as JSON."""
    return {
        "system": source.subject.system,
        "name": source.subject.name,
        "reader": source.reader,
        "at": source.at.isoformat() if source.at else None,
    }


def decode_source(value: Mapping[str, Any]) -> Source:
    """The source that `encode_source` wrote."""
    at = datetime.fromisoformat(value["at"]) if value["at"] else None
    return Source(Subject(value["system"], value["name"]), value["reader"], at)


def encode_observation(seen: Observation) -> dict[str, Any]:
    """An observation as JSON."""
    return {
        "source": encode_source(seen.source),
        "state": seen.state,
        "facts": encode(seen.facts),
        "code": seen.code,
        "message": bounded(seen.message),
    }


def decode_observation(value: Mapping[str, Any]) -> Observation:
    """The observation that `encode_observation` wrote."""
    facts = decode(value["facts"])
    assert isinstance(facts, Mapping)  # noqa: S101 - written by encode_observation
    return Observation(decode_source(value["source"]), value["state"], facts, value["code"], value["message"])


def same_facts(one: Observation, other: Observation) -> bool:
    """Whether two observations say the same, whenever they were made."""
    return one.state == other.state and digest_of(encode(one.facts)) == digest_of(encode(other.facts))


def encode_verdict(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON."""
    return {
        "check": verdict.check,
        "phase": verdict.phase,
        "status": verdict.status,
        "expected": {"value": encode(verdict.expected.value), "source": encode_source(verdict.expected.source)},
        "observed": {"value": encode(verdict.observed.value), "source": encode_source(verdict.observed.source)},
        "code": verdict.code,
        "text": bounded(verdict.text),
    }


def decode_verdict(value: Mapping[str, Any]) -> Verdict:
    """The verdict that `encode_verdict` wrote."""
    sides = {
        name: Side(decode(value[name]["value"]), decode_source(value[name]["source"]))
        for name in ("expected", "observed")
    }
    return Verdict(
        value["check"],
        value["phase"],
        value["status"],
        sides["expected"],
        sides["observed"],
        value["code"],
        value["text"],
    )


dumps = payload.dumps
"""JSON text for a payload column, as the door writes it."""
