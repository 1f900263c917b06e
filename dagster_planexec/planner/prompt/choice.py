"""What a model is sent that may pick from a menu: two messages, and a schema that has the menu and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dagster_planexec.planner.prompt.data import block
from dagster_planexec.planner.prompt.prompt import environment
from dagster_planexec.recovery.choice import MOST_TEXT, Question

TEMPLATES = ("choice_system.j2", "choice_request.j2")
_MOST_TEXT = 2 * MOST_TEXT
ANSWERED = "strategy"
"""The one field of an answer."""
_MOST = 4_000
"""Characters of each block; a question is far smaller."""


@dataclass(frozen=True, slots=True)
class ChoicePrompt:
    """Exactly what is sent."""

    messages: tuple[dict[str, str], ...]
    schema: dict[str, Any]
    name: str = "choice"
    """What the schema is called."""


def choice_prompt(question: Question) -> ChoicePrompt:
    """The prompt of a question: what the journal keeps of it, as quoted data, and the menu."""
    shown = question.as_json()
    menu = shown.pop("menu")
    shown["text"] = question.text[:_MOST_TEXT]  # whoever asks has bounded it; nothing depends on that
    values = {
        "situation": block([{name: value} for name, value in shown.items()], _MOST),
        "menu": block(menu, _MOST),
    }
    system, asked = (environment().get_template(name).render(values) for name in TEMPLATES)
    messages = ({"role": "system", "content": system}, {"role": "user", "content": asked})
    # An enum of one type and without free text: a server that holds its model to it lets nothing else through.
    one = {"type": "string", "enum": list(question.menu)}
    schema = {
        "type": "object", "properties": {ANSWERED: one}, "required": [ANSWERED], "additionalProperties": False,
    }  # fmt: skip
    return ChoicePrompt(messages, schema)
