"""What claims give to checks: read by binders, bounded by the static check, and only ever stricter."""

from __future__ import annotations

import ast
import inspect
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

import dagster_planexec
from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.checks.reconcile.both_sides_contribute import both_sides_contribute
from dagster_planexec.checks.static.policy.claim_weakens_contract import BOUNDS
from dagster_planexec.contract.outcome import Done
from dagster_planexec.tools.run_sql import RunSql, RunSqlArgs
from tests.support.reconciling import bench, make_world

READERS = {"claimed_count": "integer", "claimed_decimal": "decimal"}
CASE = Path(__file__).resolve().parents[1] / "cases" / "both_sides" / "full_join_with_status.sql"


def read_by(check: str) -> dict[str, str]:
    """The parameters that a check's file reads from claims, with the types it reads them as."""
    module = sys.modules[BINDERS[check].__module__]
    found = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
            of, name = node.args
            assert isinstance(of, ast.Name), check
            assert getattr(module, of.id) == check
            found[ast.literal_eval(name)] = READERS[node.func.attr]
    return found


def test_the_static_check_bounds_what_binders_read_and_nothing_else() -> None:
    """BOUNDS and the binders agree on every parameter and its type: no claim is passed over, none is unbounded."""
    read = {check: found for check in BINDERS if (found := read_by(check))}

    assert read == {check: {name: bound.type for name, bound in of.items()} for check, of in BOUNDS.items()}


def test_claims_are_read_in_one_way() -> None:
    """Only the scope looks into the claims' parameters, so that none is read past the test above."""
    root = Path(dagster_planexec.__file__).parent
    users = {p.relative_to(root).as_posix() for p in root.rglob("*.py") if "claim_args" in p.read_text("utf-8")}

    assert users == {"checks/scope.py", "execute/resolve.py"}


@pytest.mark.parametrize(
    ("claimed", "share", "code"),
    [
        pytest.param("0.999", "0.999", "COVERAGE_LOW", id="stricter"),
        pytest.param("0.95", "0.95", None, id="stricter-and-met"),
        pytest.param("0.1", "0.9", None, id="weaker"),
        pytest.param(1, "0.9", None, id="no-decimal-string"),
        pytest.param("NaN", "0.9", None, id="no-number"),
    ],
)
def test_a_claim_raises_the_matched_share(tmp_path: Path, claimed: object, share: str, code: str | None) -> None:
    """998 of 1,000 keys match: enough for the task, too few for a claim of 0.999, which then is the one named."""
    on = bench(tmp_path)
    (on.sql / CASE.name).write_bytes(CASE.read_bytes())
    make_world(on, "normal")
    args = RunSqlArgs(
        file=CASE.name, inputs={"ledger": "staging.ledger", "vendor": "staging.vendor"}, target="recon.x"
    )  # fmt: skip
    assert isinstance(on.call(RunSql(), args), Done)
    claims = {"both_sides_contribute": {"min_matched_share": claimed}}
    (check,) = both_sides_contribute(replace(on.scope(RunSql(), args), claim_args=claims), "post")

    verdict = check.verdict({probe: probe.observe(on.ports) for probe in check.probes})

    assert verdict.code == code, verdict.text
    assert f"at least {share} of its keys" in str(verdict.expected.value)
    assert ("claim both_sides_contribute" in str(verdict.expected.source)) == (Decimal(share) > Decimal("0.9"))
