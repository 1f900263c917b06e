"""The `trace` verb: what happened in a run, event by event, as the journal holds it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from dagster_planexec.cli.place.asked import nearest, period_of
from dagster_planexec.cli.place.home import as_typed_here, remembered, unknown
from dagster_planexec.cli.printing import STYLES, head_of, moment, paper, print_end, print_json
from dagster_planexec.contract.codes import meaning
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.journal.told.sentence import LONGEST_TOLD

if TYPE_CHECKING:
    from rich.console import Console

    from dagster_planexec.cli.place.project import ProjectFolder
    from dagster_planexec.journal.journal import Event, Journal
    from dagster_planexec.journal.told.trace import Trace

MOST_EVENTS = 1_000
"""Events that people are shown; `--json` has them all."""
_LONGEST = 240
_OPEN = frozenset({"passed", "not-applicable"})

Line = tuple[int, str, str]
"""Indent, text, style."""


def trace(folder: ProjectFolder, reference: str, partition: str | None, home: Path, *, as_json: bool) -> None:
    """Print the trace of a task run, a plan run, an attempt, or of a task's period.

    Raises:
        PlanexecError: UNKNOWN_REFERENCE if nothing is remembered of it; UNKNOWN_PARTITION.
    """
    planned = folder.task(reference) if partition is not None or reference in folder.tasks() else None
    period = period_of(planned, partition, ended=False).text if planned is not None and partition is not None else None
    with remembered(planned.binding.journal if planned else "default") as journal:
        found = _find(journal, reference, period, is_task=planned is not None) if journal else None
    if found is None:
        near = nearest(reference, folder.tasks()) if planned is None else None
        raise unknown(reference if period is None else f"{reference} {period}", home, near)
    if as_json:
        print_json(found.as_json())
    else:
        print_trace(found)


def _find(journal: Journal, reference: str, period: str | None, *, is_task: bool) -> Trace | None:
    from dagster_planexec.journal.told.trace import (  # noqa: PLC0415 - SQLAlchemy, which `--help` does not pay
        known_attempt,
        trace_of_attempt,
        trace_of_period,
        trace_of_run,
    )

    if is_task:
        return trace_of_period(journal, reference, period)
    if reference.startswith("att_"):
        attempt = known_attempt(journal, reference)
        return trace_of_attempt(journal, attempt) if attempt else None
    return trace_of_run(journal, reference)


def print_trace(trace: Trace) -> None:
    """The trace for people: a line per event, indented below its step, with what each was called with and answered."""
    out = paper()
    day = _day(trace)
    names = ", ".join((*_of(trace), f"{day} UTC") if day else _of(trace))
    out.print(Text(f"{trace.task} {trace.period}", "bold"), Text(names), soft_wrap=True)
    holds = {e.step: str(e.payload["hold_id"]) for e in trace.events if e.payload.get("hold_id")}
    for event in trace.events[:MOST_EVENTS]:
        if event.kind == "step-done":  # told by `step-ended`
            continue
        if event.at[:10] != day:
            day = event.at[:10]
            out.print(Text(f"{day} UTC", "dim"))
        for n, (indent, text, style) in enumerate(_lines(event)):
            when = event.at[11:23] if n == 0 else " " * 12
            # When the gate decided, the hold had no name yet.
            named = text.replace("`planexec show HOLD`", f"`planexec show {holds.get(event.step, 'HOLD')}`")
            line = f"{'  ' * indent}{one_line(as_typed_here(named), LONGEST_TOLD)}"
            out.print(Text(when, "dim"), Text(line, style), soft_wrap=True)
    if len(trace.events) > MOST_EVENTS:
        out.print(Text(f"… {len(trace.events) - MOST_EVENTS} more events; --json has them", "dim"))
    _print_end(out, trace)


def _day(trace: Trace) -> str | None:
    """The day of the first event, or that of the end of a run without any."""
    ended = (trace.document or {}).get("ended_at")
    return trace.events[0].at[:10] if trace.events else (str(ended)[:10] if ended else None)


def _of(trace: Trace) -> tuple[str, ...]:
    runs = (("attempt", trace.attempt.id if trace.attempt else None), ("task run", trace.task_run_id),
            ("plan run", trace.plan_run_id))  # fmt: skip
    return tuple(f"{what} {name}" for what, name in runs if name)


def _print_end(out: Console, trace: Trace) -> None:
    status, code = trace.end
    if status is None:
        out.print(Text("still going, or its process ended without a word: this is the trace so far", "yellow"))
    else:
        said, hint = trace.words
        print_end(out, Text(head_of(status, code, said), STYLES.get(status, "bold")), _sentence(code, said, hint), hint)
    if trace.later is not None:
        later, hint = trace.later, trace.later["hint"] or ""
        at = f" at {moment(later['ended_at'])}" if later.get("ended_at") else ""
        head = Text(f"later{at}: {head_of(later['status'], later['code'], '')}", STYLES[later["status"]])
        print_end(out, head, _sentence(later["code"], later["text"] or "", hint), hint)


def _sentence(code: str | None, said: str, hint: str) -> str:
    """What was said of the end, or else what its code means."""
    return one_line(said, LONGEST_TOLD).removesuffix(f"; {hint}") or (meaning(code).summary if code else "")


def _lines(event: Event) -> Iterator[Line]:
    left_out = event.payload.get("left_out")
    if isinstance(left_out, Mapping) and len(event.payload) > 1:
        yield from _of_step(event, event.step, event.payload) if event.step else _of_run(event, event.payload)
        where = "; ".join(f"{place}: {what}" for place, what in left_out["at"].items())
        said = f"left out at {left_out['places']} places of {left_out['characters']} characters: {where}"
        yield 1, one_line(said, _LONGEST), "dim"
    elif left_out is not None:
        yield 0, f"{' '.join(filter(None, (event.kind, event.step)))}: {_json(left_out)} were left out", "dim"
    else:
        yield from _of_step(event, event.step, event.payload) if event.step else _of_run(event, event.payload)


def _of_run(event: Event, p: Mapping[str, Any]) -> Iterator[Line]:
    """What is said of the attempt and the run as a whole."""
    match event.kind:
        case "attempt-opened":
            yield 0, "attempt opened" + (f", supersedes {p['supersedes']}" if p.get("supersedes") else ""), ""
        case "run-begun":
            again = ", the planner is to be asked again" if p.get("replan") else ""
            yield 0, f"task run {p.get('task_run')} begins{again}", "bold"
        case "proposed":
            asked = "a model was called" if p["model_called"] else "no model was called"
            refused = f": {p['code']} {p['message']}" if p.get("code") else ""
            yield (
                0,
                f"{p.get('for', 'a plan')} proposed by {p['planner']}: {p['author']}; {asked}{refused}",
                "red" if refused else "",
            )
        case "edited":
            yield 0, f"corrected by code: {'; '.join(p['edits'])}", "yellow"
        case "plan-adopted":
            yield 0, f"plan {p['digest'][:12]} adopted", ""
        case "checked":
            yield from _checked(p)
        case "admitted":
            yield 0, f"plan {p['plan'][:12]} may run", ""
        case "stopped":
            yield 0, f"stopped: {p['code']}, {p['reason']}", "bold red"
        case "run-ended":
            yield 0, f"run ended: {p['status']}" + (f" {p['code']}" if p.get("code") else ""), "bold"
        case _:
            yield 0, f"{event.kind} {_json(p)}", ""


def _of_step(event: Event, step: str, p: Mapping[str, Any]) -> Iterator[Line]:
    """What is said of one step; all but its beginning and its end is indented below it."""
    match event.kind:
        case "step-started":
            yield 0, f"{step}, try {p['try']}", "bold"
        case "judged":
            if p["verdicts"]:
                yield 1, "before the call" if p["phase"] == "pre" else "after the call", "dim"
            yield from _verdicts(p["verdicts"], 2)
        case "calling":
            yield 1, f"calls {p['tool']} {_json(p['args'])}", ""
        case "called":
            yield from _called(p)
        case "decided":
            pause = f" after {p['after_s']:g} s" if "after_s" in p else ""
            code = f" {p['code']}" if p.get("code") else ""
            why = f": {p['reason']}" if p.get("reason") else ""
            yield 1, f"{p['decision']}{pause}{code}, by {p['rule']}{why}", "red" if p["decision"] == "stop" else ""
            yield from _menu(p)
        case "chosen" | "waiting" | "credentials-refreshed":
            yield from _recovering(event.kind, p)
        case "stopped" if p.get("replan"):
            yield 1, "the run ends here: another plan is wanted", "yellow"
        case "stopped":
            yield 1, f"the run stops here: {p['code']}", "bold red"
        case "replanned":
            code = f" {p['code']}" if p.get("code") else ""
            yield 0, f"revision {p['revision']} is asked for after {step}: {p['trigger']}{code}", "bold"
        case "step-ended":
            yield from _step_ended(step, p)
        case _:
            yield 1, f"{event.kind} {_json(p)}", ""


def _recovering(kind: str, p: Mapping[str, Any]) -> Iterator[Line]:
    """What was done about a failure beside deciding on it."""
    match kind:
        case "chosen":
            answer = f"{p.get('chooser')} answered {p['answered']}" if "answered" in p else f"no answer: {p['why_not']}"
            used = "" if p.get("used") else f"; {p.get('overruled') or 'the rules decide by themselves'}"
            menu = ", ".join(one["strategy"] for one in p["shown"]["menu"])
            yield 1, f"asked to choose among {menu}: {answer}{used}", ""
        case "waiting":
            yield 1, f"waits until {moment(p['until'])}", "yellow"
        case _:
            failed = "" if p["ok"] else f": that failed, {p['message']}"
            yield 1, f"credentials are read anew{failed}", "" if p["ok"] else "red"


def _menu(p: Mapping[str, Any]) -> Iterator[Line]:
    """What else there was to do, and which rules took the rest away."""
    if p.get("removed"):
        kept = ", ".join(p["viable"])
        gone = "; ".join(f"{one['strategy']}: {one['rule']}" for one in p["removed"])
        yield 2, f"could be done: {kept}; not {gone}", "dim"


def _checked(p: Mapping[str, Any]) -> Iterator[Line]:
    refused = f"refused: {p['rejected_with']}" if p.get("rejected_with") else "nothing stands against it"
    yield (
        0,
        f"plan {p['digest'][:12]} checked, {p['claims']} claims: {refused}",
        "red" if p.get("rejected_with") else "",
    )
    for f in p["findings"]:
        where = " ".join(str(part) for part in (f["step"], f["field"]) if part)
        style = "red" if f["severity"] == "error" else "yellow"
        yield 1, f"{f['severity']} {f['code']} {where}: expected {f['expected']}, saw {f['seen']}", style
    yield from _verdicts(p["live"], 1)


def _verdicts(verdicts: list[Mapping[str, Any]], indent: int) -> Iterator[Line]:
    for v in verdicts:
        code = f" {v['code']}" if v["code"] else ""
        style = "" if v["status"] in _OPEN else "red"
        yield indent, f"{v['status']}{code} {v['check']}: {one_line(str(v['text']), _LONGEST)}", style


def _called(p: Mapping[str, Any]) -> Iterator[Line]:
    answer = f"answers {_json(p['result'])}" if "result" in p else f"{p['outcome']} {p['code']}: {p['message']}"
    yield 1, f"{one_line(answer, _LONGEST)} in {p['ms']} ms", "" if "result" in p else "red"


def _step_ended(step: str, p: Mapping[str, Any]) -> Iterator[Line]:
    if p["state"] == "not-run":
        yield 0, f"{step}: not run, {p['reason']}", "dim"
        return
    code = f" {p['code']}" if p["code"] else ""
    hold = f", waits as {p['hold_id']}" if p.get("hold_id") else ""
    took = f", {p['tries']} {'try' if p['tries'] == 1 else 'tries'}, {p['duration_ms']} ms" if p["tries"] else ""
    yield 0, f"{step}: {p['state']}{code}{hold}{took}", STYLES.get(p["state"], "")
    if p["state"] == "reused" and p["verdicts"]:
        yield 1, "as it was judged when it was done", "dim"
        yield from _verdicts(p["verdicts"], 2)


def _json(value: Any) -> str:  # noqa: ANN401 - JSON
    return one_line(json.dumps(value, ensure_ascii=False), _LONGEST)
