"""Asking the planner. What it promises and what it does are two things: whatever comes back is a proposal, and bounded.

A planner may raise, hang, or return anything. None of it ends a run without a report, goes unpaid for, or reaches the
journal unread: a plan is read anew as one that came in a file would be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from decimal import Decimal, InvalidOperation
from typing import Any

from dagster_planexec.contract.codes import CODES
from dagster_planexec.errors import PlanexecError
from dagster_planexec.execute.observer import DeadlinePassedError, within
from dagster_planexec.journal.attempts.budget import left, spent
from dagster_planexec.journal.door.redact import own_secret_in
from dagster_planexec.journal.encoding import bounded
from dagster_planexec.journal.journal import Attempt, NewEvent
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.plan.digest import canonical_bytes
from dagster_planexec.plan.model import Plan, as_json, parse_plan
from dagster_planexec.planner.planner import Planner, Proposal, Usage
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.settling.parts import Settling

_LONGEST_NAME = 200
_LONGEST_TEXT = 2_000
_MOST_MORE = 20_000
"""Characters of what a planner says of a plan's origin."""
_MOST_COUNTED = 10**12
_OURS = frozenset({"planner", "author", "model_called", "task_version", "contracts", "usage"})
"""Parts of a plan's origin that no planner writes itself."""


def ask(settling: Settling, attempt: Attempt, request: PlanRequest) -> Proposal:
    """What the planner answers. It is journalled with what it cost, whether it is a plan or not."""
    proposal = _used_up(settling, attempt) or proposed(settling.planner, request)
    said: dict[str, Any] = {
        "planner": proposal.planner, "author": proposal.author, "model_called": proposal.model_called,
        "code": proposal.code, "message": bounded(proposal.message), "for": _purpose(request),
        "usage": asdict(proposal.usage) if proposal.usage else None,
    }  # fmt: skip
    if proposal.plan is None and proposal.more.get("answered"):  # what was answered instead of a plan
        said["answered"] = bounded(str(proposal.more["answered"]))
    settling.work.journal.append(attempt.id, None, [NewEvent("proposed", None, said)])
    return proposal


def both(first: Usage | None, then: Usage | None) -> Usage | None:
    """What two askings cost together."""
    if first is None or then is None:
        return first or then
    costs = [Decimal(one.cost) for one in (first, then) if one.cost is not None]
    cost = f"{sum(costs):f}" if len(costs) == 2 else None  # noqa: PLR2004 - of both, or of neither
    return Usage(
        then.model, first.calls + then.calls, first.tokens_in + then.tokens_in, first.tokens_out + then.tokens_out,
        cost, first.ms + then.ms,
    )  # fmt: skip


def proposed(planner: Planner, request: PlanRequest) -> Proposal:
    """The planner's proposal, as it may be used: within its time, of the right type, and with a plan or a code."""
    name = _name(planner.name)
    # A call that is begun is a call, whether anything comes of it.
    asked = Usage(name, 1, 0, 0) if planner.calls_model else None
    nothing = Proposal(None, name, name, model_called=planner.calls_model, code="INTERNAL", usage=asked)
    try:
        answer: object = within(planner.deadline_s, lambda: planner.propose(request))
    except DeadlinePassedError:
        text = f"the planner {name} did not answer within {planner.deadline_s:g} s"
        return replace(nothing, code="TIMEOUT", message=text)
    except PlanexecError as error:
        code = error.code if error.code in CODES else "INTERNAL"
        return replace(nothing, code=code, message=_text(error.message), hint=_text(error.hint))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises, there is no plan
        text = f"the planner {name} raised {type(error).__name__}: {one_line(str(error), 300)}"
        return replace(nothing, message=text)
    if not isinstance(answer, Proposal):
        text = f"the planner {name} returned no proposal but a value of type {type(answer).__name__}"
        return replace(nothing, message=text)
    return _usable(answer, asked)


def _usable(answer: Proposal, asked: Usage | None) -> Proposal:
    """The proposal with what is of the right type and no larger than it may be."""
    model_called = answer.model_called is True
    kept = Proposal(
        None, _name(answer.planner), _name(answer.author), model_called=model_called, message=_text(answer.message),
        hint=_text(answer.hint), more=_more(answer.more),
        usage=_usage(answer.usage) or (asked if model_called else None),
    )  # fmt: skip
    code: object = answer.code
    if code is not None:
        # It says that there is no plan; what it hands over all the same is none.
        if isinstance(code, str) and code in CODES:
            return replace(kept, code=code)
        return replace(kept, code="INTERNAL", message=f"{_name(code)}: {kept.message}")
    if answer.plan is None:
        return replace(kept, code="PLAN_REJECTED", message=kept.message or "the planner returned neither plan nor code")
    try:
        plan = _read(answer.plan)
        _refuse_secrets(plan)
        return replace(kept, plan=plan)
    except PlanexecError as error:
        return replace(kept, code="PLAN_REJECTED", message=error.message, hint=error.hint)


