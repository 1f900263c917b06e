"""What a vendor, a planner or a model writes, where people read it: pages of Dagster, reports, terminals, logs.

It is text there: no tag, no link, no picture that is fetched, no escape a terminal obeys, no line of a log of its own.
"""

from __future__ import annotations

import io
import json
import logging
import re
import zipfile
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dagster_planexec.cli.main import main
from dagster_planexec.cli.printing import inert, paper
from dagster_planexec.compiler.markup import escaped, table
from dagster_planexec.definitions.shown.plan_card import plan_card
from dagster_planexec.definitions.triggers.failure_sensor import failure_text, log_failure
from dagster_planexec.journal.told.line import one_line
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.settling.plans.checking import check_plan
from dagster_planexec.tools.report.differences import Differences, xlsx_of
from dagster_planexec.tools.report.files import write_whole
from dagster_planexec.world.probes.result.differences import DIFFERENCES
from dagster_planexec.world.probes.result.report import FORMATS, FiguresOfReport
from dagster_planexec.world.sides.result import ResultLayout
from tests.support.planexec import PROJECT
from tests.support.settled import PERIOD, TASK, Place, make, plan_of

BAD = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![x](http://evil.example/x.png)",
    "[click](javascript:alert(1))", "<a href='javascript:alert(1)'>x</a>", "| a | b |\n|---|---|\n| c | d |",
    "`` ` `` ```\n# Title\n```", "<http://evil.example>", "http://evil.example/phone-home", "www.evil.example",
    "&lt;script&gt;", "&#60;img src=x&#62;", "\u202egnp.exe", "a\u200bb", "\x1b[2J\x1b]0;owned\x07", "\x9b31m",
    "a\r\nERROR forged line", "a\u2028b", "$$\\href{javascript:alert(1)}{x}$$", "<!-- x --><iframe src=//evil.example>",
    "{{ 7*7 }}${7*7}<%= 7 %>", "~~x~~ **y** _z_ [^1]", "[x]: http://evil.example", "mailto:a@evil.example",
    "<svg/onload=alert(1)>", "\\", "a|b", "x" * 200_000,
)  # fmt: skip
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
RENDERER = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table", "strikethrough"])


def is_inert(markdown: str) -> bool:
    """Whether a renderer that allows HTML makes nothing of it but text."""
    tokens = RENDERER.parse(markdown)
    inside = [child for token in tokens if token.type == "inline" for child in token.children or ()]
    kinds = {child.type for child in inside}
    blocks = {token.type for token in tokens}
    return kinds <= {
        "text",
        "text_special",
        "softbreak",
        "hardbreak",
        "code_inline",
        "strong_open",
        "strong_close",
    } and ({"html_block", "fence", "heading_open", "bullet_list_open"}.isdisjoint(blocks))


@given(st.one_of(st.sampled_from(BAD), st.text(alphabet="<>[]()!`*_|#~&;:/\\\n\r\x1b\u202e aw.htps$\"'", max_size=80)))
@settings(max_examples=150, deadline=None)
def test_escaped_text_is_text(text: str) -> None:
    """As a paragraph and as a cell: nothing but characters comes out of it, on one line, bounded."""
    shown = escaped(text)
    assert "\n" not in shown
    assert len(shown) < 2_000
    assert not CONTROL.search(shown)
    assert is_inert(f"x {shown} y"), shown
    cells = RENDERER.parse(table({"a": "a", "b": "b"}, [{"a": shown, "b": "last"}]))
    assert sum(token.type == "td_open" for token in cells) == 2
    assert not re.search(r"(?i)(?<!\\)https?://|(?<!\\)www\.", shown)


@pytest.mark.parametrize("text", BAD)
def test_a_plan_card_shows_a_plan_s_words_as_text(place: Place, text: str) -> None:
    """Intent, rationale, ids and arguments of any planner stand on the asset's page before the plan runs."""
    words = text[:2_000].replace("\x00", "")
    plan = plan_of(make("a", 3, rationale=words), intent=words)
    attempt, _ = place.work.journal.open_attempt(
        task="toy", version="1", period=PERIOD.text, inputs_digest="i", admission=_admission(place)
    )
    checked = check_plan(place.work, plan, attempt, PERIOD)
    for name, value in plan_card(checked, place.work).items():
        if isinstance(value, dg.TableMetadataValue):
            shown = " ".join(str(cell) for record in value.records for cell in record.data.values())
        else:
            shown = str(value.value)
        assert len(shown) < 100_000, name
        if isinstance(value, dg.MarkdownMetadataValue):
            assert not CONTROL.search(shown), name
            assert not re.search(r"(?<!\\)<(script|img|svg|iframe|a )", shown), name
            assert not re.search(r"(?<!\\)\]\((?:http|javascript)", shown), name


def _admission(place: Place) -> Any:
    from dagster_planexec.execute.admit import admit_inputs
    from dagster_planexec.journal.admission import encode_admission

    return encode_admission(admit_inputs(place.work, PERIOD))


# ------------------------------------------------------------------------------------------- terminals and logs


