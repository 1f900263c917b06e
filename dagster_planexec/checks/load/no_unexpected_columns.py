"""A file has the columns its contract knows, all that are required, and each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.load.contract_of import contract_of, format_of, stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.delivery.delimited import shown
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.delivery.extract import HeaderOfExtract

NAME = "no_unexpected_columns"
_NAMED = 10


def no_unexpected_columns(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The header of each file against the contract's columns and their aliases."""
    contract = contract_of(scope.task, scope.args)
    known = Stated(tuple(column.name for column in contract.columns), stated(contract, "columns"))
    return tuple(
        Check(
            NAME,
            phase,
            HeaderOfExtract(scope.roots.landed_path(sha256), format_of(contract, scope.admission, sha256)),
            known,
            _judge(contract),
            absent_code="OBJECT_GONE",
        )
        for sha256 in dict.fromkeys(scope.args.sources)
    )


def _judge(contract: FileContract) -> Judge:
    owner = {alias.strip(): column.name for column in contract.columns for alias in column.aliases}

    def judge(observed: Observation, against: Observation | Stated) -> Finding:
        assert isinstance(against, Stated)  # noqa: S101 - bound above
        raw = observed["header"]
        header = [str(name).strip() for name in raw] if isinstance(raw, tuple) else []
        expected, seen = against.value, _named(header)
        unknown = [name for name in header if name not in owner]
        twice = [name for name, count in Counter(owner[h] for h in header if h in owner).items() if count > 1]
        there = {owner[name] for name in header if name in owner}
        missing = [column.name for column in contract.columns if column.required and column.name not in there]
        if unknown or twice:
            parts = [f"columns the contract does not know: {_named(unknown)}"] if unknown else []
            parts += [f"columns that stand for the same: {_named(twice)}"] if twice else []
            parts += [f"and lacks {_named(missing)}"] if missing else []
            return Finding("failed", expected, seen, f"the file has {'; '.join(parts)}", "UNKNOWN_COLUMN")
        if missing:
            text = f"the file lacks {_named(missing)}; it has {seen}"
            return Finding("failed", expected, seen, text, "MISSING_COLUMN")
        return Finding("passed", expected, seen, f"the {len(header)} columns of the file are known, none is missing")

    return judge


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (", ".join(shown(name) for name in names[:_NAMED]) or "no columns") + more
