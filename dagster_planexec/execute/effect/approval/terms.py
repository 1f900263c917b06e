"""What an approval is bound to, as one JSON object: made from the world and the task, and compared part by part.

Nothing in it is vendor text: what is not a number, a digest or a name of the plan's stands in it as its SHA-256.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import Any

from dagster_planexec.contract.layout import credit_lines_threshold_of, currency_of, effect_scope, lower_cap
from dagster_planexec.errors import PortError
from dagster_planexec.execute.effect.evidence import Evidence
from dagster_planexec.execute.resolve import Resolved
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.encoding import encode
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.plan.model import Step
from dagster_planexec.world.observation import Fact, Observation

VERSION = 1
_DIGEST = re.compile(r"[0-9a-f]{64}")
_NOT_COMPARED = frozenset({"version", "hold", "shown", "codes", "evidence", "preview"})
"""Which of them differ by nature, or are compared in a way of their own."""


def terms_of(
    run: Run, step: Step, resolved: Resolved, preview: Observation | None, evidence: Evidence, codes: Collection[str]
) -> dict[str, Any]:
    """Everything that must be the same when it is done.

    Args:
        run: The run.
        step: The irreversible step.
        resolved: Its arguments.
        preview: What the call would do now.
        evidence: What it rests on.
        codes: What it waits for a person for.

    Raises:
        PortError: What it would do could not be looked at. That is no change of it.
    """
    task = run.work.task
    if preview is not None and preview.state == "errored":
        raise PortError(preview.code or "INTERNAL", preview.message, retry_after_s=preview.retry_after_s)
    pays = task.irreversible is not None and task.irreversible.credit_rule is not None
    return {
        "version": VERSION, "task": task.name, "period": run.period.text, "attempt": run.attempt,
        "plan": run.plan_digest, "step": step.id, "tool": step.tool, "args": digest_of(encode(dict(resolved.raw))),
        "codes": sorted(codes), "evidence": {"digest": evidence.digest, "parts": evidence.by_name},
        "preview": {} if preview is None else {name: _bound(fact) for name, fact in preview.facts.items()},
        "currency": currency_of(task) if pays else None,
        "cap": str(lower_cap(task, getattr(resolved.args, "cap", None))) if pays else None,
        "threshold": credit_lines_threshold_of(task) if pays else None,
        "min_matched_share": None if task.limits.min_matched_share is None else str(task.limits.min_matched_share),
        "task_version": task.version, "policy": _policy(run),
        "effect_scope": effect_scope(task)[0] if pays else None,
    }  # fmt: skip


def differences(approved: Mapping[str, Any], now: Mapping[str, Any], *, begun: bool) -> tuple[str, ...]:
    """What is not as it was approved, each with both values, in words.

    Args:
        approved: What was signed.
        now: What is true.
        begun: Lines are in the ledger under this approval already: what is left to issue is less by them. What is
            compared here is what they rest on; the call compares line by line, with `ToolCall.approved`.
    """
    found = list(_parts(approved, now))
    if not begun or "digest" not in (approved.get("preview") or {}):
        found += _preview(approved.get("preview") or {}, now["preview"])
    for name in now:
        if name not in _NOT_COMPARED and approved.get(name) != now[name]:
            found.append(_differs(_WORDS.get(name, name), approved.get(name), now[name]))
    more = sorted(set(now["codes"]) - set(approved.get("codes") or ()))
    if more:
        found.append(_differs("what it asks for", ", ".join(approved.get("codes") or ()), ", ".join(now["codes"])))
    return tuple(found)


_WORDS = {"plan": "the plan", "args": "the step's arguments", "cap": "the cap", "threshold": "the threshold",
          "policy": "the approval policy", "currency": "the currency", "effect_scope": "the effect scope",
          "min_matched_share": "min_matched_share of the task", "task_version": "the task's version",
          "attempt": "the attempt", "step": "the step", "tool": "the tool"}  # fmt: skip


def _parts(approved: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    then: Mapping[str, Any] = (approved.get("evidence") or {}).get("parts") or {}
    here: Mapping[str, Any] = now["evidence"]["parts"]
    for name in sorted({*then, *here}):
        if then.get(name) != here.get(name):
            yield _differs(f"evidence {name!r}", then.get(name, "not there"), here.get(name, "not there"))


def _preview(then: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*then, *here}):
        if then.get(name) != here.get(name):
            yield _differs(f"{name} of what would be issued", then.get(name), here.get(name))


def _differs(what: str, approved: object, now: object) -> str:
    return f"{what}: approved {_shown(approved)}, now {_shown(now)}"


def _shown(value: object) -> str:
    text = str(value)
    return text[:12] if _DIGEST.fullmatch(text) else one_line(text, 200)


def _bound(fact: Fact) -> Any:  # noqa: ANN401 - JSON
    if fact is None or isinstance(fact, bool | int):
        return fact
    if isinstance(fact, Decimal):
        return str(fact)
    return fact if isinstance(fact, str) and _DIGEST.fullmatch(fact) else digest_of(encode(fact))


def _policy(run: Run) -> dict[str, Any]:
    said = asdict(run.work.task.approval)
    return {name: str(value) if isinstance(value, float) else list(value) if isinstance(value, tuple) else value
            for name, value in said.items()}  # fmt: skip
