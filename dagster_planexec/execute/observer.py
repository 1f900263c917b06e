"""Looking at the world: every probe ends in an observation, also one that raises, is silent, or takes too long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.ports import Ports
from dagster_planexec.world.probe import Probe

PROBE_DEADLINE_S = 300.0
"""Seconds until a probe is given up. Ports have shorter deadlines of their own; this one catches what they miss."""

Answer = TypeVar("Answer")


class DeadlinePassedError(Exception):
    """The call did not come back in time. It may still be running."""


class _Box(Generic[Answer]):
    """Carries one call's answer or exception out of its thread."""

    value: Answer
    error: BaseException | None = None


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """The call's answer, if it comes in time.

    Raises:
        DeadlinePassedError: It did not; the thread is left behind, and nothing waits for it.
    """
    box: _Box[Answer] = _Box()

    def run() -> None:
        try:
            box.value = call()
        except BaseException as error:  # noqa: BLE001 - handed over to the caller, whatever it is
            box.error = error

    thread = threading.Thread(target=run, name="planexec-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise DeadlinePassedError
    if box.error is not None:
        raise box.error
    return box.value


def observe(
    probes: Iterable[Probe],
    ports: Ports,
    *,
    seen: Mapping[Probe, Observation] | None = None,
    deadline_s: float = PROBE_DEADLINE_S,
) -> dict[Probe, Observation]:
    """Ask every distinct probe once, in order, but for those that were seen just now."""
    answers = dict(seen or {})
    with ports.warehouse.together():
        for probe in probes:
            if probe not in answers:
                answers[probe] = look(probe, ports, deadline_s=deadline_s)
    return answers


def look(probe: Probe, ports: Ports, *, deadline_s: float = PROBE_DEADLINE_S) -> Observation:
    """One probe's observation; `errored` with a code if there is none to be had."""

    def errored(code: str, message: str, retry_after_s: float | None = None) -> Observation:
        return Observation(probe.source(ports), "errored", {}, code, message, retry_after_s)

    try:
        answer = within(deadline_s, lambda: probe.observe(ports))
    except DeadlinePassedError:
        return errored("TIMEOUT", f"{probe.reader} of {probe.subject} did not answer within {deadline_s:g} s")
    except PortError as error:
        return errored(error.code, error.message, error.retry_after_s)
    except Exception as error:  # noqa: BLE001 - a probe that raises anything has observed nothing
        return errored(
            "INTERNAL", f"{probe.reader} of {probe.subject} raised {type(error).__name__}: {str(error)[:300]}"
        )
    seen: object = answer  # what a probe promises and what it does are two things
    if not isinstance(seen, Observation):
        return errored("INTERNAL", f"{probe.reader} of {probe.subject} returned no observation")
    return seen
