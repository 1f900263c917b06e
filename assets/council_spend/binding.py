"""The council's spending with its parts; `definitions.py` loads it, and every worker finds it again by its ref."""

from __future__ import annotations

from assets.binding import bind
from assets.council_spend.task import FOLDER, TASK

COUNCIL_SPEND = bind(TASK, ref="assets.council_spend.binding:COUNCIL_SPEND", folder=FOLDER)
