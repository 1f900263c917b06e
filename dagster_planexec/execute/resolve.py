"""A step's arguments with every reference replaced by what the earlier step left, and validated by the tool's model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from dagster_planexec.checks.scope import FILES, Produced, StepScope
from dagster_planexec.contract.outcome import Failed
from dagster_planexec.contract.tool import Model
from dagster_planexec.execute.work import Run, call_of
from dagster_planexec.journal.door.redact import TAKEN_OUT
from dagster_planexec.journal.encoding import encode
from dagster_planexec.journal.results import DoneStep, done_in_run, identity_of
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.plan.model import Plan, Step
from dagster_planexec.plan.reference import Reference, references, resolve


@dataclass(frozen=True, slots=True)
class Resolved:
    """Arguments ready for a call, and the done steps they came from."""

    args: Model
    raw: Mapping[str, Any]
    """The arguments as JSON, references replaced."""
    inputs: Mapping[str, DoneStep]


Respelling = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Unfit:
    """Arguments that the tool does not take."""

    failed: Failed
    raw: Mapping[str, Any] | None
    """None if they could not even be put together."""


class _SecretError(Exception):
    """What is referred to was not kept."""


def resolve_step(
    run: Run, step: Step, inputs: Mapping[str, DoneStep], *, respell: Respelling | None = None
) -> Resolved | Unfit:
    """The step's arguments, or why they cannot be had.

    Args:
        run: The run.
        step: The step.
        inputs: What the steps left that it refers to.
        respell: Writes them in another way first, if there is one.
    """

    def look_up(reference: Reference) -> Any:  # noqa: ANN401 - a result field is any JSON
        done = inputs[reference.step]
        if "result" in done.taken_out and TAKEN_OUT in str(done.result[reference.field]):
            raise _SecretError(reference)
        return done.result[reference.field]

    try:
        raw = resolve(step.args, look_up)
    except KeyError as error:
        text = f"step {step.id!r} refers to a result that is not there: {error}"
        return Unfit(Failed("VALIDATION_ERROR", text), None)
    except _SecretError as error:
        text = (
            f"step {step.id!r} refers to {error.args[0]}, which held a secret of the worker's environment: "
            "it was shown to nobody, kept nowhere, and cannot be used"
        )
        return Unfit(Failed("VALIDATION_ERROR", text), None)
    if respell is not None:
        raw = dict(respell(raw) or raw)
    try:
        args = run.work.tools[step.tool].contract.args.model_validate(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return Unfit(Failed("VALIDATION_ERROR", f"step {step.id!r}, argument {where}: {first['msg']}"), raw)
    return Resolved(args, raw, inputs)


def inputs_of(run: Run, step: Step) -> dict[str, DoneStep] | str:
    """What each referenced or awaited step of this run left, or the id of the first that is not done."""
    needed = [reference.step for reference in references(step)] + list(step.depends_on)
    found: dict[str, DoneStep] = {}
    for name in dict.fromkeys(needed):
        done = done_in_run(run.work.journal, run.attempt, run.run_id, name)
        if done is None:
            return name
        found[name] = done
    referenced = {reference.step for reference in references(step)}
    return {name: done for name, done in found.items() if name in referenced}


def scope_of(run: Run, step: Step, resolved: Resolved, result: BaseModel | None = None, **more: Any) -> StepScope:  # noqa: ANN401
    """What the step's checks may be bound from."""
    tool = run.work.tools[step.tool]
    return StepScope(
        task=run.work.task, period=run.period, step=step.id, contract=tool.contract, args=resolved.args, result=result,
        admission=run.admission, roots=run.work.ports.roots, consumed=consumed_by(run.plan),
        inputs={name: Produced(scope_again(run, done), done.seal) for name, done in resolved.inputs.items()},
        backfill=run.backfill, claim_args=claim_args_of(step),
        elsewhere=call_of(run, step.id, tool.contract).elsewhere, **more,
    )  # fmt: skip


def scope_again(run: Run, done: DoneStep) -> StepScope:
    """The scope of a done step, to judge again what was judged after it, as strictly as it was judged then."""
    tool = run.work.tools[done.tool]
    return StepScope(
        task=run.work.task, period=run.period, step=done.step, contract=tool.contract,
        args=tool.contract.args.model_validate(done.args), result=tool.contract.result.model_validate(done.result),
        admission=run.admission, roots=run.work.ports.roots, consumed=consumed_by(run.plan), witnessed=done.witnessed,
        backfill=run.backfill,
        claim_args=next((claim_args_of(step) for step in run.plan.steps if step.id == done.step), {}),
    )  # fmt: skip


def claim_args_of(step: Step) -> dict[str, dict[str, Any]]:
    """What the step's claims give to checks. A check is claimed once per step, see `claim-weakens-contract`."""
    return {claim.claim: claim.args for claim in step.claims if claim.args}


def identity_with(step: Step, raw: Mapping[str, Any], seals: Mapping[str, str]) -> str:
    """What makes a done step this one; its claims too, for a step that was judged less strictly is not reused."""
    return identity_of(step.tool, raw, seals, [claim.model_dump(mode="json") for claim in step.claims])


def consumed_by(plan: Plan) -> frozenset[tuple[str, str]]:
    """(bucket, key) of every object and (FILES, path) of every file that a step of the plan names to be read."""
    named = [(step.args.get("bucket"), step.args.get("key")) for step in plan.steps]
    named += [(FILES, step.args.get("path")) for step in plan.steps]
    return frozenset((b, k) for b, k in named if isinstance(b, str) and isinstance(k, str))


def seal_digest(done: DoneStep) -> str:
    """The seal's facts in one word, for the identity of the steps that use them."""
    return digest_of(encode(done.seal.facts))
