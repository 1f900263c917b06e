"""What people are told of a hold, in plain text: what waits, how much, until when, and the exact command."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.task import Task
from dagster_planexec.definitions.planned_task import decide_name
from dagster_planexec.journal.encoding import decode
from dagster_planexec.journal.money.approvals.holds import HoldRecord
from dagster_planexec.journal.money.approvals.notices import News, Notice
from dagster_planexec.journal.told.line import one_line


@dataclass(frozen=True, slots=True)
class HoldNews:
    """One piece of news of one hold, for whoever tells people."""

    kind: News
    task: str
    period: str
    hold: str
    code: str
    approvers: tuple[str, ...]
    text: str
    """Plain text, one thing a line. Whoever sends it on as Markdown or HTML has to escape it."""


OnHold = Callable[[HoldNews], None]

_HEADS: dict[News, str] = {
    "opened": "waits for a person",
    "ageing": "still waits for a person",
    "expired": "has expired: nobody decided in time",
    "superseded": "needs no decision any more: another took its place",
}


def log_hold(news: HoldNews) -> None:
    """Write it to the log of the daemon; what a project gets that names nothing better."""
    logging.getLogger("dagster_planexec.holds").warning(news.text)


def news_of(task: Task, notice: Notice) -> HoldNews:
    """The news as it is told."""
    held = notice.hold
    lines = [
        f"{task.name} {held.period}: {_HEADS[notice.kind]}",
        f"code: {held.code} ({meaning(held.code).summary})",
        f"waits: {_waits(held, task.limits.currency)}",
        f"hold: {held.id}, opened {held.opened_at[:16]} UTC"
        + (f", expires {held.expires_at[:16]} UTC" if held.expires_at else ""),
    ]
    if notice.kind in {"opened", "ageing"}:
        lines += _how_to_decide(task, held)
    else:
        lines += [f"why: {one_line(held.closed_because or 'not said')}"]
        lines += [f"next: planexec run {task.name} --partition {held.period}"] if notice.kind == "expired" else []
    approvers = task.approval.approvers
    return HoldNews(notice.kind, task.name, held.period, held.id, held.code, approvers, "\n".join(lines))


def _waits(held: HoldRecord, currency: str | None) -> str:
    facts = {name: decode(held.facts.get(name)) for name in ("count", "amount", "delta")}
    if facts["count"] is None:
        return f"step {held.step}"
    said = f"{_number(facts['count'])} credit lines of {_number(facts['amount'])} {currency or ''}".rstrip()
    delta = facts["delta"]
    differs = f", {_number(delta, signed=True)} against what was issued" if isinstance(delta, Decimal) and delta else ""
    return one_line(said + differs)


def _number(value: object, *, signed: bool = False) -> str:
    if isinstance(value, int | Decimal):
        return f"{value:+,}" if signed else f"{value:,}"
    return str(value)


def _how_to_decide(task: Task, held: HoldRecord) -> list[str]:
    policy = task.approval
    if not policy.approvers:
        return ["next: nobody is on the task's list of approvers, so nobody can release it"]
    who = f"one of {', '.join(policy.approvers)}" if policy.needed == 1 else f"two of {', '.join(policy.approvers)}"
    return [
        f"who decides: {who}",
        f"look: planexec show {held.id}",
        f"approve: planexec approve {held.id} --by NAME --reason TEXT",
        f"reject: planexec reject {held.id} --by NAME --reason TEXT",
        f"or in Dagster: job {decide_name(task)}, tab Launchpad, with the line that --sign-only prints",
    ]