def _read(plan: object) -> Plan:
    """The plan, read from its own text: so it holds what a plan may hold, and can be stored and read again.

    Raises:
        PlanexecError: PLAN_REJECTED if it cannot.
    """
    if not isinstance(plan, Plan):
        raise PlanexecError("PLAN_REJECTED", f"not a plan but a value of type {type(plan).__name__}")
    try:
        text = canonical_bytes(as_json(plan))
    except Exception as error:  # a plan that was put together without being validated
        raise PlanexecError("PLAN_REJECTED", f"not a plan: it cannot be written: {type(error).__name__}") from error
    return parse_plan(text)


def _refuse_secrets(plan: Plan) -> None:
    """A plan is stored, shown and sent to the next planner as it is, so nothing secret may stand in it.

    Raises:
        PlanexecError: PLAN_REJECTED; the plan is stored nowhere.
    """
    variable = own_secret_in(canonical_bytes(as_json(plan)).decode())
    if variable is None:
        return
    parts = {f"step {one_line(step.id, 80)!r}": step.model_dump_json() for step in plan.steps}
    where = next((name for name, text in parts.items() if own_secret_in(text) is not None), "its words")
    raise PlanexecError(
        "PLAN_REJECTED", f"the plan holds the value of {variable[:80]}, a secret of the worker's environment ({where})",
        hint="nothing of it was stored; a tool reads its secrets from the environment itself",
    )  # fmt: skip


def _name(value: object) -> str:
    said = value if isinstance(value, str) else f"a {type(value).__name__}"
    return one_line(_whole(said[:_LONGEST_TEXT]), _LONGEST_NAME)


def _text(value: object) -> str:
    return bounded(_whole(value), _LONGEST_TEXT) if isinstance(value, str) else ""


def _whole(text: str) -> str:
    """The text without half characters, which no page and no terminal can show."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _more(value: object) -> Mapping[str, Any]:
    """What else is known of the plan's origin, as plain JSON."""
    said = {str(name): one for name, one in value.items() if name not in _OURS} if isinstance(value, Mapping) else {}
    try:
        text = json.dumps(said, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return {"left_out": "what the planner says of its plan's origin is no JSON"}
    if len(text) > _MOST_MORE:
        return {"left_out": f"what the planner says of its plan's origin: {len(text)} characters"}
    return dict(json.loads(text))


def _usage(value: object) -> Usage | None:
    if not isinstance(value, Usage):
        return None
    cost = value.cost if isinstance(value.cost, str) and _is_amount(value.cost) else None
    return Usage(
        _name(value.model), max(1, _count(value.calls)), _count(value.tokens_in), _count(value.tokens_out), cost,
        _count(value.ms),
    )  # fmt: skip


def _count(value: object) -> int:
    """A number that somebody else counted; what is none, or below 0, counts as none."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return min(max(0, value), _MOST_COUNTED) if is_count and isinstance(value, int) else 0


def _is_amount(text: str) -> bool:
    try:
        amount = Decimal(text[:50])
    except InvalidOperation:
        return False
    return amount.is_finite() and amount >= 0 and len(text) <= 50  # noqa: PLR2004 - no cost has more digits


def _used_up(settling: Settling, attempt: Attempt) -> Proposal | None:
    """What is answered where the attempt may call no model any more: the budget outlives runs and retries."""
    planner, limits = settling.planner, settling.work.task.limits
    if not planner.calls_model:
        return None
    used = spent(settling.work.journal, attempt.id)
    if left(limits, used).model_may_be_called:
        return None
    text = (
        f"{used.model_calls} of {limits.max_model_calls} model calls and {used.tokens} of {limits.max_tokens} tokens "
        "of this attempt are spent"
    )
    return Proposal(None, planner.name, planner.name, model_called=False, code="BUDGET_EXHAUSTED", message=text)


def _purpose(request: PlanRequest) -> str:
    if request.repair is not None:
        return "a repair"
    return f"revision {request.revising.revision}" if request.revising is not None else "a plan"
