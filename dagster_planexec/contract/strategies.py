"""What may follow each code, in order of preference: one table. A tool contract may take away from it, never add."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

Strategy: TypeAlias = Literal[
    "retry", "retry-after", "refresh-credentials", "retry-corrected", "use-fallback", "skip", "replan", "ask", "stop"
]
ALL_STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)

WORDS: Mapping[Strategy, str] = MappingProxyType(
    {
        "retry": "try the same call again after a pause that doubles each time",
        "retry-after": "try the same call again when the time that the service stated has passed",
        "refresh-credentials": "have the credentials read anew, once, then try the same call again",
        "retry-corrected": "try again, once, with an argument respelt as the tool takes it; only code corrects",
        "use-fallback": "have the contract's named fallback make the same call, once; the step's own checks judge it",
        "skip": "leave the step out, if no deliverable and no other step needs it",
        "replan": "ask for another plan, if the task lists the code as one after which that can help",
        "ask": "hold for a person, before anything that cannot be undone has happened",
        "stop": "run nothing after it, on any branch",
    }
)

Strategies: TypeAlias = tuple[Strategy, ...]

STOP: Strategies = ("stop",)
ANOTHER_PLAN: Strategies = ("replan", "stop")
A_PERSON: Strategies = ("ask", "stop")

STRATEGIES: Mapping[str, Strategies] = MappingProxyType(
    {
        # What is transient is tried again. A stated delay comes first: who asks for time is given it.
        "TIMEOUT": ("retry", "use-fallback", "skip", "stop"),
        "THROTTLED": ("retry-after", "retry", "use-fallback", "skip", "stop"),
        "UNAVAILABLE": ("retry-after", "retry", "use-fallback", "skip", "stop"),
        "LOCKED": ("retry", "skip", "stop"),
        # Access: new credentials may help against old ones, nothing helps against a missing permission.
        "AUTH_FAILED": ("refresh-credentials", "stop"),
        "FORBIDDEN": STOP,
        "DISK_FULL": STOP,
        "VALIDATION_ERROR": ("retry-corrected", "replan", "ask", "stop"),
        # What is in the data stays in the data: another plan may read it rightly, the same call never will.
        "OBJECT_GONE": ANOTHER_PLAN,
        "OBJECT_CHANGED": ANOTHER_PLAN,
        "TRUNCATED_STREAM": ANOTHER_PLAN,
        "MISSING_PART": ANOTHER_PLAN,
        "BAD_MANIFEST": STOP,  # no plan mends it
        "OBJECT_ARCHIVED": STOP,  # restoring takes hours, and is a person's decision
        "AMBIGUOUS_LANDING": ANOTHER_PLAN,
        "AMBIGUOUS_ARCHIVE": ANOTHER_PLAN,
        "DROP_INCOMPLETE": ANOTHER_PLAN,
        "EXPIRES_TOO_SOON": ANOTHER_PLAN,
        "FILE_GONE": ANOTHER_PLAN,
        "FILE_CHANGED": ANOTHER_PLAN,
        "INPUT_UNREAD": ANOTHER_PLAN,
        "BAD_FORMAT": ANOTHER_PLAN,
        "TOO_LARGE": STOP,  # no plan makes it shorter
        "BUCKET_GONE": STOP,
        "EMPTY_EXTRACT": ANOTHER_PLAN,
        "ROWCOUNT_MISMATCH": ANOTHER_PLAN,
        "ROWS_REFUSED": STOP,  # no plan reads what cannot be read
        "CONTROL_TOTAL_MISMATCH": ANOTHER_PLAN,
        "RAGGED_ROW": ANOTHER_PLAN,
        "BAD_DATE": ANOTHER_PLAN,
        "AMBIGUOUS_DATE": ANOTHER_PLAN,
        "BAD_AMOUNT": ANOTHER_PLAN,
        "SCALE_OVERFLOW": ANOTHER_PLAN,
        "BAD_ENCODING": ANOTHER_PLAN,
        "UNKNOWN_VALUE": ANOTHER_PLAN,
        "UNKNOWN_COLUMN": ANOTHER_PLAN,
        "MISSING_COLUMN": ANOTHER_PLAN,
        "STALE_PERIOD": ANOTHER_PLAN,
        "PERIOD_INCOMPLETE": ANOTHER_PLAN,
        "OUT_OF_PERIOD": ANOTHER_PLAN,
        "NOT_FINAL": ANOTHER_PLAN,
        "TABLE_GONE": ANOTHER_PLAN,
        "SCHEMA_DRIFT": ANOTHER_PLAN,
        "EXPECTATION_FAILED": ANOTHER_PLAN,
        "SUITE_FAILED": ANOTHER_PLAN,
        "NONDETERMINISTIC": ANOTHER_PLAN,
        "NULL_KEY": ANOTHER_PLAN,
        "DUPLICATE_KEY": ANOTHER_PLAN,
        "MIXED_CURRENCY": ANOTHER_PLAN,
        "EMPTY_SIDE": ANOTHER_PLAN,
        "ONE_SIDED": ANOTHER_PLAN,
        "NOTHING_MATCHED": ANOTHER_PLAN,
        "COVERAGE_LOW": ANOTHER_PLAN,
        "VOLUME_HIGH": ANOTHER_PLAN,
        "INDETERMINATE_SIDE": ANOTHER_PLAN,
        "IDENTITY_BROKEN": ANOTHER_PLAN,
        "REPORT_MISMATCH": ANOTHER_PLAN,
        # Plans: whoever asks for another one has counted already.
        "PLAN_REJECTED": STOP,
        "REPLAN_EXHAUSTED": STOP,
        "REPLAN_UNCHANGED": STOP,
        "MODEL_REFUSED": STOP,
        "ANSWER_TRUNCATED": STOP,
        "ANSWER_EMPTY": STOP,
        "ANSWER_INVALID": STOP,
        "REQUEST_REFUSED": STOP,
        # What cannot be undone: a person, or nobody.
        "EFFECT_UNKNOWN": STOP,
        "EFFECT_DIFFERS": A_PERSON,
        "EFFECTS_NOT_DUE": STOP,
        "APPROVAL_REQUIRED": A_PERSON,
        "CAP_EXCEEDED": A_PERSON,
        "APPROVAL_STALE": STOP,
        "DECISION_REFUSED": STOP,
        "HOLD_EXPIRED": STOP,
        "HOLD_REJECTED": STOP,
        "HOLD_SUPERSEDED": STOP,
        # The attempt and the set-up: nothing that a step could do differently.
        "LEASE_BUSY": STOP,
        "LEASE_LOST": STOP,
        "CANCELLED": STOP,
        "BUDGET_EXHAUSTED": STOP,
        "INTERNAL": STOP,
        "UNKNOWN_PARTITION": STOP,
        "UNKNOWN_REFERENCE": STOP,
        "MODEL_UNKNOWN": STOP,
        "BAD_CONTRACT": STOP,
        "HOME_UNWRITABLE": STOP,
        "PORT_IN_USE": STOP,
    }
)
"""Code to what may follow it. Whether it may here and now, the rules of `recovery` say. A code nobody knows stops."""

RELEASABLE = frozenset(code for code, may_follow in STRATEGIES.items() if may_follow == A_PERSON)
"""Codes that an approval turns into a pass. Nothing that the data says is among them."""


def strategies_of(code: str, narrowed: Mapping[str, Collection[Strategy]] | None = None) -> Strategies:
    """What may follow a code, in order; `stop` is always the last.

    Args:
        code: Any code, also one that nobody knows.
        narrowed: What a tool's contract leaves of it, by code.
    """
    known = STRATEGIES.get(code, STOP)
    if narrowed is None or code not in narrowed:
        return known
    kept = narrowed[code]
    return tuple(strategy for strategy in known if strategy in kept or strategy == "stop")


def what_widens(narrowed: Mapping[str, Collection[str]]) -> list[str]:
    """What a contract's narrowing would add to the table, in words; empty if it only takes away."""
    wrong: list[str] = []
    for code, kept in narrowed.items():
        if code not in STRATEGIES:
            wrong.append(f"{code[:40]!r} is no code")
            continue
        more = [name for name in kept if name not in STRATEGIES[code]]
        if more:
            wrong.append(f"{code} may not be followed by {', '.join(sorted(name[:40] for name in more))}")
    return wrong
