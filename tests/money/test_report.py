"""What a report says is what the result says, in every format, and what a vendor wrote stays text."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from dagster_planexec.checks.effect.report_matches_result import report_matches_result
from dagster_planexec.contract.layout import result_layout
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.errors import PortError
from dagster_planexec.tools.report.text import inert_in_markdown, visible
from dagster_planexec.tools.write_report import WriteReport, WriteReportArgs
from dagster_planexec.world.probes.result.differences import DIFFERENCES
from dagster_planexec.world.probes.result.report import FORMATS, FiguresOfReport, FiguresOfResult

RESULT = "recon.lines_202603"
TOOL = WriteReport()
NAME = "2026-03-recon"
ARGS = WriteReportArgs(source=RESULT, name=NAME)
ROWS = [
    ("A1", "identical", "1000.00", "1000.00"),
    ("A2", "identical", "234.50", "234.50"),
    ("A3", "amount_differs", "12.50", "10.00"),
    ("A4", "amount_differs", "10.00", "12.25"),
    ("A5", "ledger_only", "7.25", None),
    ("A6", "ledger_only", "-3.00", None),
    ("A7", "vendor_only", None, "99.99"),
]


def written(desk, suffix):
    return (desk.ports.roots.reports / f"{NAME}.{suffix}").read_text(encoding="utf-8")


def write(desk, rows=ROWS):
    desk.put(rows)
    outcome = TOOL.call(ARGS, desk.call())
    assert isinstance(outcome, Done), outcome
    return outcome.result


def verdicts(desk):
    return desk.verdicts(report_matches_result, desk.scope(TOOL, ARGS), "post")


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_states_every_figure(desk, suffix):
    """Counts and sums by status and side, in all and of the credits, exactly."""
    write(desk)

    figures = FiguresOfReport(NAME, suffix).observe(desk.ports)["figures"]

    assert {
        "lines:all": 7, "lines:matched": 4, "lines:disagreeing": 5,
        "lines:identical": 2, "lines:amount_differs": 2, "lines:ledger_only": 2, "lines:vendor_only": 1,
        "rows:ledger": 6, "rows:vendor": 5, "only:ledger": 2, "only:vendor": 1,
        "ledger:all": Decimal("1261.25"), "vendor:all": Decimal("1356.74"),
        "ledger:identical": Decimal("1234.50"), "vendor:identical": Decimal("1234.50"),
        "ledger:amount_differs": Decimal("22.50"), "vendor:amount_differs": Decimal("22.25"),
        "ledger:ledger_only": Decimal("4.25"), "vendor:vendor_only": Decimal("99.99"),
        "part:difference": Decimal("-95.49"), "part:amount_differs": Decimal("0.25"),
        "part:ledger_only": Decimal("4.25"), "part:vendor_only": Decimal("-99.99"),
        "credits:lines": 2, "credits:amount": Decimal("9.75"),
    } == figures  # fmt: skip
    assert figures == FiguresOfResult(RESULT, result_layout(desk.task)).observe(desk.ports)["figures"]


def test_report_of_the_result_passes(desk):
    """Five files, five verdicts, each with two sources."""
    result = write(desk)
    found = verdicts(desk)

    assert (f"{NAME}.md", f"{NAME}.html", f"{NAME}.json") == (result.md_file, result.html_file, result.json_file)
    assert [verdict.status for verdict in found] == ["passed"] * 5
    assert all(verdict.expected.source.subject != verdict.observed.source.subject for verdict in found)


WORLDS = {
    "perfect": [("A1", "identical", "1.00", "1.00")],
    "empty": [],
    "nothing-matched": [("A", "ledger_only", "1.00", None), ("B", "vendor_only", None, "1.00")],
    "vendor-empty": [("A", "ledger_only", "1.00", None), ("B", "ledger_only", "2.00", None)],
    "null-amounts": [("A", "amount_differs", "1.00", None), ("B", "identical", None, None)],
    "big": [("A", "identical", "12345678901234.56", "12345678901234.56")],
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("world", WORLDS)
def test_figures_agree_in_odd_worlds(desk, world, suffix):
    """A perfect, an empty, a one-sided month, null amounts and large sums are reported as they are."""
    if world == "null-amounts":
        desk.task = _without_credits(desk.task)
    write(desk, WORLDS[world])

    due = FiguresOfResult(RESULT, result_layout(desk.task)).observe(desk.ports)["figures"]

    assert due == FiguresOfReport(NAME, suffix).observe(desk.ports)["figures"]


def _without_credits(task):
    from dataclasses import replace

    return replace(task, deliverables=tuple(d for d in task.deliverables if d.repeatable))


def test_a_task_without_credits_has_a_report_without_credits(desk):
    """Credits are part of the report only where the task credits anything."""
    desk.task = _without_credits(desk.task)
    write(desk)

    assert [verdict.status for verdict in verdicts(desk)] == ["passed"] * 5
    assert "redits" not in written(desk, "md")


def test_unknown_status_is_never_lost(desk):
    """A line whose status the task does not declare is a mismatch, whatever the report says."""
    write(desk, [*ROWS, ("A8", "pending", "1.00", "1.00"), ("A9", None, "1.00", "1.00")])

    assert [verdict.code for verdict in verdicts(desk)] == ["REPORT_MISMATCH"] * 3 + [None] * 2
    assert "does not declare" in written(desk, "html")


EDITS = [
    pytest.param("md", "| ledger_only | 2 |", "| ledger_only | 3 |", id="md-count"),
    pytest.param("md", "| due | 2 | 9.75 |", "| due | 2 | 9.76 |", id="md-credit"),
    pytest.param("md", "| **all** | **7** | **1,261.25**", "| **all** | **7** | **1,261.26**", id="md-total"),
    pytest.param("md", "| ledger | 2 | 2 | 4 |", "| ledger | 2 | 3 | 4 |", id="md-one-of-two-places"),
    pytest.param("html", 'data-figure="only:ledger">2<', 'data-figure="only:ledger">0<', id="html-count"),
    pytest.param("html", 'data-figure="credits:amount">9.75<', 'data-figure="credits:amount">975<', id="html-card"),
    pytest.param("html", '<tspan data-figure="rows:vendor">5<', '<tspan data-figure="rows:vendor">6<', id="html-bar"),
    pytest.param("html", 'data-figure="part:difference">-95.49', 'data-figure="part:difference">95.49', id="html-sign"),
    pytest.param("json", '"lines:vendor_only": 1', '"lines:vendor_only": 0', id="json-count"),
    pytest.param("json", '"vendor:all": "1356.74"', '"vendor:all": "1356.740001"', id="json-amount"),
    pytest.param("json", '"figures"', '"numbers"', id="json-key"),
]


@pytest.mark.parametrize(("suffix", "old", "new"), EDITS)
def test_a_figure_edited_on_disk_is_a_mismatch(desk, suffix, old, new):
    """One digit changed in one file shuts that format's gate, and only that one; the text names both numbers."""
    write(desk)
    path = desk.ports.roots.reports / f"{NAME}.{suffix}"
    text = path.read_text()
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1))

    codes = {format_: verdict.code for format_, verdict in zip((*FORMATS, *DIFFERENCES), verdicts(desk), strict=True)}

    assert {format_: "REPORT_MISMATCH" if format_ == suffix else None for format_ in (*FORMATS, *DIFFERENCES)} == codes


