"""The verbs of people who decide about money: holds, approvals, keys, and what was issued."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dagster_planexec.cli.frame import AS_JSON, HOME, Function, answering, looking_only
from dagster_planexec.cli.place.home import at_home, looking_home
from dagster_planexec.cli.place.project import find_project


@click.command()
@click.argument("task", required=False)
@click.option("--all", "everything", is_flag=True, help="Also those that are closed.")
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def holds(project: Path | None, task: str | None, *, everything: bool, home: Path | None, as_json: bool) -> None:
    """What waits for a person, of TASK or of every task."""
    from dagster_planexec.cli.verbs.deciding import list_holds  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    looking_home(folder, home)
    list_holds(folder, task, everything=everything, as_json=as_json)


def _decision(verb: Function) -> Function:
    """The arguments of whoever decides."""
    for option in (
        click.option("--sign-only", is_flag=True, help="Record nothing; print the line to paste into Dagster's form."),
        click.option("--reason", required=True, help="Why. It is kept for ever, beside the name."),
        click.option("--by", required=True, metavar="NAME", help="Who decides; the key of that name signs it."),
        click.argument("hold"),
    ):
        verb = option(verb)
    return verb


@click.command()
@_decision
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def approve(project: Path | None, /, hold: str, *, home: Path | None, **said: Any) -> None:  # noqa: ANN401
    """Approve HOLD: exactly what it shows may be done, and nothing else."""
    from dagster_planexec.cli.verbs.deciding import decide_about  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    looking_home(folder, home)
    decide_about(folder, hold, "approve", **said)


@click.command()
@_decision
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def reject(project: Path | None, /, hold: str, *, home: Path | None, **said: Any) -> None:  # noqa: ANN401
    """Reject HOLD: nothing of it is done, whoever else approves it."""
    from dagster_planexec.cli.verbs.deciding import decide_about  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    looking_home(folder, home)
    decide_about(folder, hold, "reject", **said)


@click.command("continue")
@click.argument("hold")
@HOME
@AS_JSON
@click.pass_obj
@answering
def continue_(project: Path | None, hold: str, *, home: Path | None, as_json: bool) -> Any:  # noqa: ANN401, ARG001
    """Finish the month of an approved HOLD: its undone steps, if what was approved is still what would be done."""
    from dagster_planexec.cli.verbs.deciding import go_on  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    return go_on(folder, hold, looking_home(folder, home))


@click.group()
def keys() -> None:
    """The keys that people sign their decisions with."""


@keys.command("new")
@click.argument("name")
@click.option("--show", is_flag=True, help="Print the key itself, for a secret store. Whoever sees it can sign.")
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def new_key(project: Path | None, name: str, *, show: bool, home: Path | None, as_json: bool) -> None:
    """Make a key for NAME in the home's key file, which only its owner can read."""
    from dagster_planexec.cli.verbs.deciding import make_key  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    at_home(folder, home)
    make_key(name, show=show, as_json=as_json)


@click.group()
def effects() -> None:
    """What was issued line by line, and the word of a person where no system can say."""


@effects.command("list")
@click.argument("task", required=False)
@click.option("--partition", default=None, help="Only this period, e.g. 2026-03.")
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def list_effects(
    project: Path | None, task: str | None, partition: str | None, *, home: Path | None, as_json: bool
) -> None:
    """Every line of the ledger of effects, or those of TASK: amount, state, since when, and what was said."""
    from dagster_planexec.cli.memory.effects import list_effects as look  # noqa: PLC0415 - where it is needed

    folder = find_project(project)
    look(folder, task, partition, looking_home(folder, home), as_json=as_json)


@effects.command("settle")
@click.argument("scope")
@click.argument("period")
@click.argument("line_key")
@click.option("--as", "state", type=click.Choice(["issued", "not-issued"]), required=True, help="What you saw.")
@click.option("--by", required=True, metavar="NAME", help="Who saw it.")
@click.option("--reason", required=True, metavar="TEXT", help="Where and how; it is kept with the line.")
@click.option("--ordinal", type=int, default=None, help="Which part of the line, if several are open.")
@click.option("--lost", is_flag=True, help="The ledger says that it was issued, and its target has lost it for good.")
@HOME
@AS_JSON
@click.pass_obj
@looking_only
def settle_effect(project: Path | None, /, *, home: Path | None, as_json: bool, **asked: Any) -> None:  # noqa: ANN401
    """Say how a line ended that is intended or unknown, after a look at the target system. Nothing is issued by it."""
    from dagster_planexec.cli.memory.effects import settle  # noqa: PLC0415 - Dagster, only where it is needed

    folder = find_project(project)
    at_home(folder, home)
    settle(folder, asked, as_json=as_json)


VERBS: tuple[click.Command, ...] = (holds, approve, reject, continue_, keys, effects)
"""What `planexec` has of them."""
