"""Does a query's result depend on each of the sides it compares? Facts for the rule of ARCHITECTURE.md, 'Both sides'.

No query text is rewritten. Each named input is a view on this connection; to empty one, the view is bound again with
`where false`, so CTEs, self-joins, subqueries, set operations and LATERAL behave as they do in the real run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from dagster_planexec.errors import PortError
from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.sides.query import Query
from dagster_planexec.world.sides.relation import InputView, bind_views, count_of
from dagster_planexec.world.sides.shifted_side import shifts_of
from dagster_planexec.world.subject import Subject, table

REHEARSE_S = 600.0
"""How long all runs of the query together may take."""

# Codes that say something of the query on changed data, and nothing of the machine it runs on.
_QUERY_FAILED = frozenset({"INTERNAL", "VALIDATION_ERROR"})


@dataclass(frozen=True)
class ContributionOfSides(Probe):
    """The query once more, and once more without each side.

    Facts, by side name where they are mappings:

    - `rows`: rows in scope; `lookups`: the same of inputs that are not sides, recorded and never judged.
    - `keys`: distinct normalised keys; `overlaps`: for each pair, `sides` and the keys that are `in_both`.
    - `stored`, `rerun`: fingerprints of the stored result and of the query run again; `lines`: rows of the former.
    - `without`: the fingerprint with that side empty; `without_any`: with all sides empty (absent if not needed). Just
      the count of rows where that is another one already: it cannot be the stored fingerprint, and costs a third.
    - `sees`: for a side without which the result is the same, the change of its rows that the query was found to see,
      or '' if it saw none; `untried`: the changes under which the query itself failed.
    """

    query: Query
    views: tuple[InputView, ...]
    result: str
    """`schema.table` that holds what the query gave."""

    @property
    def subject(self) -> Subject:
        """The stored result."""
        return table(self.result)

    @property
    def reader(self) -> str:
        """The query itself, on views."""
        return f"{self.query.name} run again with each side emptied"

    @property
    def sides(self) -> tuple[InputView, ...]:
        """The inputs that are compared."""
        return tuple(view for view in self.views if view.part == "side")

    def observe(self, ports: Ports) -> Observation:
        """Run the query again and again, on one session, so on one state of the tables."""
        query = self.query.text(ports)
        with ports.warehouse.session(deadline_s=REHEARSE_S) as session:
            if session.describe(self.result) is None:
                return self.absent(ports, f"there is no table {self.result}")
            return self.seen(ports, dict(self._facts(session, query)))

    def _facts(self, session: Session, query: str) -> Iterator[tuple[str, Fact]]:
        bind_views(session, self.views)
        yield "rows", {side.name: _rows(session, side) for side in self.sides}
        yield "lookups", {view.name: _rows(session, view) for view in self.views if view.part != "side"}
        yield from overlap_of_keys(session, self.sides)
        stored = session.fingerprint(f"select * from {session.quote(self.result)}")
        yield "stored", str(stored)
        yield "lines", stored.rows
        yield "rerun", str(session.fingerprint(query))
        without = {
            side.name: self._with(session, query, {side.name: _nothing_of(session, side)}, unless=stored.rows)
            for side in self.sides
        }
        yield "without", without
        silent = [side for side in self.sides if without[side.name] == str(stored)]
        if silent:
            emptied = {side.name: _nothing_of(session, side) for side in self.sides}
            yield "without_any", self._with(session, query, emptied, unless=stored.rows)
        sees: dict[str, Fact] = {}
        untried: dict[str, Fact] = {}
        for side in silent:
            sees[side.name], untried[side.name] = self._sensitivity(session, query, side, str(stored))
        yield "sees", sees
        yield "untried", untried

    def _sensitivity(self, session: Session, query: str, side: InputView, stored: str) -> tuple[str, tuple[Fact, ...]]:
        untried: list[Fact] = []
        others = tuple(other for other in self.sides if other is not side)
        before: dict[str | None, str] = {None: stored}
        for shift in shifts_of(session, side, others):
            try:
                if shift.unshifted is not None and shift.unshifted not in before:
                    # A wider type may be hashed in another way; so like is compared with like.
                    before[shift.unshifted] = self._with(session, query, {side.name: shift.unshifted})
                if self._with(session, query, {side.name: shift.query}) != before[shift.unshifted]:
                    return shift.text, tuple(untried)
            except PortError as error:
                if error.code not in _QUERY_FAILED:
                    raise
                untried.append(f"{shift.text}: {error.message[:120]}")
        return "", tuple(untried)

    def _with(self, session: Session, query: str, bound: Mapping[str, str], *, unless: int | None = None) -> str:
        """The fingerprint of the query with some names standing for other rows; the names are put back.

        With `unless`, just the count of its rows if that is not so many.
        """
        try:
            for name, rows in bound.items():
                session.bind_view(name, rows)
            if unless is not None and (found := _count(session, query)) != unless:
                return f"{found} rows"
            return str(session.fingerprint(query))
        finally:
            for view in self.views:
                if view.name in bound:
                    session.bind_view(view.name, view.query(session.quote))


def _nothing_of(session: Session, view: InputView) -> str:
    return f"select * from ({view.query(session.quote)}) where false"


def _rows(session: Session, view: InputView) -> int:
    return _count(session, view.query(session.quote))


def _count(session: Session, query: str) -> int:
    return count_of(session.rows(f"select count(*) from (\n{query}\n)")[0][0])


def overlap_of_keys(session: Session, sides: tuple[InputView, ...]) -> Iterator[tuple[str, Fact]]:
    """The harness's own reading of keys, in one pass over all sides: how many each has, how many each pair shares."""
    if not sides:
        return
    names = [f"k{n}" for n in range(len(sides[0].key))]
    columns = ", ".join(names)
    # A key that is null or blank is none. Left out after the grouping: before it, every text would be trimmed twice.
    present = " and ".join(f"{name} <> ''" for name in names)
    keys = "\nunion all\n".join(_keys(session, side, n) for n, side in enumerate(sides))
    found = session.rows(
        f"select in_sides, count(*) filter (where {present}) from "
        f"(select {columns}, bit_or(side) as in_sides from (\n{keys}\n) group by {columns}) group by in_sides"
    )
    counts = {count_of(in_sides): count_of(count) for in_sides, count in found}

    def keys_in(*numbers: int) -> int:
        return sum(count for in_sides, count in counts.items() if all(in_sides & 1 << number for number in numbers))

    yield "keys", {side.name: keys_in(n) for n, side in enumerate(sides)}
    yield (
        "overlaps",
        tuple(
            {"sides": (sides[a].name, sides[b].name), "in_both": keys_in(a, b)}
            for a, b in combinations(range(len(sides)), 2)
        ),
    )


def _keys(session: Session, view: InputView, number: int) -> str:
    """Keys as trimmed text, each with one bit that says whose it is."""
    columns = ", ".join(f"{text} as k{n}" for n, text in enumerate(view.key_texts(session.quote)))
    return f"select {1 << number} as side, {columns} from ({view.query(session.quote)})"
