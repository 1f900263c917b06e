"""Whether what lies in a drop for a period is all: by its manifest, else when nothing has changed for a while.

An upload in several pieces that has not been completed is not listed by S3, so nothing here can know of it: it comes
when it is completed, and changes the set then.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.contract.layout import drop_of
from dagster_planexec.errors import PortError
from dagster_planexec.execute.work import Work
from dagster_planexec.journal.arrivals.drop import Lying, lying_for
from dagster_planexec.journal.arrivals.requests import Delivery
from dagster_planexec.world.delivery.manifest.stated import Stated, read_manifest
from dagster_planexec.world.period import Period
from dagster_planexec.world.probes.delivery.manifest.reading import read_bytes

UNFINISHED_S = 24 * 3600
"""Seconds without change after which an object that is named like an unfinished upload is waited for no more."""
READING_S = 10.0
"""Seconds of reading manifests in one tick; those that are left are read in the next one."""
_UNFINISHED = re.compile(
    r"(?:.*/)?(?:_temporary|\.temporary|_tmp)/.*"
    r"|.*\.(?:tmp|temp|part|partial|filepart|crdownload|uploading|inprogress|incomplete)",
    re.DOTALL | re.IGNORECASE,
)
"""Names that clients give to what they have not finished writing."""

_OF_ONE_MANIFEST = frozenset({"BAD_MANIFEST", "OBJECT_ARCHIVED"})
"""Codes that say something of one manifest and nothing of the store: no other month waits for it."""

Why = Literal["changing", "parts", "uploads", "next-time"]


@dataclass(frozen=True, slots=True)
class NotYet:
    """Why a delivery is not asked for now."""

    why: Why
    said: str
    """Period, what it waits for, and until when; names are quoted and bounded."""


@dataclass(frozen=True, slots=True)
class Settled:
    """A delivery that is asked for."""

    note: str = ""
    """What people should know of it: it is asked for although something is missing."""


class Settling:
    """Judges the deliveries of one tick.

    Args:
        work: The task and its ports.
        quiet: How long nothing may have changed.
    """

    def __init__(self, work: Work, quiet: timedelta) -> None:
        self._work, self._drop, self._quiet = work, drop_of(work.task), quiet
        self._now = work.ports.clock.now()
        self._began = self._now

    def judge(self, delivery: Delivery, period: Period) -> NotYet | Settled:
        """Whether the delivery has settled.

        Raises:
            PortError: The store answered with an error when a manifest was to be read.
        """
        quiet_at = delivery.changed_at + self._quiet
        manifest = self._drop.manifest
        if manifest is None and self._now < quiet_at:
            return NotYet("changing", f"{period.text} until {clock(quiet_at)}")
        newest, unfinished = self._sighted(period)
        until = delivery.changed_at + timedelta(seconds=UNFINISHED_S)
        if unfinished is not None and self._now < until:
            return NotYet("uploads", f"{period.text}: {_named(unfinished)} until {clock(until)}")
        if manifest is None:
            return Settled()
        return self._by_manifest(delivery, period, manifest, newest, quiet_at)

    def _sighted(self, period: Period) -> tuple[Lying | None, str | None]:
        """The newest manifest, and an object that is named like an unfinished upload."""
        newest, unfinished, prefix = None, None, len(self._drop.prefix)
        for one in lying_for(self._work.journal, self._work.task.name, period.text):
            if self._drop.is_manifest(one.key, period):
                if newest is None or (one.changed_at, one.key) > (newest.changed_at, newest.key):
                    newest = one
            elif _UNFINISHED.fullmatch(one.key, prefix):
                unfinished = min(unfinished or one.key, one.key)
        return newest, unfinished

    def _by_manifest(
        self, delivery: Delivery, period: Period, manifest: Manifest, newest: Lying | None, quiet_at: datetime
    ) -> NotYet | Settled:
        until = delivery.changed_at + timedelta(seconds=manifest.wait_s)
        waits = self._now < until
        if newest is None:
            if waits:
                return NotYet("parts", f"{period.text}: no manifest yet, until {clock(until)}")
            return Settled(f"{period.text} without a manifest")
        if self._work.ports.clock.now() - self._began > timedelta(seconds=READING_S):
            return NotYet("next-time", period.text)
        is_quiet = self._now >= quiet_at
        try:
            stated = self._read(newest, manifest, period)
        except PortError as error:
            if error.code in {"OBJECT_GONE", "OBJECT_CHANGED"}:
                return NotYet("changing", f"{period.text}: the manifest was replaced while it was read")
            if error.code not in _OF_ONE_MANIFEST:
                raise
            if is_quiet:  # a run says so, where people look
                return Settled(f"{period.text}: {error.code}: {error.message}")
            return NotYet("changing", f"{period.text} until {clock(quiet_at)}: {error.code}: {error.message}")
        missing, there, is_newest = self._missing(period, stated, newest)
        if missing is not None:
            said = f"{missing} ({there} of {stated.count} are there)"
            return (
                NotYet("parts", f"{period.text}: {said}, until {clock(until)}")
                if waits
                else Settled(f"{period.text} without {said}")
            )
        # A part that came after the manifest may be the first of several that are being replaced.
        names_all = stated.count is not None
        if is_quiet or (names_all and is_newest):
            return Settled()
        return NotYet("changing", f"{period.text} until {clock(quiet_at)}")

    def _read(self, newest: Lying, manifest: Manifest, period: Period) -> Stated:
        raw = read_bytes(self._work.ports.objects, self._drop.bucket, newest.key).raw
        return read_manifest(raw, manifest.form, self._drop.place_of(period), newest.key)

    def _missing(self, period: Period, stated: Stated, manifest: Lying) -> tuple[str | None, int, bool]:
        """The first part that is not there as stated, how many are, and whether nothing came after the manifest."""
        left = dict.fromkeys(stated.parts or ())
        there, is_newest = 0, True
        for one in lying_for(self._work.journal, self._work.task.name, period.text):
            if self._drop.is_manifest(one.key, period):
                continue
            is_newest = is_newest and one.changed_at <= manifest.changed_at
            if stated.parts is None:
                there += 1
                continue
            part = stated.parts.get(one.key)
            if part is not None and part.size in {None, one.size}:
                left.pop(one.key, None)
                there += 1
        if left:
            return f"part {_named(next(iter(left)))}", there, is_newest
        if stated.parts is None and stated.count is not None and there < stated.count:
            return "a part", there, is_newest
        return None, there, is_newest


def clock(at: datetime) -> str:
    """An instant, for people."""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def _named(key: str) -> str:
    """A vendor's key, quoted, its end if it is long."""
    return repr(key) if len(key) <= 60 else f"...{key[-60:]!r}"  # noqa: PLR2004 - as long as a line bears
