"""The clock of this machine."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from dagster_planexec.world.ports import Clock


class SystemClock(Clock):
    """Time as the operating system has it."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
