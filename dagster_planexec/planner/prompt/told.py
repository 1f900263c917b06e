"""A request in the words of a prompt: tools, task, world, what became of earlier plans. Plain data, not yet quoted."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.expectation_words import STEP, measures
from dagster_planexec.checks.static.arg_shape import shape_of_model
from dagster_planexec.checks.static.policy.claim_weakens_contract import BOUNDS
from dagster_planexec.contract.tool import ToolContract
from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.plan.model import Plan, Step, as_json
from dagster_planexec.planner.request import PlanRequest, Revising, Seen, StepOutcome
from dagster_planexec.planner.strict.forms import NotOfThisFormError
from dagster_planexec.planner.strict.plan_form import PlanForm, allowed

Line = Mapping[str, Any]

_LIMITING = {
    "minLength": "at least {} characters", "maxLength": "at most {} characters", "pattern": "matches {}",
    "minItems": "at least {} of them", "maxItems": "at most {} of them", "minimum": "at least {}",
    "maximum": "at most {}", "enum": "one of {}", "const": "exactly {}",
}  # fmt: skip


def task_lines(request: PlanRequest) -> Iterator[Line]:
    """What the task is for, and the period."""
    task, period = request.task, request.period
    yield {"task": task.name, "version": task.version, "goal": task.goal}
    yield {
        "period": period.text, "in_names": period.compact, "first_day": period.start.isoformat(),
        "day_after": period.end.isoformat(), "time_zone": task.zone,
    }  # fmt: skip


def limit_lines(request: PlanRequest) -> Iterator[Line]:
    """Bounds that a plan cannot move."""
    limits, scope = request.task.limits, request.task.scope
    yield {"most_steps": limits.max_steps, "run_deadline_s": int(limits.run_deadline_s)}
    left = request.revising.replans_left if request.revising else limits.max_replans
    yield {"further_plans_at_most": left}
    if request.task.irreversible is not None:
        yield {
            "credit_cap": limits.credit_cap, "currency": limits.currency,
            "credit_lines_threshold": limits.credit_lines_threshold, "a_plan_may_name": "lower ones only",
        }  # fmt: skip
    if limits.min_matched_share is not None:
        yield {"least_matched_share_of_each_side": limits.min_matched_share}
    yield {"schemas_that_may_be_read": scope.schemas_read, "schemas_that_may_be_written": scope.schemas_write}
    for bucket, prefixes in sorted(scope.buckets.items()):
        yield {"bucket": bucket, "prefixes_that_may_be_read": prefixes}


def tool_lines(request: PlanRequest) -> Iterator[Line]:
    """Each allowed tool: what it takes and gives, what is asked before and after, how it can fail, what it may cost."""
    for name in allowed(request):
        contract = request.tools[name].contract
        line: dict[str, Any] = {
            "tool": name, "does": contract.description, "effect": contract.effect, "args": _arguments(contract),
            "result_fields_to_refer_to": {field: str(shape) for field, shape in shape_of_model(contract.result).fields},
        }  # fmt: skip
        if contract.writes in contract.args.model_fields:
            line["writes_what_is_named_by"] = contract.writes
        line |= {
            "must_hold_before": contract.preconditions, "must_hold_after": contract.postconditions,
            "can_end_with": dict(contract.errors), "deadline_s": int(contract.deadline_s),
            "tries_at_most": contract.max_tries,
        }  # fmt: skip
        optional = {
            "measures": dict(contract.measures), "surprises_when_done": contract.surprises,
            "falls_back_on": contract.fallback,
            "perishable": "what it reads may be deleted by others; read it early" if contract.perishable else None,
        }  # fmt: skip
        yield line | {word: value for word, value in optional.items() if value}


def check_lines(request: PlanRequest) -> Iterator[Line]:
    """Every check that the tools and the task name, in words, with what a claim may make stricter."""
    named: dict[str, None] = {}
    for tool in allowed(request):
        contract = request.tools[tool].contract
        every = (*contract.preconditions, *contract.postconditions, *contract.surprises)
        named |= dict.fromkeys((*every, *request.task.required_claims.get(tool, ())))
    for name in named:
        bounds = {word: f"{bound.type}, {bound.direction} the task's" for word, bound in BOUNDS.get(name, {}).items()}
        yield {"check": name, "says": _in_words(name), **({"a_claim_may_say": bounds} if bounds else {})}


def deliverable_lines(request: PlanRequest) -> Iterator[Line]:
    """What has to be made, by which tools, and what each must pass."""
    for made in request.task.deliverables:
        gates: dict[str, list[str]] = {}
        for tool in made.tools:
            contract = request.tools.get(tool)
            own = (*contract.contract.preconditions, *contract.contract.postconditions) if contract else ()
            gates[tool] = list(dict.fromkeys((*own, *request.task.required_claims.get(tool, ()))))
        line: dict[str, Any] = {"deliverable": made.name, "made_by": made.tools, "required_checks": gates}
        if made.input:
            line["fills_input"] = made.input
        if not made.repeatable:
            line["cannot_be_undone"] = f"comes last, behind everything else; first period: {made.effects_from}"
        yield line


def input_lines(request: PlanRequest) -> Iterator[Line]:
    """Where the data comes from, and what it is declared to be."""
    task = request.task
    drop = task.drop
    if drop is not None:
        rest = drop.pattern_of(request.period)
        said = {"bucket": drop.bucket, "prefix": drop.prefix, "rest_of_key_matches": rest, "fills_input": drop.input}
        if drop.manifest is not None:
            said["manifest"] = f"keys that match {drop.manifest.pattern_of(request.period)}; no data, no step reads it"
        yield {"drop": said}
    for watch in task.watches:
        yield {"watched": watch.name, "counts": dict(watch.measures)}
    for named in task.inputs:
        source = {"live_table": named.source} if named.source else {"filled_by": "the drop"}
        yield {"input": named.name, "role": named.role, "contract": named.contract, **source}
    for name, contract in sorted(task.contracts.items()):
        yield {
            "contract": name, "version": contract.version, "key": contract.key, "amount": contract.amount,
            "date": contract.date, "currency": contract.in_words, "least_rows": contract.min_rows,
            "columns": {column.name: column.sql_type for column in contract.columns},
        }  # fmt: skip
    if task.result is not None:
        yield {"result_of_the_comparison": {word: said for word, said in asdict(task.result).items() if said}}


def expectation_lines(request: PlanRequest) -> Iterator[Line]:
    """What a plan may expect of the world."""
    for about, words in measures(request.task).items():
        yield {"about": about, "measures": words}
    for name in allowed(request):
        for word, counted in request.tools[name].contract.measures.items():
            yield {"about": f"{STEP}<id of a step with {name}>", "measure": word, "counts": counted}


def seen_lines(snapshot: tuple[Seen, ...]) -> Iterator[Line]:
    """The world as it was looked at."""
    for seen in snapshot:
        if seen.facts is None:
            yield {"about": seen.about, "not observed": seen.why_not or "nobody looked", "source": seen.source}
        else:
            yield {"about": seen.about, "seen": seen.facts, "source": seen.source}


def pattern_lines(request: PlanRequest) -> Iterator[Line]:
    """How this task has failed before, the most frequent first."""
    for pattern in sorted(request.patterns, key=lambda one: (-one.count, one.code, one.tool)):
        yield {
            "tool": pattern.tool, "code": pattern.code, "check": pattern.check, "times": pattern.count,
            "last": pattern.last_seen, "plan_shape": pattern.shape, "helped": pattern.resolved_by,
        }  # fmt: skip


def stop_lines(revising: Revising) -> Iterator[Line]:
    """Where the last plan stopped, and every claim that does not hold."""
    yield {"revision_to_write": revising.revision, "why": revising.trigger, "stopped_at": revising.step,
           "code": revising.code}  # fmt: skip
    for verdict in revising.broken:
        yield _verdict(verdict)


def done_lines(revising: Revising) -> Iterator[Line]:
    """What is done and stays done; then the last outcomes."""
    for outcome in revising.done:
        yield {"done": _outcome(outcome)}
    for outcome in revising.recent:
        yield {"recent": _outcome(outcome)}


def nearby_lines(revising: Revising, form: PlanForm) -> Iterator[Line]:
    """The steps around the stop."""
    for step in revising.nearby:
        yield step_line(step, form)


def earlier_lines(revising: Revising, form: PlanForm) -> Iterator[Line]:
    """Every plan so far, step by step; the newest first, as the end is what a bound cuts."""
    for number, plan in reversed([*enumerate(revising.earlier, start=1)]):
        yield {"revision": number, "expects": [expectation.model_dump() for expectation in plan.expects]}
        for step in plan.steps:
            yield {"revision": number, **step_line(step, form)}


def refused_lines(plan: Plan, form: PlanForm) -> Iterator[Line]:
    """A refused plan: what it expects, then its steps."""
    yield {"intent": plan.intent, "expects": [expectation.model_dump() for expectation in plan.expects]}
    for step in plan.steps:
        yield step_line(step, form)


def step_line(step: Step, form: PlanForm) -> Line:
    """A step in the form of an answer, or as it stands if an answer could not say it."""
    alone = Plan(task=form.task, period=form.period, steps=(step,))
    try:
        return dict(form.strict(alone)["steps"][0])
    except NotOfThisFormError:
        return dict(as_json(alone)["steps"][0])


def _outcome(outcome: StepOutcome) -> dict[str, Any]:
    step = outcome.step
    return {"id": step.id, "tool": step.tool, "args": step.args, "outcome": outcome.outcome, "code": outcome.code,
            "result": outcome.facts}  # fmt: skip


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {"does_not_hold": verdict.check, "status": verdict.status, "code": verdict.code,
            "expected": _side(verdict.expected), "seen": _side(verdict.observed), "said": verdict.text}  # fmt: skip


def _side(side: Side) -> dict[str, Any]:
    return {"value": side.value, "source": str(side.source)}


def _in_words(check: str) -> str:
    """The check's own sentence: the first line of its file. A check of the project's own has only its name."""
    binder = BINDERS.get(check)
    said = ((sys.modules[binder.__module__].__doc__ or "") if binder else "").strip().splitlines()
    return said[0] if said else check.replace("_", " ")


def _arguments(contract: ToolContract) -> dict[str, str]:
    """Name to what may stand there, in words; a reference may stand everywhere and is not said again."""
    try:
        said = contract.args.model_json_schema()
    except Exception:  # noqa: BLE001 - a model that pydantic cannot describe still has its shapes
        said = {}
    required = said.get("required", ())
    out = {}
    for name, shape in shape_of_model(contract.args).fields:
        schema = said.get("properties", {}).get(name, {})
        schema = next((o for o in schema.get("anyOf", ()) if o.get("type") != "null"), schema)
        bounds = [text.format(schema[word]) for word, text in _LIMITING.items() if word in schema]
        out[name] = "; ".join((str(shape), *bounds, *(() if name in required else ("may be left out",))))
    return out
