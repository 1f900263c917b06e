"""The flagship with a process for each step: what a fresh process finds by `ref`."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION

MULTIPROCESS = replace(
    VENDOR_RECONCILIATION.binding,
    executor=dg.multiprocess_executor.configured({"max_concurrent": 2}),
    ref="tests.support.multiprocess:MULTIPROCESS",
)
