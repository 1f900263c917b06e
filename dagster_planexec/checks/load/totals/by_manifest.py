"""Rows and amounts that a manifest or control file states, against its files one by one and against the table."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.load.contract_of import contract_of, extracts_of, records_of, target_of
from dagster_planexec.checks.load.totals.figures import CODE, Figures, agree, exact
from dagster_planexec.checks.manifest.stated import declared, money, named, number, parts_of, unusable
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.tool import AdmittedObject
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import SumTable


def totals_of_manifest(name: str, scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """One check per file of which the manifest states something, and one over all; none if none is declared.

    A file is counted by the independent parser, and all of them together in the table; in the files, where some of
    their rows may be refused. Lines that one part lacks and another has too many of close over all, and do not close
    part by part.
    """
    found = declared(scope)
    if found is None or not found.manifest.form.states_totals:
        return ()
    contract = contract_of(scope.task, scope.args)
    every: tuple[Probe, str, str] = (SumTable(target_of(scope), contract.amount), "the table", "TABLE_GONE")
    if contract.allowed_rejects is not None:  # the table may rightly hold less than its files
        every = records_of(scope), "the files", "OBJECT_GONE"
    counted, of, gone = every
    if found.admitted is None:
        return (Check(name, phase, counted, found.not_there, _no_manifest, absent_code=gone),)
    manifest, keys = found.as_admitted(found.admitted), _keys(scope)
    whole = Check(name, phase, counted, manifest, _whole(found.admitted, keys, of), absent_code=gone)
    words = found.manifest.form.part
    if words is None or not (words.rows or words.amount):
        return (whole,)
    each = tuple(
        Check(name, phase, extract, manifest, _part(found.admitted, keys[sha256]), absent_code="OBJECT_GONE")
        for sha256, extract in zip(scope.args.sources, extracts_of(scope), strict=True)
    )
    return (*each, whole)


def _keys(scope: StepScope) -> dict[str, tuple[str, ...]]:
    """The keys under which each loaded copy was admitted."""
    return {
        sha256: tuple(sorted(o.facts.key for o in scope.admission.objects if o.sha256 == sha256))
        for sha256 in scope.args.sources
    }


def _part(admitted: AdmittedObject, keys: tuple[str, ...]) -> Judge:
    def judge(observed: Observation, against: Observation | Stated) -> Finding:
        assert isinstance(against, Observation)  # noqa: S101 - bound above
        shut = unusable(against, admitted, "totals of the part")
        if shut is not None:
            return shut
        parts = parts_of(against) or {}
        key = next((key for key in keys if key in parts), None)
        if key is None:
            words = f"the manifest states nothing of {named(keys)}"
            return Finding("failed", "totals of the part", "not named", words, "DROP_INCOMPLETE")
        unread = number(observed["unparsable"]) or 0
        found = Figures(number(observed["rows"]), money(observed["sum"]), unread)
        return agree(Figures(parts[key].rows, parts[key].amount), found, of=f"{key[-80:]!r}", stated_by="manifest")

    return judge


def _whole(admitted: AdmittedObject, keys: Mapping[str, tuple[str, ...]], of: str) -> Judge:
    loaded = {key for of_copy in keys.values() for key in of_copy}

    def judge(observed: Observation, against: Observation | Stated) -> Finding:
        assert isinstance(against, Observation)  # noqa: S101 - bound above
        shut = unusable(against, admitted, "totals of the delivery")
        if shut is not None:
            return shut
        unread = number(observed.facts.get("unparsable", 0)) or 0
        found = Figures(number(observed["rows"]), money(observed["sum"]), unread)
        parts = parts_of(against)
        if parts is None or set(parts) <= loaded:
            due = Figures(number(against["rows"]), money(against["amount"]))
            return agree(due, found, of=of, stated_by="manifest" if parts is not None else "control file")
        mine = [part for key, part in parts.items() if key in loaded]
        if any(part.rows is None and part.amount is None for part in mine):
            words = f"the manifest states totals of {len(parts)} parts in all, and this load reads {len(mine)} of them"
            return Finding("not-evaluated", f"{len(parts)} parts", f"{len(mine)} parts", words, CODE)
        rows = [part.rows for part in mine if part.rows is not None]
        amounts = [part.amount for part in mine if part.amount is not None]
        due = Figures(sum(rows) if rows else None, exact(amounts) if amounts else None)
        return agree(due, found, of=f"{of}, of {len(mine)} parts", stated_by="manifest")

    return judge


def _no_manifest(observed: Observation, against: Observation | Stated) -> Finding:
    expected = against.value if isinstance(against, Stated) else None
    words = "the manifest that states the totals is not there"
    return Finding("failed", expected, f"{observed['rows']} rows, {observed['sum']}", words, "MISSING_PART")
