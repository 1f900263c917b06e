"""Carrying out what cannot be undone: every line is in the ledger before it is issued, and issued once.

This is the one place that does so, for every such tool. What a kill leaves behind is an intent without outcome; the
next run looks that up before it does anything else.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from dagster_planexec.contract.codes import meaning
from dagster_planexec.contract.effects.tally import Tally
from dagster_planexec.contract.outcome import Done, Failed, Held, Outcome
from dagster_planexec.contract.tool import EffectTool, ToolCall
from dagster_planexec.errors import PlanexecError, PortError, RefusedError
from dagster_planexec.execute.effect.approval.wanted import why_no_longer
from dagster_planexec.execute.effect.ledger.look_up import ask, fresh, look_up
from dagster_planexec.execute.effect.ledger.reckoning import SENDING, Reckoning, Where, reckon
from dagster_planexec.execute.effect.not_due import why_not_due
from dagster_planexec.execute.observer import DeadlinePassedError, within
from dagster_planexec.execute.work import Run
from dagster_planexec.journal.money.approvals.holds import close_hold
from dagster_planexec.journal.money.effects import Effect, Ended, Intent, Owner, effects_of, write_ends, write_intents
from dagster_planexec.world.observation import Fact
from dagster_planexec.world.ports import Credit, CreditLine
from dagster_planexec.world.probes.result.to_issue import by_place

AT_ONCE = 50
"""Outcomes that are written together. One that a kill takes away is looked up by the next run."""
AT_LEAST_S = 1.0
PATIENCE = 3
"""Times that a target may ask to be called later, for one line. It has refused, so nothing is sent twice."""
LONGEST_PAUSE_S = 30.0
_AGAIN = "run the month again: it is looked up first, and nothing is issued twice"
_SETTLE = (
    "look in the target system, then say what you saw: `planexec effects settle`; `planexec effects list` has the lines"
)


LOST = (
    "find out where it went, and run the month again; if the target has lost it for good: `planexec effects settle "
    "--lost` takes your word"
)


class _GoesNoFurtherError(Exception):
    """Ends a call with an outcome."""

    def __init__(self, outcome: Failed | Held, *, unknown: bool = False) -> None:
        super().__init__(outcome.code)
        self.outcome = outcome
        self.unknown = unknown


def carry_out(run: Run, tool: EffectTool, args: Any, call: ToolCall, *, grace_s: float) -> tuple[Outcome, bool]:  # noqa: ANN401
    """Issue what is due and not issued yet, line by line.

    Args:
        run: The run.
        tool: Whose lines.
        args: As the contract's model has them.
        call: With what the preview saw, and the codes that people have released for exactly that.
        grace_s: Seconds after its own deadline that one question to the target is given up.

    Returns:
        The outcome, and whether something may have happened that nobody knows of.
    """
    try:
        return _Batch(run, tool, args, call, grace_s).whole(), False
    except _GoesNoFurtherError as end:
        return end.outcome, end.unknown
    except PlanexecError as error:  # the journal: what it did not take is looked up by the next run
        return Failed(error.code, error.message), False


@dataclass
class _Batch:
    run: Run
    tool: EffectTool
    args: Any
    call: ToolCall
    grace_s: float
    ended: list[Ended] = field(default_factory=list)
    """Outcomes that are not written yet."""
    written: float = field(default_factory=time.monotonic)

    def whole(self) -> Outcome:
        run, tool, call = self.run, self.tool, self.call
        not_due = why_not_due(run, tool.contract)
        if not_due is not None:
            raise _GoesNoFurtherError(Failed("EFFECTS_NOT_DUE", not_due))
        if not run.work.journal.lasts:
            text = "the journal is in the memory of this process: what is issued would be forgotten with it"
            raise _GoesNoFurtherError(Failed("BAD_CONTRACT", text))
        due = self._asked("its lines", lambda fresh_call: tool.due(self.args, fresh_call))
        where = Where(
            tool.scope(call), run.period.text, tool.currency(call), tool.target(call.ports), run.run_id,
            by_key=tool.contract.lookup == "by-key",
        )  # fmt: skip
        effects = effects_of(run.work.journal, where.scope, where.period)
        listed = self._asked("what is issued", tool.listed)
        self._require_currency(listed, where)
        found = reckon(due, listed, effects, where)
        owner = Owner(
            run.work.task.name, tool.contract.name, where.target, run.attempt, run.run_id, run.lease_token, call.hold_id
        )  # fmt: skip
        # Whatever comes of this call, what was found out of earlier ones stays known.
        write_intents(run.work.journal, owner, (), ended=found.ended, adopted=found.adopted)
        self._require_known(found, where)
        write_ends(run.work.journal, run.run_id, self._dropped(found))
        self._require_judged(due, found)
        self._require_approved(found, effects, by_place(listed))
        tally = self._tally(len(due), found)
        self._require_released(found, tally, where)
        held = tool.held(self.args, call, tally)
        if held is not None:
            raise _GoesNoFurtherError(held)
        self._require_wanted(0, len(found.intents))
        ids = write_intents(run.work.journal, owner, found.intents)
        try:
            for number, intent in enumerate(found.intents):
                self._require_wanted(number, len(found.intents))
                self._one(intent, ids[intent.credit], by_key=where.by_key)
                self._write(all_of_them=False)
        finally:
            self._write(all_of_them=True)
        return Done(tool.result(self.args, call, tally))

    # -- before anything is issued -------------------------------------------------------------------------------

    def _asked(self, what: str, question: Any) -> Any:  # noqa: ANN401 - of each question
        """The tool's answer, before anything happened."""
        call = fresh(self.call)
        try:
            return within(call.deadline_s + self.grace_s, lambda: question(call))
        except DeadlinePassedError:
            call.given_up.set()
            text = f"{self.tool.contract.name} did not say {what} within its {call.deadline_s:g} s; nothing was issued"
            raise _GoesNoFurtherError(Failed("TIMEOUT", text)) from None
        except PortError as error:
            failed = Failed(error.code, error.message, retry_after_s=error.retry_after_s)
            raise _GoesNoFurtherError(failed) from error

    def _require_currency(self, listed: Sequence[Credit], where: Where) -> None:
        other = next((credit for credit in listed if credit.currency != where.currency), None)
        if other is not None:
            text = f"line {other.key[:80]!r} was issued in {other.currency[:10]!r}; expected {where.currency}"
            raise _GoesNoFurtherError(Failed("EFFECT_DIFFERS", f"{text}; nothing was issued"))

    def _require_known(self, found: Reckoning, where: Where) -> None:
        """Nothing is issued while the outcome of an earlier line is unknown, or the target has lost one."""
        for effect in found.missing:
            seen = ask(self.tool, effect.credit, self.call, grace_s=self.grace_s)
            if seen.credit is None:
                does = f"does not know it{f' ({seen.trouble})' if seen.trouble else ''}"
            elif seen.credit.amount == effect.amount:
                does = "knows it and does not list it: its list cannot be trusted now"
            else:
                does = f"holds {seen.credit.amount} {seen.credit.currency} under its key"
            text = f"the ledger says that {_line(effect)} was issued at {effect.ended_at}, and {where.target} {does}"
            raise _GoesNoFurtherError(Failed("EFFECT_UNKNOWN", f"{text}; nothing more is issued. {LOST}"), unknown=True)
        if found.unsure:
            first, count = found.unsure[0], len(found.unsure)
            if first.run_id == self.run.run_id:
                why, hint = "it was begun by this very run, which does not send it twice", _AGAIN
            elif first.target != where.target:
                why, hint = f"it was begun for {first.target}, which is not asked here", _SETTLE
            elif not where.by_key:
                why, hint = f"{where.target} cannot say of a line that it is not there", _SETTLE
            else:
                why, hint = "less is due now than what it was meant to be, and it may still arrive", _SETTLE
            text = f"{count} lines have no known outcome, first {_line(first)}: {why}"
            raise _GoesNoFurtherError(Failed("EFFECT_UNKNOWN", f"{text}. {hint}", {"unknown": count}), unknown=True)

    def _dropped(self, found: Reckoning) -> list[Ended]:
        """Intents for which nothing is due any more: not there now, and never to be sent."""
        said = "the target does not know it, and it is no longer due"
        dropped: list[Ended] = []
        for effect in found.dropped:
            seen = ask(self.tool, effect.credit, self.call, grace_s=self.grace_s)
            if seen.trouble or seen.credit is not None:
                text = f"{_line(effect)} was begun and is no longer due: {seen.trouble or 'the target has it now'}"
                raise _GoesNoFurtherError(Failed("EFFECT_UNKNOWN", f"{text}. {_AGAIN}"), unknown=True)
            dropped.append(Ended(effect.id, "not-issued", said))
        return dropped

    def _require_judged(self, due: Sequence[CreditLine], found: Reckoning) -> None:
        """The lines are exactly those that the preview saw."""
        seen = self.call.preview.facts if self.call.preview is not None else {}
        now = {"due_digest": {line.key: line.amount for line in due}, "digest": found.need}
        for fact, lines in now.items():
            if fact in seen and seen[fact] != self.tool.digest(lines, self.call):
                text = f"the lines of {self.tool.contract.name} changed after they were judged; nothing was issued"
                raise _GoesNoFurtherError(Failed("APPROVAL_STALE", text))

    def _require_approved(
        self, found: Reckoning, effects: Sequence[Effect], there: Mapping[tuple[str, int], Decimal]
    ) -> None:
        """What is left to issue, with what was begun under the same hold, is to the line what people have approved."""
        call = self.call
        if call.hold_id is None or call.approved is None:
            return
        whole = dict(found.need)
        for effect in effects:
            is_left = effect.key in found.need and (effect.key, effect.ordinal) not in there
            if effect.hold_id == call.hold_id and not is_left:
                whole[effect.key] = whole.get(effect.key, Decimal(0)) + effect.amount
        if self.tool.digest(whole, call) == call.approved:
            return
        text = f"what is left to issue is not part of what was approved under {call.hold_id}; nothing more was issued"
        close_hold(self.run.work.journal, call.hold_id, "stale", text, now=call.ports.clock.now())
        raise _GoesNoFurtherError(Failed("APPROVAL_STALE", text))

    def _require_released(self, found: Reckoning, tally: Tally, where: Where) -> None:
        """Another amount under a known key is for a person, with the difference."""
        if not (found.raised or found.over) or "EFFECT_DIFFERS" in self.call.released:
            return
        more = sum((amount for key, amount in found.need.items() if key in found.known), Decimal(0))
        text = (
            f"{found.raised} lines are due with {more} {where.currency} more than was issued, {len(found.over)} with"
            f" {tally.over} less, which cannot be taken back here; nothing was issued"
        )
        facts: dict[str, Fact] = {
            "count": tally.count, "amount": tally.amount, "raised": found.raised, "over_amount": tally.over,
            "delta": more - tally.over,
        }  # fmt: skip
        raise _GoesNoFurtherError(Held("EFFECT_DIFFERS", text, facts))

    def _tally(self, due: int, found: Reckoning) -> Tally:
        return Tally(
            len(found.need), sum(found.need.values(), Decimal(0)), due - len(found.need),
            sum(found.known.values(), Decimal(0)), len(found.elsewhere), sum(found.over.values(), Decimal(0)),
        )  # fmt: skip

    # -- one line ------------------------------------------------------------------------------------------------

    def _require_wanted(self, number: int, of: int) -> None:
        why = why_no_longer(self.run, self.call)
        if why is not None:
            text = f"{why.message}: {number} of {of} lines were issued, the rest goes on in the next run"
            raise _GoesNoFurtherError(Failed(why.code, text, {"issued": number, "count": of}))

    def _one(self, intent: Intent, effect: int, *, by_key: bool) -> None:
        credit = intent.credit
        if intent.look_first:
            # An earlier run may have sent it after all, and the list may be older than that.
            seen = ask(self.tool, credit, self.call, grace_s=self.grace_s)
            if seen.trouble:
                self._unknown(effect, credit, f"it could not be looked up: {seen.trouble}")
            if self._is_there(seen.credit, effect, credit):
                return
        if not by_key:
            write_ends(self.run.work.journal, self.run.run_id, [Ended(effect, "intended", SENDING)])
        broke_off = self._sent(effect, credit)
        if broke_off is None:
            self._has(effect, "the target said so")
            return
        self.ended.append(Ended(effect, "unknown", broke_off))
        self._write(all_of_them=True)
        seen = look_up(self.tool, credit, self.call, grace_s=self.grace_s)
        if self._is_there(seen.credit, effect, credit):
            return
        after = seen.trouble or "it is not there now"
        hint = _AGAIN if by_key else _SETTLE
        text = f"issuing {_named(credit)} broke off ({broke_off}); looked up: {after}; nothing was sent twice"
        raise _GoesNoFurtherError(Failed("EFFECT_UNKNOWN", f"{text}. {hint}"), unknown=True)

    def _sent(self, effect: int, credit: Credit) -> str | None:
        """Send it. What broke off, if it did; raises if the target refused, for then nothing happened."""
        for waited in range(PATIENCE + 1):
            call = fresh(self.call)
            try:
                within(call.deadline_s + self.grace_s, partial(self.tool.issue, credit, call))
            except DeadlinePassedError:
                call.given_up.set()
                return f"TIMEOUT: {self.tool.contract.name} did not come back within its {call.deadline_s:g} s"
            except RefusedError as error:
                if error.code == "THROTTLED" and waited < PATIENCE:
                    self.call.ports.clock.sleep(min(error.retry_after_s or 1.0, LONGEST_PAUSE_S))
                    self._require_wanted_between()
                    continue
                self.ended.append(Ended(effect, "refused", f"{error.code}: {error.message}"))
                text = f"{_named(credit)} was refused: {error.message}"
                raise _GoesNoFurtherError(Failed(error.code, text, retry_after_s=error.retry_after_s)) from error
            except PortError as error:
                return f"{error.code}: {error.message[:300]}"
            except Exception as error:  # noqa: BLE001 - a tool that raises may have done it
                return f"INTERNAL: {type(error).__name__}: {str(error)[:300]}"
            else:
                return None
        raise AssertionError  # the last try returns or raises

    def _require_wanted_between(self) -> None:
        why = why_no_longer(self.run, self.call)
        if why is not None:
            raise _GoesNoFurtherError(Failed(why.code, f"{why.message}; the rest goes on in the next run"))

    def _is_there(self, held: Credit | None, effect: int, credit: Credit) -> bool:
        if held is None:
            return False
        if (held.amount, held.currency) == (credit.amount, credit.currency):
            self._has(effect, "looked up: the target knows it")
            return True
        text = f"the target holds {held.amount} {held.currency} under the key of {_named(credit)}"
        self.ended.append(Ended(effect, "refused", text))
        raise _GoesNoFurtherError(Failed("EFFECT_DIFFERS", f"{text}. {meaning('EFFECT_DIFFERS').hint}"))

    def _unknown(self, effect: int, credit: Credit, why: str) -> None:
        self.ended.append(Ended(effect, "unknown", why))
        text = f"{_named(credit)} has no known outcome: {why}; nothing was sent twice"
        raise _GoesNoFurtherError(Failed("EFFECT_UNKNOWN", f"{text}. {_AGAIN}"), unknown=True)

    def _has(self, effect: int, said: str) -> None:
        self.ended.append(Ended(effect, "issued", said))

    def _write(self, *, all_of_them: bool) -> None:
        late = time.monotonic() - self.written >= AT_LEAST_S
        if self.ended and (all_of_them or late or len(self.ended) >= AT_ONCE):
            ended, self.ended = self.ended, []
            write_ends(self.run.work.journal, self.run.run_id, ended)
            self.written = time.monotonic()


def _line(effect: Effect) -> str:
    return _named(effect.credit)


def _named(credit: Credit) -> str:
    part = f", part {credit.ordinal}" if credit.ordinal > 1 else ""
    return f"{credit.amount} {credit.currency} for line {credit.key[:80]!r}{part} of {credit.scope} {credit.period}"
