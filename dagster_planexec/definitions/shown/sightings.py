"""What a period relies on, looked at again: an observation on each of the task's assets."""

from __future__ import annotations

from typing import Any

import dagster as dg

from dagster_planexec.contract.task import Task
from dagster_planexec.contract.verdict import Side
from dagster_planexec.execute.reobserve.sighting import Reobserved, Sighting
from dagster_planexec.journal.told.line import one_line, shortened, words
from dagster_planexec.journal.told.sentence import LONGEST_TOLD, instant

MOST_SHOWN = 200
"""Lines in an event."""
LONGEST_CELL = 140
LONGEST_SUBJECT = 1_400
"""Characters of a subject in the table: the longest key with its bucket is shown whole, to be looked for."""
COLUMNS = ("verdict", "subject", "expected", "seen", "means")


def record(instance: dg.DagsterInstance, task: Task, found: Reobserved, stands: str) -> tuple[str, ...]:
    """Report one observation per deliverable, with the partition; the names of the assets."""
    metadata, said = sightings_card(found), summary(found, stands)
    for deliverable in task.deliverables:
        instance.report_runless_asset_event(
            dg.AssetObservation(
                dg.AssetKey(deliverable.name), description=said, partition=found.partition, metadata=metadata
            )
        )
    return tuple(deliverable.name for deliverable in task.deliverables)


def sightings_card(found: Reobserved) -> dict[str, dg.MetadataValue[Any]]:
    """The table and its counts as metadata. Cells are plain text, one line each, bounded."""
    first = [s for s in found.sightings if not s.stands]
    rest = [s for s in found.sightings if s.stands]
    rows = [dg.TableRecord(cells(s)) for s in [*first, *rest][:MOST_SHOWN]]
    schema = dg.TableSchema(columns=[dg.TableColumn(name) for name in COLUMNS])
    counts = {word.replace(" ", "_"): dg.MetadataValue.int(count) for word, count in found.counts.items()}
    return {
        "stands": dg.MetadataValue.bool(found.finding is None),
        "attempt": dg.MetadataValue.text(found.attempt or "none"),
        "sightings": dg.MetadataValue.table(rows, schema=schema),
        **counts,
    }


def cells(sighting: Sighting) -> dict[str, str]:
    """One line, by column: what the command line shows too."""
    return {
        "verdict": sighting.verdict,
        "subject": one_line(sighting.subject, LONGEST_SUBJECT),
        "expected": _value(sighting.expected),
        "seen": _value(sighting.seen),
        "means": one_line(sighting.means),
    }


def _value(side: Side) -> str:
    """The value, and by what and when it was read; what it is about is in the line already."""
    when = f", {instant(side.source.at)}" if side.source.at else ""
    return f"{shortened(words(side.value), LONGEST_CELL)} ({shortened(side.source.reader, LONGEST_CELL)}{when})"


def summary(found: Reobserved, stands: str) -> str:
    """One sentence: nothing changed, or the first thing that did and how many more; and how the period stands.

    Args:
        found: What was seen.
        stands: How the period ended the last time, e.g. `stopped (DUPLICATE_KEY)`: a look changes nothing about that.
    """
    looked = f"{len(found.sightings)} thing{'' if len(found.sightings) == 1 else 's'} looked at"
    if found.finding is not None:
        shut = sum(1 for s in found.sightings if not s.stands)
        more = f" (and {shut - 1} more)" if shut > 1 else ""
        what = found.finding
        said = f"{shortened(what.subject, 260)} {what.verdict}: {what.means}{more}"
    elif found.attempt is None:
        said = f"nothing was admitted for the period yet; {looked}"
    else:
        said = f"what the period relies on is what it was; {looked}"
    end = f"; the period stands at {stands}"
    return one_line(said, LONGEST_TOLD - len(end)) + end
