"""The beat of a lease: in a thread and on a connection of its own, so that no long query or call silences it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import sqlalchemy as sa

LONGEST_S = 30.0
"""Seconds between two beats at most."""
PER_LEASE = 6
"""Beats in the time that a lease lasts, at least: several may fail before it is over."""
STOPPING_S = 5.0


class Heartbeat:
    """Beats until it is stopped, until the lease is another's, or until no beat could be written for too long.

    A process that ends waits for no beat: the thread is a daemon. The connection is opened with the first beat; a run
    that is quick needs none.

    Args:
        connect: Opens an engine of its own.
        beat: Writes one beat; False if the lease is no longer this holder's.
        give_up: Gives the lease back.
        lasts_s: Seconds that the lease lasts without a beat.
    """

    def __init__(
        self, connect: Callable[[], sa.Engine], *, beat: Callable[[sa.Connection], bool],
        give_up: Callable[[sa.Connection], None], lasts_s: float,
    ) -> None:  # fmt: skip
        self._connect, self._beat, self._give_up, self._lasts_s = connect, beat, give_up, lasts_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="planexec-heartbeat", daemon=True)
        self._engine: sa.Engine | None = None
        self.failed: str | None = None
        """Why the lease is to be taken for lost; None while it is not. The row in the database has the last word."""

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def stop(self) -> None:
        """No more beats. One that waits for the database is not waited for long; it finds the lease given back."""
        self._stopped.set()
        self._thread.join(STOPPING_S)

    def _run(self) -> None:
        every_s, last = min(LONGEST_S, self._lasts_s / PER_LEASE), time.monotonic()
        try:
            while not self._stopped.wait(every_s):
                try:
                    if not self._written():
                        return  # another holds the month, and the fence says who
                    last = time.monotonic()
                except Exception as error:  # noqa: BLE001 - whatever keeps a beat from being written, the next is tried
                    silent_s = time.monotonic() - last
                    if silent_s > self._lasts_s:
                        what = getattr(error, "message", str(error))
                        self.failed = f"no beat of its lease could be written for {silent_s:.0f} s ({what})"
        finally:
            if self._engine is not None:
                self._engine.dispose()

    def _written(self) -> bool:
        """Whether the lease is still this holder's. Once it was taken for lost, it is given back as soon as it can be.

        So that all who work under its token, in whatever process, are refused from then on too.
        """
        self._engine = self._engine or self._connect()
        with self._engine.begin() as db:
            if self.failed is None:
                return self._beat(db)
            self._give_up(db)
        return False
