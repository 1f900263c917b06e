"""The graph of a plan: which step needs which, in what order they run, what depends on what. Deterministic.

`edges(plan)` reads the graph once; everything else is a pure function of it. Only steps that exist are in it:
a name nobody has is a finding of the static checker, not an edge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import TypeAlias

from dagster_planexec.errors import PlanexecError
from dagster_planexec.plan.model import Plan
from dagster_planexec.plan.reference import references

Needs: TypeAlias = Mapping[str, tuple[str, ...]]
"""Step id to the ids it needs, both in the order of the plan. Steps that share an id share their needs."""


def edges(plan: Plan) -> dict[str, tuple[str, ...]]:
    """What each step needs: its `depends_on` and the steps its arguments refer to."""
    return graph_of((s.id, (*s.depends_on, *(found.step for found in references(s)))) for s in plan.steps)


def declared(plan: Plan) -> dict[str, tuple[str, ...]]:
    """What each step says it needs: its `depends_on` alone."""
    return graph_of((step.id, step.depends_on) for step in plan.steps)


def graph_of(steps: Iterable[tuple[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """The graph of (id, ids it names) in listed order: unknown names left out, a shared id's needs put together."""
    named: dict[str, set[str]] = {}
    for step_id, names in steps:
        named.setdefault(step_id, set()).update(names)
    index = {step_id: at for at, step_id in enumerate(named)}
    return {
        step_id: tuple(sorted((name for name in names if name in index), key=index.__getitem__))
        for step_id, names in named.items()
    }


def topological_order(needs: Needs) -> tuple[str, ...]:
    """The ids so that each follows what it needs; where the graph leaves a choice, the listed order decides.

    Raises:
        PlanexecError: PLAN_REJECTED, naming a cycle, if there is no such order.
    """
    order = _runnable(needs)
    if len(order) < len(needs):
        path = cycles(needs)[0]
        raise PlanexecError(
            "PLAN_REJECTED",
            f"the steps need one another in a circle: {' -> '.join((*path[:10], path[0]))}",
            hint="remove one of these dependencies",
        )
    return order


def cycles(needs: Needs) -> tuple[tuple[str, ...], ...]:
    """Circles of steps, each as a path in which every step needs the next; none shares a step with another.

    Each part of the graph that cannot be ordered has one. A step that needs itself is a circle of one.
    """
    found: list[tuple[str, ...]] = []
    reported: set[str] = set()
    done: set[str] = set()
    for start in needs:
        if start in done:
            continue
        path = [start]
        at = {start: 0}
        pending = [iter(needs[start])]
        while pending:
            nxt = next(pending[-1], None)
            if nxt is None:
                pending.pop()
                left = path.pop()
                del at[left]
                done.add(left)
            elif nxt in at:
                circle = tuple(path[at[nxt] :])
                if reported.isdisjoint(circle):
                    reported.update(circle)
                    found.append(circle)
            elif nxt not in done:
                at[nxt] = len(path)
                path.append(nxt)
                pending.append(iter(needs[nxt]))
    return tuple(found)


def children(needs: Needs) -> dict[str, tuple[str, ...]]:
    """The same graph turned round: which steps need this one."""
    out: dict[str, list[str]] = {name: [] for name in needs}
    for name, parents in needs.items():
        for parent in parents:
            out[parent].append(name)
    return {name: tuple(found) for name, found in out.items()}


def ancestors(needs: Needs, step_id: str) -> frozenset[str]:
    """Everything a step needs, directly or through others; itself only if it lies on a circle."""
    return _reachable(needs, (step_id,))


def descendants(needs: Needs, step_id: str) -> frozenset[str]:
    """Everything that needs a step, directly or through others; itself only if it lies on a circle."""
    return _reachable(children(needs), (step_id,))


def critical(needs: Needs, targets: Iterable[str]) -> frozenset[str]:
    """The steps without which these cannot be done: themselves and all they need."""
    known = tuple(name for name in targets if name in needs)
    return frozenset(known) | _reachable(needs, known)


def depths(needs: Needs) -> dict[str, int]:
    """The number of steps in the longest chain that must precede each. Raises as `topological_order`."""
    out: dict[str, int] = {}
    for name in topological_order(needs):
        out[name] = max((out[parent] + 1 for parent in needs[name]), default=0)
    return {name: out[name] for name in needs}


def longest_chain(needs: Needs) -> tuple[str, ...]:
    """A longest chain of steps in which each needs the one before it. Raises as `topological_order`."""
    depth = depths(needs)
    if not depth:
        return ()
    chain = [max(depth, key=lambda name: depth[name])]
    while needs[chain[-1]]:
        chain.append(max(needs[chain[-1]], key=lambda name: depth[name]))
    return tuple(reversed(chain))


class Ancestry:
    """Answers "does a precede b?" for any two steps at once; also for graphs with circles.

    Each step holds its ancestors as the bits of one integer: a thousand steps take a few milliseconds.
    """

    def __init__(self, needs: Needs) -> None:
        self._bit = {name: 1 << index for index, name in enumerate(needs)}
        self._above = dict.fromkeys(needs, 0)
        order = dict.fromkeys((*_runnable(needs), *needs))  # what lies on a circle or behind one comes last
        parents = [(name, needs[name]) for name in order]
        changed = True
        while changed:  # one round settles an acyclic graph, the second sees that nothing changed
            changed = False
            for name, above in parents:
                bits = self._above[name]
                before = bits
                for parent in above:
                    bits |= self._above[parent] | self._bit[parent]
                if bits != before:
                    self._above[name] = bits
                    changed = True

    def precedes(self, first: str, second: str) -> bool:
        """Whether `second` needs `first`, directly or through others. False if either does not exist."""
        return bool(self._above.get(second, 0) & self._bit.get(first, 0))

    def above(self, step_id: str) -> frozenset[str]:
        """All ancestors of a step."""
        bits = self._above.get(step_id, 0)
        return frozenset(name for name, bit in self._bit.items() if bits & bit)


def _runnable(needs: Needs) -> tuple[str, ...]:
    """Kahn's order, the earliest listed step first; without the steps on circles and behind them."""
    listed = list(needs)
    index = {name: at for at, name in enumerate(listed)}
    after = children(needs)
    waiting = {name: len(parents) for name, parents in needs.items()}
    ready = [index[name] for name in listed if not waiting[name]]
    order: list[str] = []
    while ready:
        name = listed[heappop(ready)]
        order.append(name)
        for child in after[name]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, index[child])
    return tuple(order)


def _reachable(graph: Needs, starts: Iterable[str]) -> frozenset[str]:
    seen: set[str] = set()
    pending = [parent for start in starts for parent in graph.get(start, ())]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(graph[name])
    return frozenset(seen)
