"""Headers made alike: one publisher writes `Trans No`, `trans_no` and `Trans No ` in three quarters."""

from __future__ import annotations

from collections.abc import Sequence

from dagster_planexec.world.ingest import HeaderRule


def normal_header(name: str, rules: Sequence[HeaderRule]) -> str:
    """A header as it is compared: trimmed, and whatever the rules say, in their order."""
    text = name
    for rule in rules:
        match rule:
            case "lower":
                text = text.casefold()
            case "underscore_to_space":
                text = text.replace("_", " ")
            case "collapse_spaces":
                text = " ".join(text.split())
    return text.strip()