@pytest.mark.parametrize("text", BAD)
def test_no_text_drives_a_terminal(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever is printed: no escape, no title, no line that goes backwards; line ends stay line ends."""
    paper().print(text[:5_000], markup=False)
    assert not CONTROL.search(capsys.readouterr().out)
    assert not CONTROL.search(inert(text))


@pytest.mark.parametrize("as_json", [True, False])
def test_what_the_command_line_says_of_a_hostile_plan(tmp_path: Path, as_json: bool) -> None:
    """Findings quote the names of others' plans; as a document and for people."""
    plans, tools = tmp_path / "plans.jsonl", tmp_path / "tools.jsonl"
    tools.write_text(json.dumps({"tool": "t", "parameters": {"type": "object", "properties": {}}}))
    plans.write_text("".join(
        json.dumps({"plan_id": text[:150], "steps": [{"id": text[:150], "tool": text[:150], "args": {text[:150]: 1},
                                                      "deps": [text[:150]]}]}) + "\n"
        for text in BAD
    ))  # fmt: skip
    done = CliRunner().invoke(
        main,
        ["--project", str(PROJECT), "check", str(plans), "--catalogue", str(tools), *(["--json"] if as_json else [])],
    )
    assert done.exit_code == 5, done.output
    assert not CONTROL.search(done.stdout)
    assert not any(line.startswith("ERROR forged line") for line in done.stdout.splitlines())


@pytest.mark.parametrize("text", BAD)
def test_a_log_has_no_forged_line(text: str, caplog: pytest.LogCaptureFixture) -> None:
    """The failure sensor's text goes to a log and to a chat: each of its lines is one of ours."""
    run = dg.DagsterRun(job_name="x", tags={"dagster/partition": "2026-03-01"})
    lines = failure_text(TASK, run, [_failed(text)]).splitlines()
    begins = [line.split(":")[0].split(" ")[0] for line in lines]
    assert [word for word in begins if word != "hint"] == ["toy", "code", "step", "run", "next"]
    assert all(len(line) < 1_000 for line in lines)
    with caplog.at_level(logging.ERROR):
        log_failure("\n".join(lines))
    assert not CONTROL.search(caplog.text)
    assert "\n" not in one_line(text)


def _failed(text: str) -> Any:
    from dagster._core.events import DagsterEvent, StepFailureData
    from dagster._core.execution.plan.objects import UserFailureData

    metadata = {"code": dg.MetadataValue.text("X"), "hint": dg.MetadataValue.text(text)}
    data = StepFailureData(error=None, user_failure_data=UserFailureData("x", text, metadata))
    return DagsterEvent("STEP_FAILURE", "toy", step_key="toy", event_specific_data=data)


# ------------------------------------------------------------------------------------------- reports

FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", '=HYPERLINK("http://evil.example")')


@pytest.mark.parametrize("text", FORMULAS)
def test_no_format_computes(text: str, tmp_path: Path) -> None:
    """A workbook is the one file that a spreadsheet opens: what a vendor writes is text there, however it begins.

    This test fails when a format is added, so that it is asked then whether a spreadsheet opens it.
    """
    assert set(FORMATS) == {"md", "html", "json"}
    assert set(DIFFERENCES) == {"differences.parquet", "differences.xlsx"}
    with DuckDbWarehouse(tmp_path / "w.duckdb").session() as session:
        session.execute(
            "create table lines (id varchar, status varchar, a decimal(18,2), b decimal(18,2), memo varchar)"
        )
        session.execute("insert into lines values (?, ?, 1.00, null, ?)", [text, text, text])
        layout = ResultLayout(("id",), "status", "identical", "d", (("a", "a_only"),), (("a", "a"), ("b", "b")))
        stream = io.BytesIO()
        xlsx_of(Differences(session, "lines", layout))(stream)
    with zipfile.ZipFile(stream) as book:
        parts = {name: book.read(name).decode() for name in book.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    cells = re.findall(r'<c r="[ABE]2"([^>]*)>(.*?)</c>', sheet)
    assert len(cells) == 3
    assert all('t="inlineStr"' in kind and inside.startswith("<is><t") for kind, inside in cells), sheet
    assert "<f" not in sheet
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", sheet)
    assert 'quotePrefix="1"' in parts["xl/styles.xml"], "it would compute as soon as somebody edits the cell"
    assert not [name for name in parts if "externalLink" in name or "vba" in name.lower() or "connection" in name]
    assert "<hyperlink" not in sheet


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe" * 1_000,
        b"<" * 1_000_000,
        b"<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'>]><p data-figure='lines:all'>&b;</p>",
        b"[" * 100_000,
        b'{"figures": {"lines:all": ' + b"9" * 100_000 + b"}}",
        b'{"figures": {"lines:all": NaN, "x": Infinity}}',
        b"| Status | lines |\n|---|---|\n" + b"| all | 1 |\n" * 50_000,
        b"<i data-figure='lines:all'>" * 20_000,
        b"x" * 17_000_000,
    ],
    ids=["empty", "bytes", "open", "entities", "deep", "digits", "no number", "rows", "nested", "long"],
)
def test_a_report_that_was_replaced_is_read_and_found_out(tmp_path: Path, suffix: Any, content: bytes) -> None:
    """Whatever stands in its place: an observation with other figures, or an error with a code."""
    from dagster_planexec.errors import PortError
    from dagster_planexec.world.ports import Ports, Roots
    from tests.support.reconciling import WallClock

    (tmp_path / f"x.{suffix}").write_bytes(content)
    ports = Ports(None, None, None, WallClock(), Roots(tmp_path, tmp_path, tmp_path))  # type: ignore[arg-type]
    try:
        seen = FiguresOfReport("x", suffix).observe(ports)
    except PortError as error:
        assert error.code == "REPORT_MISMATCH"  # noqa: PT017
        assert len(content) > 16_000_000
    else:
        assert "hahahaha" not in str(seen["figures"])


def test_a_report_takes_no_other_name(tmp_path: Path) -> None:
    """What is written is one file of that name, with nothing of a half-written one beside it."""
    write_whole(tmp_path, {"x.md": BAD[0]})
    assert [path.name for path in tmp_path.iterdir()] == ["x.md"]
