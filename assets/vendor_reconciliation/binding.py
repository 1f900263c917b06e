"""The flagship with its parts; `definitions.py` loads it, and every worker finds it again by its ref."""

from __future__ import annotations

from assets.binding import bind
from assets.vendor_reconciliation.task import FOLDER, TASK

VENDOR_RECONCILIATION = bind(TASK, ref="assets.vendor_reconciliation.binding:VENDOR_RECONCILIATION", folder=FOLDER)
