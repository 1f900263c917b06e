"""Prose where an argument should be."""

from __future__ import annotations

from collections.abc import Iterator

from dagster_planexec.checks.static.proposal import Proposal
from dagster_planexec.checks.static.rule import StaticFinding, quoted
from dagster_planexec.checks.static.structure import StepView, Text
from dagster_planexec.checks.static.wording import is_path_like, is_placeholder, is_prose, is_sentence

NAMES = frozenset({"bucket", "contract", "name", "source", "target", "table", "schema"})
"""Arguments that take one identifier, whatever their type says."""
PATHS = frozenset({"key", "prefix", "file", "path"})
"""Arguments that take a path: it may hold spaces, a sentence it is not."""


def vague_step(proposal: Proposal) -> Iterator[StaticFinding]:
    """A step says what it does in values; words for a reader, or a mark where a value is to come, are none."""
    for view in proposal.steps:
        vague = [(text, wrong) for text in view.texts if (wrong := what_is_vague(text)) is not None]
        for text, wrong in vague:
            yield StaticFinding(
                "vague-step",
                view.id,
                f"args.{text.path}",
                f"a {text.taker or 'value'} that the tool can use as it stands",
                f"{quoted(text.value)}, {wrong}",
                "write the value itself; what only a person understands belongs in rationale",
            )
        if not vague and _only_sentences(view):
            yield StaticFinding(
                "vague-step",
                view.id,
                "args",
                "at least one argument that is a value",
                f"{len(view.texts)} arguments, all of them sentences",
                "name the objects, tables and files the step works on",
            )


def what_is_vague(text: Text) -> str | None:
    """Why a literal is no value, in words; None if it may be one."""
    if is_placeholder(text.value):
        return "which only marks a place"
    kind = text.taker.kind if text.taker is not None else None
    if (kind is not None or text.argument in NAMES) and is_prose(text.value):
        return "which is several words"
    if text.argument in PATHS and is_prose(text.value) and not is_path_like(text.value):
        return "which is neither a path nor a file"
    return None


def _only_sentences(view: StepView) -> bool:
    return bool(view.texts) and not view.uses and all(is_sentence(text.value) for text in view.texts)
