"""Lines that look like signed decisions, and that no `sign` has made."""

from __future__ import annotations

import base64
import json
from typing import Any


def edited(signed: str, said: Any) -> str:
    """A signed line that says something else: fields that are changed, or another thing altogether."""
    prefix, packed, signature = signed.split(":")
    before = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
    now = {**before, **said} if isinstance(said, dict) else said(before)
    return f"{prefix}:{base64.urlsafe_b64encode(json.dumps(now).encode()).decode().rstrip('=')}:{signature}"


NO_DECISIONS: dict[str, Any] = {
    "naive at": {"at": "2026-03-06T17:00:00"},
    "date only": {"at": "2026-03-06"},
    "no instant": {"at": "yesterday"},
    "before all time": {"at": "0001-01-01T00:00:00+14:00"},
    "naive expiry": {"expires_at": "2026-03-13T17:00:00"},
    "no expiry": {"expires_at": ""},
    "list of names": list,
    "one text": "".join,
    "number": len,
    "half a character in the hold": {"hold": "hold_\udcff"},
    "half a character in the name": {"by": "ada\ud800"},
    "half a character in the reason": {"reason": "seen \udfff"},
    "nul in the hold": {"hold": "hold_\0"},
    "long hold": {"hold": "h" * 81},
    "long name": {"by": "a" * 81},
    "long reason": {"reason": "r" * 2_001},
    "number for a name": {"by": 7},
    "none for a reason": {"reason": None},
    "list for a decision": {"decision": ["approve"]},
    "another field": {"more": "x"},
}
"""What is wrong, by name: fields that replace those of a good line, or what becomes of all of them."""
