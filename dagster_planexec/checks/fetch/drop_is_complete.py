"""Every part that the manifest names is there, and nothing that lies in the drop of the period is left unread."""

from __future__ import annotations

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.manifest.parts import parts_are_there
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation, Source
from dagster_planexec.world.probes.delivery.objects import ListDrop
from dagster_planexec.world.subject import Subject

NAME = "drop_is_complete"

_SHOWN = 5


def drop_is_complete(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """LIST now against the parts that a manifest names, if one is declared, and against what the run's steps read.

    That an object which a step reads is absent is `object_exists`' business.
    """
    drop = scope.task.drop
    if drop is None:
        return (NotApplicable(NAME, phase, "nothing is delivered for the task", scope.stated_by_task("drop")),)
    if scope.args.bucket != drop.bucket or not drop.matches(scope.args.key, scope.period):
        reason = f"{scope.args.bucket}/{scope.args.key} is outside the task's drop"[:300]
        return (NotApplicable(NAME, phase, reason, scope.stated_by_task("drop")),)
    # What was admitted from the landing is not read from the drop: an object of its name there now is a new one.
    from_landing = {(o.facts.bucket, o.facts.key) for o in scope.admission.objects if o.from_landing}
    consumed = frozenset(
        key
        for bucket, key in scope.consumed - from_landing
        if bucket == drop.bucket and drop.matches(key, scope.period)
    )
    source = Source(Subject("plan", scope.step), "objects that the plan's steps read from the drop")
    against = Stated(_names(sorted(consumed)), source)
    probe = ListDrop(drop.bucket, drop.prefix, drop.pattern_of(scope.period))
    return (*parts_are_there(NAME, scope, phase), Check(NAME, phase, probe, against, _judge(consumed)))


def _judge(consumed: frozenset[str]) -> Judge:
    def judge(observed: Observation, _: Observation | Stated) -> Finding:
        keys, objects = observed["keys"], observed["objects"]
        assert isinstance(keys, tuple)  # noqa: S101 - the probe's own fact
        assert isinstance(objects, int)  # noqa: S101 - the probe's own fact
        present = [str(key) for key in keys]
        unread = [key for key in present if key not in consumed]
        # Only so many keys are kept; of the others at most as many are read as are not among those kept.
        hidden = objects - len(present)
        certainly = len(unread) + max(0, hidden - len(consumed - set(present)))
        expected, seen = _names(sorted(consumed)), _names(present, objects)
        if certainly:
            text = f"{certainly} of {objects} objects in the drop are read by no step: {_names(unread, certainly)}"
            return Finding("failed", expected, seen, text, "DROP_INCOMPLETE")
        if hidden:
            text = f"{objects} objects match, too many to name each"
            return Finding("not-evaluated", expected, seen, text, "DROP_INCOMPLETE")
        return Finding("passed", expected, seen, f"{objects} objects in the drop, each is read")

    return judge


def _names(keys: list[str], count: int | None = None) -> str:
    """`2 objects: 'a', 'b'`, bounded: keys are the vendor's text."""
    total = len(keys) if count is None else count
    shown = ", ".join(repr(key[-80:]) for key in keys[:_SHOWN])
    more = f" and {total - _SHOWN} more" if total > _SHOWN else ""
    return f"{total} object{'' if total == 1 else 's'}" + (f": {shown}{more}" if shown else "")
