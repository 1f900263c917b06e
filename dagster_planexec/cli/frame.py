"""What every verb of the command line shares: its options, and how an answer ends the process."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from dagster_planexec.cli.document import EXIT, blank, of_error
from dagster_planexec.cli.printing import inert, print_json, print_run
from dagster_planexec.errors import PlanexecError

Function = TypeVar("Function", bound=Callable[..., Any])

AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
HOME = click.option(
    "--home", type=click.Path(path_type=Path, file_okay=False), default=None,
    help="Folder of journal, runs and reports. Default: $PLANEXEC_HOME, or .planexec in the project.",
)  # fmt: skip
PARTITION = click.option("--partition", required=True, help="The period, e.g. 2026-03 or 2017-Q4.")


_PATHS = frozenset({"answer"})
"""Arguments that are texts and name a file, whose name may be any bytes."""


def _must_be_text(given: dict[str, Any]) -> None:
    """Refuse what no name, period or reason can be, before anybody looks for it.

    Raises:
        PlanexecError: VALIDATION_ERROR.
    """
    texts = [(name, one) for name, value in given.items() for one in (value if isinstance(value, tuple) else (value,))]
    for name, value in texts:
        if isinstance(value, str) and name not in _PATHS and not is_text(value):
            raise PlanexecError(
                "VALIDATION_ERROR", f"{name} {value[:80]!r} has bytes that are no UTF-8: nothing has such a name",
                hint="type it again, or copy it from where it was shown",
            )  # fmt: skip


def is_text(value: str) -> bool:
    """Whether it can be encoded: bytes of the command line that are no UTF-8 arrive as halves of characters."""
    return not any("\ud800" <= one <= "\udfff" for one in value)


def answering(verb: Function) -> Function:
    """Ends the process with the exit code of the verb's document; a refusal is a document, never a stack trace."""

    def wrapped(*args: Any, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - click's own arguments
        try:
            _must_be_text(given)
            document = verb(*args, as_json=as_json, **given)
        except PlanexecError as error:
            document = of_error(error, **_of(given))
        except Exception as error:  # noqa: BLE001 - a program that reads the document must get one; people get the trace
            document = _of_unforeseen(error, **_of(given))
        if document is None:
            return
        if as_json:
            print_json(document)
        else:
            print_run({**blank(), **document})
        sys.exit(EXIT[document["status"]])

    wrapped.__name__, wrapped.__doc__ = verb.__name__, verb.__doc__
    wrapped.__click_params__ = getattr(verb, "__click_params__", [])  # type: ignore[attr-defined]
    return wrapped  # type: ignore[return-value]


def looking_only(verb: Function) -> Function:
    """Lets a verb print its own answer; a refusal, and what nobody foresaw, is a document as for every other verb."""

    def wrapped(*args: Any, as_json: bool, **given: Any) -> None:  # noqa: ANN401 - click's own arguments
        try:
            _must_be_text(given)
            verb(*args, as_json=as_json, **given)
            return
        except PlanexecError as error:
            document = of_error(error)
        except Exception as error:  # noqa: BLE001 - a program that reads the document must get one; people get the trace
            document = _of_unforeseen(error)
        if as_json:
            print_json(document)
        else:
            print_run({**blank(), **document})
        sys.exit(EXIT[document["status"]])

    wrapped.__name__, wrapped.__doc__ = verb.__name__, verb.__doc__
    wrapped.__click_params__ = getattr(verb, "__click_params__", [])  # type: ignore[attr-defined]
    return wrapped  # type: ignore[return-value]


def _of(given: dict[str, Any]) -> dict[str, str | None]:
    """What a document says it is of, as far as that is text."""
    named = {name: given.get(name) for name in ("task", "partition")}
    return {name: value if value is None or is_text(value) else None for name, value in named.items()}


def _of_unforeseen(error: Exception, **of: str | None) -> dict[str, Any]:
    from dagster_planexec.journal.door.redact import said  # noqa: PLC0415 - SQLAlchemy, which `--help` does not pay
    from dagster_planexec.journal.told.line import one_line  # noqa: PLC0415 - as above

    click.echo(inert(said(traceback.format_exc())), err=True, nl=False)
    return of_error(PlanexecError("INTERNAL", f"{type(error).__name__}: {one_line(str(error), 300)}"), **of)
