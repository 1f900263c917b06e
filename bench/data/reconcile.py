"""A reconciliation with the checks that follow it, beside the full outer join alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from bench.scene import MARCH, SQL_FILE, Scene
from bench.timing import Measured, medians
from dagster_planexec.checks.reconcile.views import views_of
from dagster_planexec.execute.observer import look
from dagster_planexec.tools.run_sql import RunSqlArgs
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.identities import ResultFigures, SideFigures
from dagster_planexec.world.probes.result.sides import ContributionOfSides, overlap_of_keys
from dagster_planexec.world.sides.query import AdmittedFile
from dagster_planexec.world.sides.relation import InputView, bind_views
from dagster_planexec.world.sides.sql_file import read_sql, without_semicolon

ABLATIONS_BUDGET = 1.6
EVERYTHING_BUDGET = 2.6


@dataclass(frozen=True)
class Reconcile:
    """A scene, and the parts of its reconciliation."""

    on: Scene

    def prepare(self) -> None:
        """Look at what was admitted: no part of what is measured."""
        assert self._admitted
        assert self._views

    def join(self) -> None:
        """The admitted query alone, into a table."""
        query = without_semicolon(read_sql(self.on.ports.roots.sql, SQL_FILE, self._admitted))
        with self.on.warehouse.session() as session:
            bind_views(session, self._views)
            session.execute(f"create or replace table {self._args.target} as {query}")

    def overlap(self) -> None:
        """The keys that both sides have, counted by SQL of our own."""
        with self.on.warehouse.session() as session:
            bind_views(session, self._views)
            dict(overlap_of_keys(session, self._views))

    def sides(self) -> None:
        """The query run again, and with each side emptied; and the overlap."""
        self._seen(ContributionOfSides(AdmittedFile(SQL_FILE, self._admitted), self._views, self._args.target))

    def identities(self) -> None:
        """What the result and the sides add up to, each by itself."""
        shape = self.on.task.result
        assert shape is not None
        words = (shape.identical, shape.differs, *shape.only.values())
        amounts = tuple(shape.amounts.items())
        self._seen(ResultFigures(self._args.target, shape.status, words, amounts), SideFigures(self._views))

    def everything(self) -> None:
        """The query and all that follows it."""
        with self.on.warehouse.together():
            self.join()
            self.sides()
            self.identities()

    def found(self) -> dict[str, int]:
        """Status to rows of the result."""
        shape = self.on.task.result
        assert shape is not None
        return dict(self.on.run(f"select {shape.status}, count(*) from {self._args.target} group by 1 order by 1"))

    def _seen(self, *probes: Probe) -> None:
        for probe in probes:
            assert look(probe, self.on.ports).state == "seen"

    @cached_property
    def _args(self) -> RunSqlArgs:
        inputs = {"ledger": "staging.ledger", "vendor": "staging.vendor"}
        return RunSqlArgs(file=SQL_FILE, inputs=inputs, target="recon.lines")

    @cached_property
    def _admitted(self) -> str:
        return self.on.admission().sql_sha256[SQL_FILE]

    @cached_property
    def _views(self) -> tuple[InputView, ...]:
        return views_of(self.on.task, MARCH, self._args.inputs)


def reconcile(on: Scene, *, rows: int, runs: int) -> tuple[Measured, ...]:
    """Two ratios to the bare join: with the query run again and each side emptied; and with everything else, too."""
    made = Reconcile(on)
    made.prepare()
    found = medians(
        {"join": made.join, "sides": made.sides, "overlap": made.overlap, "identities": made.identities},
        runs,
    )
    # The probe of sides holds both: the ablations are what is left without the overlap.
    ablations = found["join"] + found["sides"] - found["overlap"]
    everything = found["join"] + found["sides"] + found["identities"]
    return tuple(
        Measured(name, seconds / found["join"], "ratio", budget, found, runs, {"rows": rows})
        for name, seconds, budget in (
            ("reconcile_with_ablations", ablations, ABLATIONS_BUDGET),
            ("reconcile_with_everything", everything, EVERYTHING_BUDGET),
        )
    )
