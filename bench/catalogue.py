"""All measures by name, in the order in which they are run: what is quick comes first."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bench.arrivals.tick import tick
from bench.data.load import load
from bench.data.memory import capped_load, memory
from bench.data.reconcile import reconcile
from bench.peers.peers import beside_datacompy, beside_dlt
from bench.plans.check_plan import check_plan
from bench.plans.compile_plan import compile_plan
from bench.plans.import_cost import import_cost
from bench.plans.step_cost import step_cost
from bench.scene import Scene, scene
from bench.timing import Measured

_LARGE, _ENOUGH = 2_000_000, 3
"""From so many rows on, so many rounds are enough: what takes seconds is hardly disturbed."""
_BYTES_PER_ROW = 53
"""Of the invoice, at least."""


class Sizes:
    """What was asked for, and the scenes that several measures share."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        self.options = options
        self.runs: int = options.runs
        self.folder = folder
        self.landed = cache(self._landed)

    def runs_at(self, rows: int) -> int:
        """Rounds for a size."""
        return min(self.runs, _ENOUGH) if rows > _LARGE else self.runs

    def fresh(self, name: str, rows: int, **more: int) -> Scene:
        """A scene for one measure alone."""
        folder = self.folder / name
        folder.mkdir()
        return scene(folder, rows=rows, **more)

    def _landed(self, rows: int) -> Scene:
        """The scene of a size, with the invoice landed. It stays as it is: measures only replace their own tables."""
        on = self.fresh(f"rows-{rows}", rows)
        on.land_invoice()
        return on

    def each(self) -> Iterator[tuple[Scene, int]]:
        """The scene of every size."""
        for rows in self.options.rows:
            yield self.landed(rows), rows


@dataclass(frozen=True, slots=True)
class Measure:
    """One entry of the catalogue."""

    measure: Callable[[Sizes], Iterable[Measured]]
    peer: str | None = None
    """The package it needs in the environment of `--peers`."""

    def needs(self, peers: Mapping[str, Any]) -> str | None:
        """Why it cannot be measured; None if it can."""
        return (
            f"{self.peer} is not there: no environment with it was named" if self.peer not in {None, *peers} else None
        )


def _check_plan(sizes: Sizes) -> Iterator[Measured]:
    steps = sizes.options.steps
    yield check_plan(sizes.fresh("check", 10, max_steps=steps), steps=steps, runs=sizes.runs)


def _compile_plan(sizes: Sizes) -> Iterator[Measured]:
    steps = sizes.options.steps
    yield compile_plan(sizes.fresh("compile", 10, max_steps=steps), steps=steps, runs=sizes.runs)


def _step_cost(sizes: Sizes) -> Iterator[Measured]:
    rows = sizes.options.step_rows
    yield step_cost(sizes.fresh("steps", rows), steps=sizes.options.chain, rows=rows, runs=sizes.runs)


def _load(sizes: Sizes) -> Iterator[Measured]:
    for on, rows in sizes.each():
        yield load(on, rows=rows, runs=sizes.runs_at(rows))


def _reconcile(sizes: Sizes) -> Iterator[Measured]:
    for on, rows in sizes.each():
        yield from reconcile(on, rows=rows, runs=sizes.runs_at(rows))


def _memory(sizes: Sizes) -> Iterator[Measured]:
    for on, rows in sizes.each():
        yield from memory(on, rows=rows, runs=min(sizes.runs, _ENOUGH))


def _capped_load(sizes: Sizes) -> Iterator[Measured]:
    cap, times = sizes.options.cap_mb, sizes.options.cap_times
    rows = int(cap * 1_000_000 * times / _BYTES_PER_ROW)
    yield capped_load(sizes.landed(rows), rows=rows, cap_mb=cap, times=times)


def _tick(sizes: Sizes) -> Iterator[Measured]:
    folder = sizes.folder / "tick"
    folder.mkdir()
    yield from tick(folder, keys=sizes.options.keys, runs=min(sizes.runs, _ENOUGH))


def _dlt(sizes: Sizes) -> Iterator[Measured]:
    on, rows = next(sizes.each())
    yield from beside_dlt(on, sizes.options.peers, rows=rows, runs=sizes.runs_at(rows))


def _datacompy(sizes: Sizes) -> Iterator[Measured]:
    on, rows = next(sizes.each())
    yield from beside_datacompy(on, sizes.options.peers, rows=rows, runs=min(sizes.runs, _ENOUGH))


MEASURES: dict[str, Measure] = {
    "check_plan": Measure(_check_plan),
    "compile_plan": Measure(_compile_plan),
    "import_cost": Measure(lambda sizes: (import_cost(runs=sizes.runs),)),
    "step_cost": Measure(_step_cost),
    "tick": Measure(_tick),
    "load": Measure(_load),
    "reconcile": Measure(_reconcile),
    "memory": Measure(_memory),
    "capped_load": Measure(_capped_load),
    "dlt": Measure(_dlt, peer="dlt"),
    "datacompy": Measure(_datacompy, peer="datacompy"),
}
