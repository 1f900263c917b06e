"""The `infer` verb."""

from __future__ import annotations

import re
from pathlib import Path

from dagster_planexec.cli.inferring.draft import as_document, as_yaml, draft_of
from dagster_planexec.cli.inferring.sample import read_sample
from dagster_planexec.cli.printing import inert, print_json, say


def infer_file(file: Path, name: str | None, *, as_json: bool) -> None:
    """Draft a contract and print it.

    Raises:
        PlanexecError: As `read_sample`.
    """
    sample = read_sample(file)
    words, columns = draft_of(sample, name or _name_of(file))
    if as_json:
        print_json(as_document(sample, words, columns))
    else:
        say(inert(as_yaml(sample, words, columns)))


def _name_of(file: Path) -> str:
    return re.sub(r"[^a-z0-9]+", "_", file.name.partition(".")[0].lower()).strip("_")[:60] or "delivery"
