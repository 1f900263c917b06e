"""The past of a task as the journal has it: what checks observed when a period settled, never what a tool said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

import sqlalchemy as sa

from dagster_planexec.contract.task import Task
from dagster_planexec.contract.verdict import Verdict
from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.admission import decode_admission
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.results import tools_done
from dagster_planexec.journal.store import tables as t
from dagster_planexec.journal.store.rows import Attempt, attempt_of
from dagster_planexec.world.history import History, PastPeriod
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.period import Period

MOST = 12
"""Periods back that are looked at: what was usual years ago says little."""
_PAIR = 2


class JournalHistory(History):
    """Of one task. A period counts if its newest attempt has settled: nothing held, failed or superseded does."""

    def __init__(self, journal: Journal, task: Task) -> None:
        self._journal, self._task = journal, task

    def settled_before(self, period: Period) -> tuple[PastPeriod, ...]:
        """One query for the attempts, one for each of the last twelve."""
        found = sorted(self._settled(period), key=lambda one: one[0])[-MOST:]
        return tuple(self._seen(attempt) for _, attempt in found)

    def _settled(self, period: Period) -> Iterator[tuple[Period, Attempt]]:
        query = sa.select(t.attempts).where(t.attempts.c.task == self._task.name).order_by(t.attempts.c.opened_seq)
        with self._journal.reader.connect() as db:
            newest = {row["period"]: attempt_of(row) for row in db.execute(query).mappings()}
        for text, attempt in newest.items():
            if attempt.status != "settled":
                continue
            with suppress(PlanexecError):  # of a time when the task had periods of another length: no measure either
                earlier = Period.parse(text, self._task.granularity)
                if earlier < period:
                    yield earlier, attempt

    def _seen(self, attempt: Attempt) -> PastPeriod:
        # The last verdict of each name: what an earlier plan of the attempt was told is not what settled.
        verdicts = {v.check: v for done in tools_done(self._journal, attempt.id) for v in done.verdicts if v.opens}
        rows, total = _observed(verdicts, "row_counts_agree"), _observed(verdicts, "amounts_agree")
        return PastPeriod(
            attempt.period,
            attempt.id,
            frozenset(admitted.sha256 for admitted in decode_admission(attempt.admission).objects),
            rows if isinstance(rows, int) and not isinstance(rows, bool) else None,
            total if isinstance(total, Decimal) else None,
            self._lines(_observed(verdicts, "closing_identities_hold")),
        )

    def _lines(self, observed: Fact) -> dict[str, tuple[int, int]]:
        shape = self._task.result
        counted: Any = observed.get("lines") if isinstance(observed, Mapping) else None
        if shape is None or len(shape.only) > _PAIR or not isinstance(counted, Mapping):
            return {}  # of three sides, a line that differs may lack one: its words do not say which
        matched = sum(int(counted.get(word, 0)) for word in shape.paired)
        return {side: (matched + int(counted.get(word, 0)), matched) for side, word in shape.only.items()}


def _observed(verdicts: Mapping[str, Verdict], check: str) -> Fact:
    verdict = verdicts.get(check)
    return verdict.observed.value if verdict is not None else None