@pytest.mark.parametrize("damage", ["gone", "emptied", "link", "binary"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_damaged_file_is_a_mismatch(desk, suffix, damage, tmp_path):
    """A report file that is absent, empty, a link or no text does not pass."""
    write(desk)
    path = desk.ports.roots.reports / f"{NAME}.{suffix}"
    if damage == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif damage == "gone":
        path.unlink()
    else:
        path.write_bytes(b"" if damage == "emptied" else b"\xff\xfe\x00<<|{")

    by_format = dict(zip((*FORMATS, *DIFFERENCES), verdicts(desk), strict=True))

    assert (by_format[suffix].status, by_format[suffix].code) == ("failed", "REPORT_MISMATCH")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.75, 0.9])
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_that_ends_early_is_a_mismatch(desk, suffix, part):
    """Also where all it has lost is lines of the list: what comes last is looked for."""
    write(desk)
    path = desk.ports.roots.reports / f"{NAME}.{suffix}"
    text = path.read_text()
    ends = "| disagreeing |" if suffix == "md" else "</html>" if suffix == "html" else "}"
    path.write_text(text[: int(text.rindex(ends) * part)])

    assert {v.observed.source.subject.name[-4:]: v.code for v in verdicts(desk) if not v.opens} == {
        f"{NAME}.{suffix}"[-4:]: "REPORT_MISMATCH"
    }


@pytest.mark.parametrize(
    ("number", "code"),
    [("ENOSPC", "DISK_FULL"), ("EDQUOT", "DISK_FULL"), ("EFBIG", "DISK_FULL"), ("EROFS", "FORBIDDEN"),
     ("EACCES", "FORBIDDEN"), ("EPERM", "FORBIDDEN"), ("EIO", "INTERNAL")],
)  # fmt: skip
def test_what_keeps_a_report_from_being_written_has_a_code(desk, monkeypatch, number, code):
    """What the system answers when the bytes are to be on the disk."""
    import errno
    import os

    def refuses(_):
        raise OSError(getattr(errno, number), "no")

    monkeypatch.setattr(os, "fsync", refuses)
    with pytest.raises(PortError) as error:
        write(desk)

    assert error.value.code == code
    assert list(desk.ports.roots.reports.iterdir()) == []


