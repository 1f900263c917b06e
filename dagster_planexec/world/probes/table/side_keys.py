"""A probe of the keys of both sides, in scope and normalised: rows without one, and keys that repeat."""

from __future__ import annotations

from dataclasses import dataclass

from dagster_planexec.world.observation import Fact, Observation
from dagster_planexec.world.ports import Ports, Session
from dagster_planexec.world.probe import Probe
from dagster_planexec.world.probes.table.tables import LOOK_S
from dagster_planexec.world.sides.relation import InputView, by_contract, count_of, exact_sum
from dagster_planexec.world.subject import Subject

MOST_KEYS = 20
"""Keys that repeat which are named."""
_SHOWN = 80


@dataclass(frozen=True)
class KeysOfSides(Probe):
    """Of each side: does every row have a key, and every key one row? By the harness's own SQL, not by the result."""

    views: tuple[InputView, ...]

    @property
    def subject(self) -> Subject:
        """The tables."""
        return Subject("warehouse", " + ".join(view.table for view in self.views))

    @property
    def reader(self) -> str:
        """Groups of normalised keys."""
        return f"SQL group by {', '.join(self.views[0].key)} in scope"

    def observe(self, ports: Ports) -> Observation:
        """One pass over each side, all on one session.

        Facts, by side: `rows`; `null_rows`, `null_amount` (some column of the key null or blank once normalised);
        `repeated_keys`, `repeated_rows`, `repeated_amount` (of all rows that share a key), `keys`, some that repeat;
        `changed`, rows whose key normalising changed.
        """
        facts: dict[str, dict[str, Fact]] = {}
        with ports.warehouse.session(deadline_s=LOOK_S) as session:
            for view in self.views:
                if session.describe(view.table) is None:
                    return self.absent(ports, f"there is no table {view.table}")
                with by_contract(view.table):
                    for name, fact in _look(session, view).items():
                        facts.setdefault(name, {})[view.name] = fact
        return self.seen(ports, dict(facts))


def _look(session: Session, view: InputView) -> dict[str, Fact]:
    names = [f"k{n}" for n in range(len(view.key))]
    texts = view.key_texts(session.quote)
    raw = [f"cast({session.quote(column)} as varchar)" for column in view.key]
    changed = " or ".join(f"({was} is not null and {now} <> {was})" for was, now in zip(raw, texts, strict=True))
    amount = "0" if view.amount is None else session.quote(view.amount)
    columns = ", ".join(f"{text} as {name}" for text, name in zip(texts, names, strict=True))
    blank = " or ".join(f"{name} is null or {name} = ''" for name in names)
    groups = (
        f"select {', '.join(names)}, count(*) as n, sum(worth) as worth, count(*) filter (changed) as changed, "
        f"({blank}) as blank from (select {columns}, {amount} as worth, ({changed}) as changed "
        f"from ({view.query(session.quote)})) group by {', '.join(names)}"
    )
    twice = "not blank and n > 1"
    row = session.rows(
        f"select coalesce(sum(n), 0), coalesce(sum(n) filter (blank), 0), sum(worth) filter (blank), "
        f"count(*) filter ({twice}), coalesce(sum(n) filter ({twice}), 0), sum(worth) filter ({twice}), "
        f"coalesce(sum(changed), 0) from ({groups})"
    )[0]
    repeated = count_of(row[3])
    examples = session.rows(
        f"select {', '.join(names)} from ({groups}) where {twice} order by {', '.join(names)} limit {MOST_KEYS:d}"
    ) if repeated else []  # fmt: skip
    what = f"{view.table}.{view.amount}"
    return {
        "rows": count_of(row[0]),
        "null_rows": count_of(row[1]),
        "null_amount": exact_sum(row[2], what),
        "repeated_keys": repeated,
        "repeated_rows": count_of(row[4]),
        "repeated_amount": exact_sum(row[5], what),
        "changed": count_of(row[6]),
        "keys": tuple(" | ".join(str(part)[:_SHOWN] for part in key) for key in examples),
    }
