"""Calls the command line as a person would, in this process: the same verbs, documents and exit codes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from dagster_planexec.cli.main import main

PROJECT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True)
class Answer:
    """What a command ended with."""

    exit_code: int
    document: Any
    stderr: str


def planexec(*arguments: str | Path) -> Answer:
    """Run a verb with `--json`. Standard output must be one JSON document, or this raises."""
    given = [str(argument) for argument in arguments]
    result = CliRunner().invoke(main, ["--project", str(PROJECT), *given, "--json"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, json.loads(result.stdout), result.stderr)


def step(document: Any, step_id: str) -> Any:
    """One step of a run's document."""
    return next(s for s in document["steps"] if s["id"] == step_id)