def test_a_result_that_changed_after_the_report_is_a_mismatch(desk):
    """The table is counted when the report is judged, not when it was written."""
    write(desk)
    desk.sql(f"delete from {RESULT} where line_key = 'A1'")

    assert [verdict.code for verdict in verdicts(desk)] == ["REPORT_MISMATCH"] * 3 + [None] * 2


# ------------------------------------------------------------------------------- text from outside

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "A|B",
    "`code` ``x``",
    "line\nbreak\r\n| Side | lines |",
    "![x](http://evil.example/x.png)",
    "[click](javascript:alert(1))",
    "http://evil.example www.evil.example",
    "**bold** _em_ ~~gone~~ $x$ :smile:",
    "&lt;b&gt; &amp;",
    "</td></table><h1>all is well</h1>",
    '" onmouseover="alert(1)',
    '<span data-figure="credits:amount">0</span>',
    "{{ 7*7 }} {% raw %}",
    "tab\there \x1b[31mred \u202egnp.exe",
    "\\| \\` \\\\",
    "K" * 500,
    "日本語 ключ",
    "# heading", "- item", "> quote", "---",
]  # fmt: skip


def hostile_rows():
    return [(key, "ledger_only", f"{index + 1}.00", None) for index, key in enumerate(HOSTILE)]


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.cells, self.in_key = [], [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if ("class", "key") in attrs:
            self.in_key = True
            self.cells.append("")

    def handle_endtag(self, tag):
        self.in_key = self.in_key and tag != "td"

    def handle_data(self, data):
        if self.in_key:
            self.cells[-1] += data


def test_hostile_keys_are_inert_in_html(desk):
    """No tag, attribute or figure comes out of a key; each is shown as bounded text."""
    write(desk, hostile_rows())
    tags = Tags()
    tags.feed(written(desk, "html"))

    names = {tag for tag, _ in tags.tags}
    assert {"script", "img", "a", "iframe"}.isdisjoint(names)
    assert [tag for tag, _ in tags.tags].count("h1") == 1
    assert not [attrs for _, attrs in tags.tags if any(name.startswith("on") for name in attrs)]
    assert sorted(visible(key) for key in HOSTILE) == sorted(tags.cells)
    assert [verdict.status for verdict in verdicts(desk)] == ["passed"] * 5


def test_hostile_keys_are_inert_in_markdown(desk):
    """A Markdown renderer shows each key as the text it is, in one cell."""
    write(desk, hostile_rows())
    text = written(desk, "md")

    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    inline = [child for token in tokens if token.type == "inline" for child in token.children or ()]

    assert {"text", "strong_open", "strong_close", "softbreak", "text_special"} >= {child.type for child in inline}
    assert {"html_block", "fence", "code_block", "bullet_list_open"}.isdisjoint(token.type for token in tokens)
    shown = MarkdownIt("commonmark").enable("table").render(text)
    for key in HOSTILE:
        assert f"<td>{_as_html(visible(key))}</td>" in shown.replace(' style="text-align:left"', "")
    assert not re.search(r"(?i)https?://|www\.", text)


def _as_html(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").strip()


def test_json_holds_keys_bounded(desk):
    """The JSON report is one document; amounts are strings, counts integers."""
    write(desk, hostile_rows())
    data = json.loads(written(desk, "json"))

    assert len(HOSTILE) == data["disagreeing"]["total"] == len(data["disagreeing"]["lines"])
    assert all(len(line["key"]) <= 500 for line in data["disagreeing"]["lines"])
    assert {int, str} == {type(value) for value in data["figures"].values()}


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("a\nb", "a\\nb"), ("\u202ex", "\\u202ex"), ("a" * 81, "a" * 80 + "…"), ("\x00", "\\x00"), ("żółć", "żółć")],
)
def test_visible(raw, shown):
    """What does not print as itself is written out; long text is cut and says so."""
    assert shown == visible(raw)


@pytest.mark.parametrize("text", ["INV-2026.03/7", "amount_differs", "61,400 + 3 = x; y (z)"])
def test_plain_text_stays_readable_in_markdown(text):
    """Ordinary keys and words are written as they are."""
    assert text == inert_in_markdown(text)


# ------------------------------------------------------------------------------- what the eye sees


