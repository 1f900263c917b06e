"""A reconciliation with the checks that follow it, beside the full outer join alone; and the typed one beside both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from bench.scene import MARCH, SQL_FILE, Scene
from bench.timing import Measured, medians
from dagster_planexec.checks.reconcile.closing_identities_hold import figures_of
from dagster_planexec.checks.reconcile.views import compared_views, views_of
from dagster_planexec.contract.layout import comparison
from dagster_planexec.contract.reconcile.spec import ReconcileSpec
from dagster_planexec.contract.task import RECONCILE, Task
from dagster_planexec.execute.observer import look
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.result.identities import SideFigures
from dagster_planexec.world.probes.result.sides import ContributionOfSides, overlap_of_keys
from dagster_planexec.world.sides.comparison.sql import comparison_sql
from dagster_planexec.world.sides.query import AdmittedFile, Generated, Query
from dagster_planexec.world.sides.relation import InputView, bind_views
from dagster_planexec.world.sides.sql_file import read_sql, without_semicolon

ABLATIONS_BUDGET = 1.6
EVERYTHING_BUDGET = 2.6


_SIDES = {"ledger": "staging.ledger", "vendor": "staging.vendor"}


@dataclass(frozen=True)
class Reconcile:
    """A scene, and the parts of its reconciliation by the query that a person wrote."""

    on: Scene
    target = "recon.lines"

    def prepare(self) -> None:
        """Look at what was admitted: no part of what is measured."""
        assert self.query
        assert self.views

    def join(self) -> None:
        """The query alone, into a table."""
        text = self.text()
        with self.on.warehouse.session() as session:
            bind_views(session, self.views)
            session.execute(f"create or replace table {self.target} as {text}")

    def overlap(self) -> None:
        """The keys that both sides have, counted by SQL of our own."""
        with self.on.warehouse.session() as session:
            bind_views(session, self.views)
            dict(overlap_of_keys(session, self.views))

    def sides(self) -> None:
        """The query run again, and with each side emptied; and the overlap."""
        self._seen(ContributionOfSides(self.query, self.views, self.target))

    def identities(self) -> None:
        """What the result and the sides add up to, each by itself."""
        shape = self.task.result
        assert shape is not None
        self._seen(figures_of(self.target, shape), SideFigures(self.views))

    def everything(self) -> None:
        """The query and all that follows it."""
        with self.on.warehouse.together():
            self.join()
            self.sides()
            self.identities()

    def found(self) -> dict[str, int]:
        """Status to rows of the result."""
        shape = self.task.result
        assert shape is not None
        return dict(self.on.run(f"select {shape.status}, count(*) from {self.target} group by 1 order by 1"))

    def _seen(self, *probes: Probe) -> None:
        for probe in probes:
            assert look(probe, self.on.ports).state == "seen"

    @cached_property
    def task(self) -> Task:
        """What is reconciled, and by what."""
        return self.on.task

    def text(self) -> str:
        """The query."""
        return without_semicolon(read_sql(self.on.ports.roots.sql, SQL_FILE, self._admitted))

    @cached_property
    def query(self) -> Query:
        """The query, as its checks run it again."""
        return AdmittedFile(SQL_FILE, self._admitted)

    @cached_property
    def views(self) -> tuple[InputView, ...]:
        """The two sides."""
        return views_of(self.task, MARCH, _SIDES)

    @cached_property
    def _admitted(self) -> str:
        return self.on.admission().sql_sha256[SQL_FILE]


class Typed(Reconcile):
    """The same by the query that is generated of a specification: duplicates, lost keys and strays have words, too."""

    target = "recon.typed_lines"

    @cached_property
    def task(self) -> Task:
        """The flagship with `reconcile` in the place of `run_sql`."""
        names = {"run_sql": RECONCILE}
        made = tuple(
            replace(one, tools=tuple(names.get(tool, tool) for tool in one.tools)) for one in self.on.task.deliverables
        )
        return replace(self.on.task, deliverables=made, reconciliation=ReconcileSpec())

    def text(self) -> str:
        """Generated each time, as the tool does."""
        return comparison_sql(comparison(self.task, MARCH), self.on.warehouse.dialect)

    @cached_property
    def query(self) -> Query:
        """What generates it."""
        return Generated(comparison(self.task, MARCH))

    @cached_property
    def views(self) -> tuple[InputView, ...]:
        """The two sides, with what the specification compares."""
        return compared_views(self.task, MARCH, _SIDES)


def reconcile(on: Scene, *, rows: int, runs: int) -> tuple[Measured, ...]:
    """Ratios: both ways with the query run again and each side emptied, and with everything else; one query to the other."""  # noqa: E501
    admitted, typed = Reconcile(on), Typed(on)
    for made in (admitted, typed):
        made.prepare()
    found = medians(
        {
            f"{prefix}{part}": getattr(made, part)
            for prefix, made in (("", admitted), ("typed_", typed))
            for part in ("join", "sides", "overlap", "identities")
        },
        runs,
    )
    assert _agree(admitted.found(), typed.found()), (admitted.found(), typed.found())

    def of(prefix: str) -> dict[str, float]:
        return {part: found[f"{prefix}{part}"] for part in ("join", "sides", "overlap", "identities")}

    def ratios(names: tuple[str, str], parts: dict[str, float]) -> tuple[Measured, Measured]:
        # The probe of sides holds both: the ablations are what is left without the overlap.
        ablations = parts["join"] + parts["sides"] - parts["overlap"]
        everything = parts["join"] + parts["sides"] + parts["identities"]
        return (
            Measured(names[0], ablations / parts["join"], "ratio", ABLATIONS_BUDGET, parts, runs, {"rows": rows}),
            Measured(names[1], everything / parts["join"], "ratio", EVERYTHING_BUDGET, parts, runs, {"rows": rows}),
        )

    queries = {"join": found["join"], "typed": found["typed_join"]}
    return (
        *ratios(("reconcile_with_ablations", "reconcile_with_everything"), of("")),
        Measured("typed_beside_join", queries["typed"] / queries["join"], "ratio", None, queries, runs, {"rows": rows}),
        *ratios(("typed_with_ablations", "typed_with_everything"), of("typed_")),
    )


def _agree(admitted: Mapping[str, int], typed: Mapping[str, int]) -> bool:
    """Whether both ways found the same; words that only the typed one has stand for no line here."""
    return {word: lines for word, lines in typed.items() if lines} == dict(admitted)
