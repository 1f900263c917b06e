"""Three renderings of one content: Markdown, HTML, JSON. Everything that is not `Ready` text is escaped by default."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from dagster_planexec.tools.report.content import Content, SideRow
from dagster_planexec.tools.report.text import Ready, count, inert_in_markdown, money, utc, visible

if TYPE_CHECKING:
    from jinja2 import Environment

VERSION = 1
"""Of the JSON report's form."""
_BAR_WIDTH = 560


@dataclass(frozen=True, slots=True)
class Bar:
    """One side as a bar: widths in pixels, on the scale of the longest side."""

    side: SideRow
    matched: int
    only_here: int


def render_markdown(content: Content) -> str:
    """The report as GitHub-flavoured Markdown."""
    return _environment("md").get_template("report.md.j2").render(report=content)


def render_html(content: Content) -> str:
    """The report as one page that loads nothing and runs no script."""
    return (
        _environment("html")
        .get_template("report.html.j2")
        .render(report=content, bars=_bars(content.sides), bar_width=_BAR_WIDTH)
    )


def render_json(content: Content) -> str:
    """The report as one JSON object; counts are integers, amounts are strings."""
    heading = content.heading
    data = {
        "version": VERSION,
        "task": heading.task,
        "task_version": heading.version,
        "period": heading.period,
        "currency": heading.currency,
        "result": heading.table,
        "written_at": f"{heading.written_at:%Y-%m-%dT%H:%M:%SZ}",
        "notes": list(content.notes),
        "figures": {name: _plain(value) for name, value in sorted(content.figures().items())},
        "disagreeing": {
            "shown": len(content.differences),
            "total": content.disagreeing,
            "lines": [
                {
                    "key": visible(line.key),
                    "status": visible(line.status),
                    "amounts": {
                        side: _plain(amount) for side, amount in zip(content.layout.sides, line.amounts, strict=True)
                    },
                    "credit": _plain(line.credit),
                }
                for line in content.differences
            ],
        },
    }
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    return f"{value:f}" if isinstance(value, Decimal) else value


def _bars(sides: tuple[SideRow, ...]) -> list[Bar]:
    longest = max((side.lines for side in sides), default=0) or 1

    def width(lines: int) -> int:
        # One line out of a million still shows.
        return max(2, lines * _BAR_WIDTH // longest) if lines else 0

    bars = []
    for side in sides:
        only = width(side.only_here)
        bars.append(Bar(side, min(width(side.found), _BAR_WIDTH - only), only))
    return bars


@cache
def _environment(kind: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - only reports pay for it

    html = kind == "html"

    def finish(value: Any) -> Any:  # noqa: ANN401 - whatever a template expression gives
        if isinstance(value, Ready) or hasattr(value, "__html__") or not isinstance(value, str):
            return value
        return visible(value) if html else inert_in_markdown(value)

    environment = Environment(
        loader=PackageLoader("dagster_planexec.tools", "templates"),
        autoescape=html,  # noqa: S701 - Markdown is escaped by `finish`, where HTML escaping would be wrong
        finalize=finish,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"count": count, "money": money, "utc": utc}
    return environment
