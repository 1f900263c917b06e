"""What a model is sent: two messages from templates, in which every value is quoted and every block bounded."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from dagster_planexec.checks.static.rule import code_of
from dagster_planexec.checks.static.static_check import RULES, message_of
from dagster_planexec.plan.digest import digest_of
from dagster_planexec.planner.prompt import told
from dagster_planexec.planner.prompt.data import Quoted, block, quoted
from dagster_planexec.planner.request import PlanRequest
from dagster_planexec.planner.strict.plan_form import PlanForm, plan_form

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = ("system.j2", "request.j2")
MOST_LETTERS = 230_000
"""Characters of all messages together; the blocks' own bounds add up to less."""
_BLOCKS = {
    "task": 4_000, "limits": 4_000, "tools": 48_000, "checks": 16_000, "deliverables": 8_000, "inputs": 16_000,
    "expectations": 4_000, "world": 32_000, "patterns": 6_000, "stop": 8_000, "done": 12_000, "nearby": 6_000,
    "earlier": 12_000, "refused": 12_000, "findings": 12_000,
}  # fmt: skip
"""Characters of each block."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Exactly what is sent."""

    messages: tuple[dict[str, str], ...]
    schema: dict[str, Any]
    form: PlanForm
    """How the answer is read back."""
    name: str = "plan"
    """What the schema is called."""

    @property
    def digest(self) -> str:
        """SHA-256 of messages and schema: another prompt is another author."""
        return digest_of(self.as_json())

    def as_json(self) -> dict[str, Any]:
        """The document that `planexec prompt` prints."""
        return {"messages": [dict(message) for message in self.messages], "schema": self.schema}


def prompt_of(request: PlanRequest) -> Prompt:
    """The prompt of a request.

    Raises:
        PlanexecError: BAD_CONTRACT if no strict schema can be made of the task's tools.
    """
    form = plan_form(request)
    values: dict[str, Any] = {
        "rules": [(Quoted(code_of(rule)), Quoted(message_of(code_of(rule)))) for rule in RULES],
        "checkpoints": form.checkpoints,
        "revising": request.revising is not None,
        "repairing": request.repair is not None,
        **{name: block(lines, _BLOCKS[name]) for name, lines in _lines(request, form).items()},
    }
    system, asked = (environment().get_template(name).render(values) for name in TEMPLATES)
    messages = ({"role": "system", "content": system}, {"role": "user", "content": asked})
    return Prompt(messages, form.schema(), form)


@cache
def template_digest() -> str:
    """SHA-256 of the templates: an edited one is another recipe."""
    sha256 = hashlib.sha256()
    for name in TEMPLATES:
        sha256.update(_folder().joinpath(name).read_bytes())
    return sha256.hexdigest()


def _lines(request: PlanRequest, form: PlanForm) -> dict[str, Any]:
    lines: dict[str, Any] = {
        "task": told.task_lines(request), "limits": told.limit_lines(request), "tools": told.tool_lines(request),
        "checks": told.check_lines(request), "deliverables": told.deliverable_lines(request),
        "inputs": told.input_lines(request), "expectations": told.expectation_lines(request),
        "world": told.seen_lines(request.snapshot), "patterns": told.pattern_lines(request),
    }  # fmt: skip
    if request.revising is not None:
        revising = request.revising
        lines |= {
            "stop": told.stop_lines(revising), "done": told.done_lines(revising),
            "nearby": told.nearby_lines(revising, form), "earlier": told.earlier_lines(revising, form),
        }  # fmt: skip
    if request.repair is not None:
        lines |= {"refused": told.refused_lines(request.repair.plan, form), "findings": request.repair.findings}
    return lines


def _folder() -> Any:  # noqa: ANN401 - a traversable of importlib
    return files("dagster_planexec.planner.prompt") / "templates"


def _only_quoted(value: Any) -> Any:  # noqa: ANN401 - any expression of a template
    """Jinja's last word on every expression: what was not quoted yet is quoted now."""
    return str(value) if isinstance(value, Quoted) else quoted(value).text


@cache
def environment() -> Environment:
    """Templates in which every value is quoted."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - 40 ms that only prompts pay

    return Environment(
        loader=PackageLoader("dagster_planexec.planner.prompt", "templates"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - a prompt is no HTML; `finalize` quotes every value
        finalize=_only_quoted,
        trim_blocks=True,
        lstrip_blocks=True,
    )
