"""A file has the columns its contract knows, all that are required, and each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, Stated
from dagster_planexec.checks.load.contract_of import contract_of, format_of, stated
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file_contract import FileContract
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.delivery.text.words import shown
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.probes.delivery.figures.extract import HeaderOfExtract

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
    owner = {contract.normal(alias): column.name for column in contract.columns for alias in column.aliases}
    owner |= {contract.normal(alias): f"{c.name} (minus)" for c in contract.columns for alias in c.minus}

    def judge(observed: Observation, against: Observation | Stated) -> Finding:
        assert isinstance(against, Stated)  # noqa: S101 - bound above
        headers = observed["headers"]
        assert isinstance(headers, tuple)  # noqa: S101 - what the probe promises
        # Every member of an archive has a header of its own; the first that is wrong is told.
        found = [_judged(contract, owner, header, against.value) for header in headers if isinstance(header, tuple)]
        return next((one for one in found if one.status != "passed"), found[0])

    return judge


def _judged(contract: FileContract, owner: Mapping[str, str], raw: tuple[Fact, ...], expected: Fact) -> Finding:
    header = [str(name) for name in raw]
    normal = [contract.normal(name) for name in header]
    seen = _named([name.strip() for name in header])
    strange = [name.strip() for name, known in zip(header, normal, strict=True) if known not in owner]
    unknown = strange if contract.other_columns == "refuse" else []
    twice = [name for name, count in Counter(owner[n] for n in normal if n in owner).items() if count > 1]
    there = {owner[name] for name in normal if name in owner}
    missing = [column.name for column in contract.columns if column.required and column.name not in there]
    if unknown or twice:
        parts = [f"columns the contract does not know: {_named(unknown)}"] if unknown else []
        parts += [f"columns that stand for the same: {_named(twice)}"] if twice else []
        parts += [f"and lacks {_named(missing)}"] if missing else []
        return Finding("failed", expected, seen, f"the file has {'; '.join(parts)}", "UNKNOWN_COLUMN")
    if missing:
        text = f"the file lacks {_named(missing)}; it has {seen}"
        return Finding("failed", expected, seen, text, "MISSING_COLUMN")
    ignored = f"; {len(strange)} are not the contract's, and left out" if strange else ""
    text = f"the {len(header) - len(strange)} columns of the file are known, none is missing{ignored}"
    return Finding("passed", expected, seen, text)


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (", ".join(shown(name) for name in names[:_NAMED]) or "no columns") + more
