"""docs/performance.md, made of the document that `python -m bench` prints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bench.told.words import FIGURES, MISSES

_HEAD = """# Performance

Written by `make performance`, from [performance.json](performance.json). No figure here is typed by hand.

Budgets are ratios where they can be: both sides are measured in one run, round by round in turn, so that whatever else
the machine does falls on both. A figure is the median of its rounds; one round before them warms everything and does
not count. Times in the last column are the medians behind a ratio.
"""
_COMMANDS = """## Measure again

```console
$ make bench
$ make performance PEERS=../peers/bin/python
```

The first prints the document; the second writes this page and the document it is made of. Both take some ten minutes on
two quiet cores. Peers are measured where `PEERS` names the interpreter of an environment with the extra `peers`
(`pip install -e '.[peers]'`); it is not the project's own, because they pin other versions. `python -m bench --help`
lists the sizes; `--only load --rows 100000` takes seconds.
"""


_UNITS = {"file_mb": "MB of file", "cap_mb": "MB of cap"}


def page(document: Mapping[str, Any]) -> str:
    """The page."""
    names = list(dict.fromkeys(one["name"] for one in document["measured"]))
    figures = sorted(document["measured"], key=lambda one: names.index(one["name"]))  # sizes of one figure together
    parts = [_HEAD, _machine(document), _table(figures), _missed(figures), _left_out(document["left_out"])]
    return "\n".join(part for part in [*parts, _what(figures), _COMMANDS] if part)


def _machine(document: Mapping[str, Any]) -> str:
    said = dict(document["machine"])
    cores, memory, system = said.pop("cores"), said.pop("memory_gb"), said.pop("system")
    versions = ", ".join(f"{name} {number}" for name, number in said.items())
    return (
        f"Measured on {cores} cores and {memory} GB of memory ({system}), with {versions}. "
        f"It took {document['took_s'] / 60:.1f} minutes; the load average before it was "
        f"{document['load_average_before']}.\n"
    )


def _table(figures: Iterable[Mapping[str, Any]]) -> str:
    rows = ["## Figures", "", "| figure | size | value | budget | kept | behind it |", "|---|---|---|---|---|---|"]
    rows += [
        f"| {FIGURES[one['name']].title} | {_size(one['size'])} | {_value(one)} | {_budget(one)} | {_kept(one)} "
        f"| {_behind(one)} |"
        for one in figures
    ]
    return "\n".join(rows) + "\n"


def _missed(figures: Iterable[Mapping[str, Any]]) -> str:
    missed = [one for one in figures if one["within"] is False]
    if not missed:
        return "Every budget is kept.\n"
    lines = ["## Budgets that are missed", ""]
    for name in dict.fromkeys(one["name"] for one in missed):
        those = [one for one in missed if one["name"] == name]
        found = " and ".join(_value(one) + (f" at {_size(one['size'])}" if one["size"] else "") for one in those)
        why = MISSES.get(name, "")
        lines.append(f"- **{FIGURES[name].title}**: {found}; the budget is {_budget(those[0])}. {why}".rstrip())
    return "\n".join(lines) + "\n"


def _left_out(left_out: Iterable[Mapping[str, Any]]) -> str:
    lines = [f"- `{entry['name']}`: {entry['why']}." for entry in left_out]
    return "\n".join(["## Not measured", "", *lines]) + "\n" if lines else ""


def _what(figures: Iterable[Mapping[str, Any]]) -> str:
    names = dict.fromkeys(one["name"] for one in figures)
    lines = [f"- **{FIGURES[name].title}**: {FIGURES[name].how}" for name in names]
    return "\n".join(["## What is measured", "", *lines]) + "\n"


def _value(one: Mapping[str, Any]) -> str:
    return _number(one["value"], one["unit"])


def _budget(one: Mapping[str, Any]) -> str:
    return "none" if one["budget"] is None else f"{one['bound']} {_number(one['budget'], one['unit'])}"


def _kept(one: Mapping[str, Any]) -> str:
    return {True: "yes", False: "**no**", None: ""}[one["within"]]


def _behind(one: Mapping[str, Any]) -> str:
    cases = ", ".join(f"{case} {_number(found, one['medians_in'])}" for case, found in _cases(one["medians"]))
    return f"{cases}; {one['runs']} round{'s' if one['runs'] > 1 else ''}"


def _cases(medians: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    for case, found in medians.items():
        yield case.replace("_", " "), found


def _size(size: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {_UNITS.get(name, name)}" for name, count in size.items())


def _number(value: float, unit: str) -> str:
    match unit:
        case "ratio":
            return f"{value:.2f}x"
        case "MB":
            return f"{value:,.0f} MB"
        case "ms":
            return f"{value:.0f} ms"
        case _:
            return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.0f} ms"
