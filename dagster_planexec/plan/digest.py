"""Two digests of a plan: `full` is the address of its bytes, `semantic` says whether two plans do the same."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from dagster_planexec.plan.model import Plan, as_json


def canonical_bytes(value: Any) -> bytes:  # noqa: ANN401 - any JSON
    """JSON with sorted keys, no spaces and ASCII escapes: one text for one value, on every machine and hash seed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def digest_of(value: Any) -> str:  # noqa: ANN401 - any JSON
    """SHA-256 of the canonical text, 64 hex digits."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def full_digest(plan: Plan) -> str:
    """The plan's address: everything in it, words included."""
    return digest_of(as_json(plan))


def semantic_digest(plan: Plan) -> str:
    """What the plan does: expectations, steps, tools, arguments, dependencies, claims; no intent and no rationale."""
    data = as_json(plan)
    data.pop("intent")
    for step in data["steps"]:
        step.pop("rationale")
        step["depends_on"] = sorted(step["depends_on"])
    return digest_of(data)
