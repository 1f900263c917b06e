"""What a load refused is what its contract lets it refuse, and no more rows of it."""

from __future__ import annotations

from collections.abc import Mapping

from dagster_planexec.checks.check import BoundCheck, Check, Finding, Judge, NotApplicable, Stated
from dagster_planexec.checks.load.contract_of import contract_of, stated, target_of
from dagster_planexec.checks.scope import StepScope
from dagster_planexec.contract.file.rules import Allowed
from dagster_planexec.contract.verdict import Phase
from dagster_planexec.world.observation import Observation
from dagster_planexec.world.probes.table.contents.rejects import RejectsOfTable

NAME = "rejects_are_allowed"


def rejects_are_allowed(scope: StepScope, phase: Phase) -> tuple[BoundCheck, ...]:
    """The rejects table against the codes and the number of rows that the contract allows."""
    contract = contract_of(scope.task, scope.args)
    allowed, clause = contract.allowed_rejects, stated(contract, "allowed_rejects")
    if allowed is None:
        return (NotApplicable(NAME, phase, "the contract allows no reject: the load ends with the first", clause),)
    refused = RejectsOfTable(target_of(scope), tuple(scope.args.sources), allowed.codes)
    expected = Stated(f"at most {allowed.at_most} rows, of {', '.join(allowed.codes)}", clause)
    return (Check(NAME, phase, refused, expected, _judge(allowed), absent_code="TABLE_GONE"),)


def _judge(allowed: Allowed) -> Judge:
    def judge(observed: Observation, against: Observation | Stated) -> Finding:
        assert isinstance(against, Stated)  # noqa: S101 - bound above
        rows, by_code = observed["rows"], observed["by_code"]
        assert isinstance(by_code, Mapping)  # noqa: S101 - what the probe promises
        counts = ", ".join(f"{count} {code}" for code, count in by_code.items())
        seen = f"{rows} rows refused" + (f" ({counts})" if counts else "")
        first, code = observed["first"], str(observed["first_code"])
        if observed["others"]:
            text = f"{observed['others']} rows were refused for what is not allowed; {seen}; the first: {first}"
            return Finding("failed", against.value, seen, text, code)
        if int(str(rows)) > allowed.at_most:
            text = f"{seen}, and {allowed.at_most} are allowed; the first: {first}"
            return Finding("failed", against.value, seen, text, code)
        return Finding(
            "passed", against.value, seen, f"{seen}, as the contract allows" if rows else "no row was refused"
        )

    return judge
