"""The investigation with its parts; `definitions.py` loads it, and every worker finds it again by its ref."""

from __future__ import annotations

from assets.binding import bind_local
from assets.row_count_investigation.checks.cause_is_carried import cause_is_carried
from assets.row_count_investigation.checks.finding_is_written import finding_is_written
from assets.row_count_investigation.checks.measures_add_up import measures_add_up
from assets.row_count_investigation.task import FOLDER, TASK
from assets.row_count_investigation.tools.conclude import Conclude
from assets.row_count_investigation.tools.measures import (
    CompareDays,
    CompareRepeats,
    CompareValues,
    CompareView,
    ReadLoadLog,
)

TOOLS = (CompareDays(), ReadLoadLog(), CompareValues(), CompareView(), CompareRepeats(), Conclude())
CHECKS = {check.__name__: check for check in (measures_add_up, cause_is_carried, finding_is_written)}

ROW_COUNT_INVESTIGATION = bind_local(
    TASK,
    ref="assets.row_count_investigation.binding:ROW_COUNT_INVESTIGATION",
    folder=FOLDER,
    tools=TOOLS,
    checks=CHECKS,
)
