"""`docs/faults.md`, made from the table that the test runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tests.faults.case import FAULTS, STEPS, Case, NotApplicable
from tests.faults.matrix import CELLS

COMMAND = "python -m tests.faults"
MADE = f"<!-- Made from the table in `tests/faults/steps` by `{COMMAND}`; do not edit. -->"
HEALS = "heals"
INTRO = """\
What becomes of a month when something goes wrong, at any step of the flagship's plan, for every fault of the design.

`tests/faults/test_matrix.py` does each of these things for real and runs the month: to a real S3 server, a real DuckDB
file and real folders, with a second process that holds the file, limits that the kernel keeps, and `kill -9`.
The credit system is the embedded table; where it answers late, wrongly or not at all, a port around it does so.
The test asserts everything that stands here, and for every line also this:

- the steps before it are done; no step after it is called or leaves anything;
- if the month stopped, no credit is issued, and the report names code, step, both sides and the next thing to do;
- when the trouble has passed, what has to be put right is put right, and the month is run again, it succeeds, and
  every credit that is due is issued once.

The page is made from the same table; `tests/faults/test_page.py` fails if it is not."""
LEGEND = """\
A code is what the month stops with, see [codes](codes.md). *heals*: the month succeeds, and nobody has to do anything.
After a process death that is so in the next run of the month.
*n/a*: it cannot happen there; why is said below, and the test proves it. Several entries: several ways, or moments."""


def page() -> str:
    """The whole page."""
    lines = ["# Faults", "", MADE, "", INTRO, "", "## The matrix", "", LEGEND, ""]
    lines += _table(("fault", *(f"`{step}`" for step in STEPS)), _matrix())
    for fault, what in FAULTS.items():
        lines += ["", f"## {fault[0].upper()}{fault[1:]}", "", f"{what[0].upper()}{what[1:]}.", ""]
        lines += _table(("step", "what happens", "when", "the month", "met by", "what to do"), _rows(fault))
    return "\n".join(lines) + "\n"


def _matrix() -> Iterator[Sequence[str]]:
    for fault in FAULTS:
        yield fault, *(", ".join(dict.fromkeys(_short(cell) for cell in _cells(step, fault))) for step in STEPS)


def _short(cell: Case | NotApplicable) -> str:
    if isinstance(cell, NotApplicable):
        return "n/a"
    return f"`{cell.ends.code}`" if cell.ends.code else HEALS


def _rows(fault: str) -> Iterator[Sequence[str]]:
    for step in STEPS:
        for cell in _cells(step, fault):
            if isinstance(cell, NotApplicable):
                yield f"`{step}`", f"n/a: {cell.because}", "", "", "", ""
            else:
                yield f"`{step}`", cell.does, cell.when, _end(cell), _met_by(cell), _to_do(cell)


def _cells(step: str, fault: str) -> list[Case | NotApplicable]:
    return [cell for cell in CELLS if (cell.step, cell.fault) == (step, fault)]


def _end(case: Case) -> str:
    if case.killed:
        return "ends with its process; the next run succeeds"
    tried = f", after {case.ends.tries} tries" if case.ends.tries > 1 else ""
    return f"{case.ends.status}{f' `{case.ends.code}`' if case.ends.code else ''}{tried}"


def _met_by(case: Case) -> str:
    if case.ends.check:
        return f"`{case.ends.check}`"
    return "" if case.heals else "the call"


def _to_do(case: Case) -> str:
    if case.killed:
        return "run the month again, or let the schedule do it"
    if case.heals:
        return "nothing"
    first = f"{case.mended}; then run" if case.mended else "run"
    return f"{first} the month again"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    cells = [header, ("---",) * len(header), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return ["| " + " | ".join(row) + " |" for row in cells]
