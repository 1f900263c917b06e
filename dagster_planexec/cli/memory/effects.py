"""The `effects` verbs: what was issued line by line, and the word of a person where no system can say.

`planexec effects list --json` prints, under `effects`, one object per line with `scope`, `period`, `line_key`,
`ordinal`, `amount`, `currency`, `state`, `target`, `task`, `run`, `intended_at`, `ended_at`, `said` and `settled_by`;
and under `totals` the number of lines by state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from dagster_planexec.cli.memory.journals import journals_of, must_be_known, opened
from dagster_planexec.cli.place.asked import nearest, period_of
from dagster_planexec.cli.place.home import as_typed_here
from dagster_planexec.cli.printing import moment, paper, print_json
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.told.line import one_line

if TYPE_CHECKING:
    from dagster_planexec.cli.place.project import ProjectFolder
    from dagster_planexec.journal.journal import Journal
    from dagster_planexec.journal.money.effects import Effect

MOST_SHOWN = 200
_LONGEST_KEY = 60
_LONGEST_NAME = 80


def list_effects(folder: ProjectFolder, task: str | None, partition: str | None, home: Path, *, as_json: bool) -> None:
    """Every line of the ledger, or those of a task or a period.

    Raises:
        PlanexecError: As `must_be_known`; UNKNOWN_PARTITION or VALIDATION_ERROR if the partition is no period.
    """
    from dagster_planexec.journal.money.effects import effects_listed  # noqa: PLC0415 - SQLAlchemy, where it is used

    found: list[Effect] = []
    period, others = None, False
    for name in journals_of(folder, task):
        with opened(name, looking=True) as journal:
            if task is not None:
                must_be_known(folder, journal, task, home)
            period = _period(folder, task, partition)
            if journal is not None and journal.has_effects:
                found += effects_listed(journal, task=task, period=period)
                others = others or (not found and bool(effects_listed(journal)))
    totals: dict[str, int] = dict(sorted(Counter(effect.state for effect in found).items()))
    if as_json:
        print_json({"version": 1, "task": task, "period": period, "totals": totals, "effects": [*map(_json, found)]})
        return
    out = paper()
    if not found:
        out.print(Text(_none(task, period, others=others)))
        return
    table = Table("scope", "period", "line", "amount", "state", "since", "said", box=None, pad_edge=False)
    for effect in found[-MOST_SHOWN:]:
        table.add_row(*(Text(cell) for cell in _cells(effect)))
    out.print(table)
    if len(found) > MOST_SHOWN:
        out.print(Text(f"  the last {MOST_SHOWN} of {len(found):,} lines; --json has them all", "dim"))
    out.print(Text("  " + ", ".join(f"{count:,} {state}" for state, count in totals.items())))
    for line in _what_to_do(totals):
        out.print(Text(f"  {as_typed_here(line)}", "yellow"), soft_wrap=True)


def _period(folder: ProjectFolder, task: str | None, partition: str | None) -> str | None:
    """The period as the ledger writes it. Raises as `list_effects`."""
    from dagster_planexec.world.period import Granularity, Period  # noqa: PLC0415 - with the definitions

    tasks = folder.tasks()
    if partition is None:
        return None
    if task in tasks:
        return period_of(tasks[task], partition, ended=False).text
    # Nobody says whether months or quarters are meant: only what the ledger itself writes means one thing.
    granularities: tuple[Granularity, ...] = ("month", "quarter")
    for granularity in granularities:
        try:
            if Period.parse(partition, granularity).text == partition:
                return partition
        except PlanexecError:
            continue
    raise PlanexecError(
        "VALIDATION_ERROR", f"partition {partition[:40]!r} is no period as the ledger writes it; expected YYYY-MM or "
        "YYYY-Qn", hint="name the task too, and any form of its partitions is read: `planexec effects list TASK`",
    )  # fmt: skip


def _none(task: str | None, period: str | None, *, others: bool) -> str:
    """That there is no line, of what was asked for and no more."""
    if not others:
        return "no line was ever written: nothing was issued, and nothing is about to be"
    of = " ".join(
        part for part in (f"of {one_line(task, 80)}" if task else "", f"for {period}" if period else "") if part
    )
    return f"none {of}; the ledger has other lines"


def settle(folder: ProjectFolder, asked: Mapping[str, Any], *, as_json: bool) -> None:
    """Write what a person saw of a line whose outcome nobody could find out.

    Args:
        folder: The project.
        asked: `scope`, `period`, `line_key`, `ordinal` (None: the one that is open), `state`, `by`, `reason`.
        as_json: Whether one JSON document is printed.

    Raises:
        PlanexecError: UNKNOWN_REFERENCE if the ledger has no such line, VALIDATION_ERROR if its outcome is known,
            DECISION_REFUSED if it is not an approver who says so.
    """
    from dagster_planexec.journal.money.effects import settle_effect  # noqa: PLC0415 - SQLAlchemy, where it is used

    by, reason = (str(asked[name]).strip() for name in ("by", "reason"))
    if not by or not reason or len(by) > _LONGEST_NAME:
        raise PlanexecError(
            "VALIDATION_ERROR", f"--by and --reason say who saw what; a name has at most {_LONGEST_NAME} characters",
            hint='e.g. --by kim --reason "not in their books, ticket 4711"',
        )  # fmt: skip
    with ExitStack() as stack:
        journals = [stack.enter_context(opened(name, looking=False)) for name in journals_of(folder, None)]
        journal, effect = _line([one for one in journals if one is not None], asked)
        key_id = _key_of(folder, effect, by)
        said = f"{reason} (key {key_id})"
        settled = settle_effect(journal, effect, state=asked["state"], by=by, reason=said, lost=asked["lost"])
    if as_json:
        print_json({"version": 1, "effect": _json(settled)})
        return
    shown = " ".join(_cells(settled)[:4])
    paper().print(Text(f"{shown}: {settled.state}, says {one_line(by)}; the next run of the month goes on"))


def _key_of(folder: ProjectFolder, effect: Effect, by: str) -> str:
    """The id of the key of whoever gives their word: it releases money as an approval does, and so needs an approver.

    Raises:
        PlanexecError: DECISION_REFUSED if they are no approver of the task, or their key is not here.
    """
    from dagster_planexec.journal.money.approvals.keys import keys_for  # noqa: PLC0415 - as above

    approvers = folder.task(effect.task).binding.task.approval.approvers
    if by not in approvers:
        raise PlanexecError(
            "DECISION_REFUSED",
            f"{by[:60]!r} is not on the list of approvers of {effect.task} ({', '.join(approvers) or 'nobody is'})",
            hint="whoever says what became of a line is one of the task's approvers, and has their key here",
        )
    return keys_for(approvers).key(by).id


def _line(journals: Sequence[Journal], asked: Mapping[str, Any]) -> tuple[Journal, Effect]:
    from dagster_planexec.journal.money.effects import OPEN, effects_of  # noqa: PLC0415 - as above

    near: list[str] = []
    for journal in journals:
        found = effects_of(journal, asked["scope"], asked["period"])
        mine = [effect for effect in found if effect.key == asked["line_key"]]
        if asked["ordinal"] is not None:
            mine = [effect for effect in mine if effect.ordinal == asked["ordinal"]]
        still_open = [effect for effect in mine if effect.state in OPEN]
        if len(still_open) > 1:
            raise PlanexecError(
                "VALIDATION_ERROR", f"line {asked['line_key'][:_LONGEST_KEY]!r} has {len(still_open)} open parts",
                hint="say which: --ordinal",
            )  # fmt: skip
        if mine:
            return journal, (still_open or mine)[-1]
        near += [effect.key for effect in found]
    raise _unknown(journals, asked, near)


def _unknown(journals: Sequence[Journal], asked: Mapping[str, Any], keys: Sequence[str]) -> PlanexecError:
    from dagster_planexec.journal.money.effects import effects_listed  # noqa: PLC0415 - as above

    places = {f"{effect.scope} {effect.period}" for journal in journals for effect in effects_listed(journal)}
    meant = nearest(asked["line_key"], keys) if keys else nearest(f"{asked['scope']} {asked['period']}", sorted(places))
    hint = f"did you mean {meant[:_LONGEST_KEY]!r}? " if meant else ""
    named = " ".join(str(asked[name])[:_LONGEST_KEY] for name in ("scope", "period", "line_key"))
    return PlanexecError(
        "UNKNOWN_REFERENCE", f"the ledger has no line {named!r}", hint=f"{hint}`planexec effects list` shows them"
    )


def _what_to_do(totals: Mapping[str, int]) -> Iterator[str]:
    if totals.get("intended") or totals.get("unknown"):
        yield (
            "lines that are intended or unknown are looked up by the next run of their month; if the target cannot say:"
            " `planexec effects settle SCOPE PERIOD LINE --as issued|not-issued --by NAME --reason TEXT`"
        )


def _cells(effect: Effect) -> tuple[str, ...]:
    part = f" ({effect.ordinal})" if effect.ordinal > 1 else ""
    by = f"{effect.settled_by}: " if effect.settled_by else ""
    return (
        one_line(effect.scope, _LONGEST_KEY), effect.period, one_line(effect.key, _LONGEST_KEY) + part,
        f"{effect.amount:,} {effect.currency}", effect.state, moment(effect.ended_at or effect.intended_at),
        one_line(by + (effect.said or ""), 80),
    )  # fmt: skip


def _json(effect: Effect) -> dict[str, Any]:
    return {
        "scope": effect.scope, "period": effect.period, "line_key": effect.key, "ordinal": effect.ordinal,
        "amount": f"{effect.amount:f}", "currency": effect.currency, "state": effect.state, "target": effect.target,
        "task": effect.task, "tool": effect.tool, "attempt": effect.attempt, "run": effect.run_id,
        "hold": effect.hold_id, "intended_at": effect.intended_at, "ended_at": effect.ended_at, "said": effect.said,
        "settled_by": effect.settled_by,
    }  # fmt: skip