def test_zero_against_all_jumps_to_the_eye(desk):
    """An empty vendor is said in words, in a bar and in red, and the totals stand beside each other."""
    desk.sql("create schema recon")
    desk.sql(
        f"create table {RESULT} as select 'L' || i as line_key, 'ledger_only' as status,"
        " 10.00::decimal(18, 2) as ledger_amount, null::decimal(18, 2) as vendor_amount from range(61400) t(i)"
    )
    outcome = TOOL.call(ARGS, desk.call())
    assert isinstance(outcome, Done)
    md, html, data = written(desk, "md"), written(desk, "html"), json.loads(written(desk, "json"))

    assert "vendor has no lines" in md
    assert "as many as ledger has lines" in md
    assert "| vendor | 0 | 0 | 0 | 0 | **0** | 0.00 | no lines |" in md
    assert '<div class="card none"><b><span data-figure="rows:vendor">0</span></b>vendor lines</div>' in html
    assert 200 == html.count('<td class="key">') == len(data["disagreeing"]["lines"])
    assert 61400 == data["disagreeing"]["total"] == data["figures"]["lines:disagreeing"]
    assert RESULT in md
    assert len(html) < 100_000
    assert [verdict.status for verdict in verdicts(desk)] == ["passed"] * 5


def test_a_healthy_month_has_no_alarm(desk):
    """No note stands over a month in which both sides contribute."""
    write(desk)

    assert "Look here" not in written(desk, "md")
    assert 'class="note"' not in written(desk, "html")


def test_the_largest_difference_comes_first(desk):
    """Differences are ordered by size, then by key."""
    write(desk)

    lines = json.loads(written(desk, "json"))["disagreeing"]["lines"]
    assert [line["key"] for line in lines] == ["A7", "A5", "A6", "A3", "A4"]
    assert [line["credit"] for line in lines] == ["0.00", "7.25", "0.00", "2.50", "0.00"]


# ------------------------------------------------------------------------------- where it writes


@pytest.mark.parametrize(
    "name", ["../x-2026-03", "a/2026-03", ".2026-03", "-2026-03", "", "2026-03\n", "x" * 120, "2026-03\x00"]
)
def test_a_name_that_leads_away_is_refused(name):
    """A report name is one plain path component."""
    with pytest.raises(ValueError, match="name"):
        WriteReportArgs(source=RESULT, name=name)


def test_another_periods_report_is_not_replaced(desk):
    """The name has to hold the period."""
    desk.put(ROWS)

    outcome = TOOL.call(WriteReportArgs(source=RESULT, name="2026-02-recon"), desk.call())

    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"
    assert not desk.ports.roots.reports.exists()


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_link_in_the_place_of_a_report_is_refused(desk, suffix, tmp_path):
    """Nothing is written through a link, and no other file of the report is replaced."""
    write(desk)
    before = {s: written(desk, s) for s in FORMATS if s != suffix}
    target = tmp_path / "precious"
    target.write_text("keep")
    path = desk.ports.roots.reports / f"{NAME}.{suffix}"
    path.unlink()
    path.symlink_to(target)
    desk.put(ROWS[:3])

    with pytest.raises(PortError, match="VALIDATION_ERROR"):
        TOOL.call(ARGS, desk.call())
    assert target.read_text() == "keep"
    assert before == {s: written(desk, s) for s in FORMATS if s != suffix}


def test_no_part_is_left_behind(desk):
    """The report folder holds the three files and nothing else, also after a second writing."""
    write(desk)
    write(desk)

    assert sorted(f"{NAME}.{suffix}" for suffix in (*FORMATS, *DIFFERENCES)) == sorted(
        p.name for p in desk.ports.roots.reports.iterdir()
    )


def test_the_seal_is_the_bytes_of_the_three_files(desk):
    """Any changed byte of any file changes the seal; a missing file has none."""
    result = write(desk)
    seal = TOOL.seal(ARGS, result, desk.call())
    first = seal.observe(desk.ports)
    assert first.facts == seal.observe(desk.ports).facts
    for suffix in FORMATS:
        path = desk.ports.roots.reports / f"{NAME}.{suffix}"
        text = path.read_text()
        path.write_text(text + " ")
        assert first.facts != seal.observe(desk.ports).facts
        path.write_text(text)
    (desk.ports.roots.reports / f"{NAME}.md").unlink()

    assert seal.observe(desk.ports).state == "absent"


def test_a_result_of_floats_is_refused(desk):
    """Money is DECIMAL; a report of floats is not written."""
    desk.put(ROWS, amount_type="double")

    with pytest.raises(PortError, match="SCHEMA_DRIFT"):
        TOOL.call(ARGS, desk.call())
    assert isinstance(TOOL.call(ARGS.model_copy(update={"source": "recon.nothing"}), desk.call()), Failed)
