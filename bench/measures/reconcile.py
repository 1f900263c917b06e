"""A reconciliation with the checks that follow it, beside the full outer join alone."""

from __future__ import annotations

from bench.scene import MARCH, SQL_FILE, Scene
from bench.timing import Measured, medians
from dagster_planexec.checks.reconcile.views import views_of
from dagster_planexec.execute.observer import look
from dagster_planexec.tools.run_sql import RunSqlArgs
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.identities import ResultFigures, SideFigures
from dagster_planexec.world.probes.result.sides import ContributionOfSides, overlap_of_keys
from dagster_planexec.world.sides.relation import bind_views
from dagster_planexec.world.sides.sql_file import read_sql, without_semicolon

ABLATIONS_BUDGET = 1.6
EVERYTHING_BUDGET = 2.6


def reconcile(on: Scene, *, rows: int, runs: int) -> tuple[Measured, Measured]:
    """Two ratios to the bare join: with the query run again and each side emptied; and with everything else, too."""
    args = RunSqlArgs(
        file=SQL_FILE, inputs={"ledger": "staging.ledger", "vendor": "staging.vendor"}, target="recon.lines"
    )
    admitted = on.admission().sql_sha256[SQL_FILE]
    query = without_semicolon(read_sql(on.ports.roots.sql, SQL_FILE, admitted))
    views = views_of(on.task, MARCH, args.inputs)
    shape = on.task.result
    assert shape is not None
    words = (shape.identical, shape.differs, *shape.only.values())

    def join() -> None:
        with on.warehouse.session() as session:
            bind_views(session, views)
            session.execute(f"create or replace table {args.target} as {query}")

    def overlap() -> None:
        with on.warehouse.session() as session:
            bind_views(session, views)
            dict(overlap_of_keys(session, views))

    def seen(*probes: Probe) -> None:
        for probe in probes:
            assert look(probe, on.ports).state == "seen"

    found = medians(
        {
            "join": join,
            "sides": lambda: seen(ContributionOfSides(SQL_FILE, admitted, views, args.target)),
            "overlap": overlap,
            "identities": lambda: seen(
                ResultFigures(args.target, shape.status, words, tuple(shape.amounts.items())), SideFigures(views)
            ),
        },
        runs,
    )
    # The probe of sides holds both: the ablations are what is left without the overlap.
    ablations = found["join"] + found["sides"] - found["overlap"]
    everything = found["join"] + found["sides"] + found["identities"]
    return tuple(
        Measured(name, seconds / found["join"], "ratio", budget, found, {"rows": rows})
        for name, seconds, budget in (
            ("reconcile_with_ablations", ablations, ABLATIONS_BUDGET),
            ("reconcile_with_everything", everything, EVERYTHING_BUDGET),
        )
    )  # type: ignore[return-value] # two names above
