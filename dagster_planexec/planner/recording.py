"""A recording as its file holds it: one answer for any period, and for a re-plan the answers to what was seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.encoding import plain
from dagster_planexec.plan.model import Plan, parse_plan, read_json
from dagster_planexec.planner.request import PlanRequest, Revising, Trigger
from dagster_planexec.world.period import Period


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class After(_Closed):
    """The situation that an answer was recorded in. What is not said matches everything."""

    trigger: Trigger | None = None
    code: str | None = None
    """Said as null: a re-plan without a code, as at a checkpoint."""
    step: str | None = None
    facts: dict[str, Any] = Field(default_factory=dict)
    """Facts of the step at which the run stopped; each must be seen with this very value."""

    def answers_a_refusal(self, codes: set[str]) -> bool:
        """Whether it was written for the code alone: then a plan refused with it, before it ran, is answered too."""
        return self.model_fields_set == {"code"} and self.code in codes

    def matches(self, revising: Revising, period: Period) -> bool:
        """Whether this is the situation."""
        said = self.model_fields_set
        wanted = fill_texts({"step": self.step, "facts": self.facts}, period)
        if "trigger" in said and self.trigger != revising.trigger:
            return False
        if ("code" in said and self.code != revising.code) or ("step" in said and wanted["step"] != revising.step):
            return False
        return not self.facts or any(
            all(name in facts and _text(facts[name]) == _text(value) for name, value in wanted["facts"].items())
            for facts in facts_seen(revising)
        )


class Revision(_Closed):
    """Another plan, and the situation that it was written for."""

    after: After
    answer: dict[str, Any]
    author: str | None = None
    """Who wrote it, if not the author of the recording."""
    prompt: str | None = None
    """SHA-256 of what a model was shown."""


class _Revisions(_Closed):
    revisions: tuple[Revision, ...] = Field(default=(), strict=False)


def facts_seen(revising: Revising) -> list[dict[str, Any]]:
    """The facts of the step at which the run stopped, as plain JSON, newest first; it may have ended more than once."""
    outcomes = [*reversed(revising.recent), *reversed(revising.done)]
    found = [dict(plain(one.facts)) for one in outcomes if one.step.id == revising.step]
    return found or [dict(plain(one.facts)) for one in revising.recent[-1:]]


def _text(value: Any) -> str:  # noqa: ANN401 - any JSON
    return json.dumps(value, sort_keys=True)  # 1 and true are two values here, as in JSON


def read_recording(path: Path) -> dict[str, Any]:
    """The recording's fields; `revisions` are `Revision`s.

    Raises:
        PlanexecError: PLAN_REJECTED if the file is not a recording.
    """
    data = read_file(path)
    if not isinstance(data, dict):
        raise PlanexecError("PLAN_REJECTED", f"recording {path.name} is a {type(data).__name__}, not an object")
    missing = [name for name in ("task", "contract_version", "author", "answer") if name not in data]
    if missing:
        raise PlanexecError("PLAN_REJECTED", f"recording {path.name} lacks {', '.join(missing)}")
    try:
        read = _Revisions.model_validate({"revisions": data.get("revisions", [])})
    except ValidationError as error:
        where = "; ".join(
            f"{'.'.join(str(part) for part in item['loc'])[:80]}: {item['msg'][:120]}"
            for item in error.errors(include_url=False, include_input=False)[:5]
        )
        raise PlanexecError("PLAN_REJECTED", f"recording {path.name}: {where}") from error
    return {**data, "revisions": read.revisions}


def read_file(path: Path) -> Any:  # noqa: ANN401 - any JSON
    """The JSON of a file that holds a plan.

    Raises:
        PlanexecError: PLAN_REJECTED if it cannot be read, or is not such JSON.
    """
    try:
        return read_json(path.read_bytes())
    except (OSError, PlanexecError) as error:
        said = error.message if isinstance(error, PlanexecError) else str(error.strerror)
        raise PlanexecError("PLAN_REJECTED", f"{path.name}: {said}") from error


def contract_version(request: PlanRequest) -> str:
    """The versions of the task's contracts in one word, e.g. `ledger_charges@1,vendor_invoice@1`."""
    return ",".join(f"{name}@{c.version}" for name, c in sorted(request.task.contracts.items()))


def fill(answer: Any, period: Period) -> Plan:  # noqa: ANN401 - any JSON
    """The plan with the period's texts in place of its placeholders.

    Raises:
        PlanexecError: PLAN_REJECTED if what results is not a plan.
    """
    return parse_plan(json.dumps(fill_texts(answer, period)))


def fill_texts(value: Any, period: Period) -> Any:  # noqa: ANN401 - any JSON
    """The value with the period's texts in place of `{period}` and `{compact}`."""
    return _replaced(value, {"{period}": period.text, "{compact}": period.compact})


def leave_out_period(value: Any, period: Period) -> Any:  # noqa: ANN401 - any JSON
    """The value with placeholders where it names the period, so that the recording serves every other one."""
    return _replaced(value, {period.text: "{period}", period.compact: "{compact}"})


def _replaced(value: Any, texts: dict[str, str]) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        for old, new in texts.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, dict):
        return {key: _replaced(child, texts) for key, child in value.items()}
    if isinstance(value, list):
        return [_replaced(child, texts) for child in value]
    return value
