"""One line per period: the same table on the command line and on the asset; and looking makes nothing."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.cli.main import main
from dagster_planexec.definitions.shown.months import COLUMNS, WORDS, months_card, months_of
from dagster_planexec.journal.journal import Journal, NewEvent
from dagster_planexec.journal.run_report import RunReport, save_report
from tests.support.planexec import PROJECT, planexec

TASK = "vendor_reconciliation"
VENDOR = VENDOR_RECONCILIATION.binding.task


def shell(*arguments: object) -> str:
    """What people are shown."""
    result = CliRunner().invoke(main, ["--project", str(PROJECT), *map(str, arguments)])
    assert isinstance(result.exception, SystemExit | None)
    return result.stdout


def opened(journal: Journal, period: str) -> str:
    """An attempt of a period, as admission opens it."""
    attempt, _ = journal.open_attempt(
        task=TASK, version="1", period=period, inputs_digest=f"{period}{datetime.now(UTC)}", admission={}, anew=True
    )
    return attempt.id


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a journal in which every state of a period is found once."""
    home = tmp_path / "home"
    monkeypatch.setenv("PLANEXEC_HOME", str(home))
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))
    journal = Journal()
    for period, status, code in (
        ("2026-01", "settled", None), ("2026-02", "held", "CAP_EXCEEDED"), ("2026-03", "stopped", "OBJECT_GONE"),
        ("2026-04", "rejected", "PLAN_REJECTED"), ("2026-05", "error", "LOCKED"),
    ):  # fmt: skip
        journal.close_run(opened(journal, period), None, status, code)
    journal.close_run(opened(journal, "2026-06"), None, "settled", None)
    opened(journal, "2026-06")  # a corrected delivery: proposed for, not run yet
    begun = opened(journal, "2026-07")
    journal.append(begun, "run-1", [NewEvent("admitted", None, {"plan": "ab"}), NewEvent("step-started", "s", {})])
    report = RunReport.blank(VENDOR, VENDOR.period("2026-08"), task_run_id="run-2")
    save_report(journal, "run-2", report.ended("error", "BUCKET_GONE", "no bucket"))
    journal.close()
    return home


STATES = {
    "2026-01": "settled", "2026-02": "held (CAP_EXCEEDED)", "2026-03": "stopped (OBJECT_GONE)",
    "2026-04": "rejected (PLAN_REJECTED)", "2026-05": "error (LOCKED)", "2026-06": "planned", "2026-07": "begun",
    "2026-08": "error (BUCKET_GONE)", "2026-09": "not run",
}  # fmt: skip


def test_every_state_of_a_period_has_its_word(home: Path) -> None:
    """The newest attempt counts, never one that it superseded; a run that could open none is a run all the same."""
    document = planexec("status", TASK, "--home", home).document
    said = {p["period"]: p["status"] + (f" ({p['code']})" if p["code"] else "") for p in document["periods"]}

    assert {period: said[period] for period in STATES} == STATES
    assert "superseded" not in str(document)


def test_periods_are_counted_by_word(home: Path) -> None:
    """Every word has a number, and they add up."""
    document = planexec("status", TASK, "--home", home).document
    counts = document["counts"]

    assert tuple(counts) == WORDS
    assert sum(counts.values()) == len(document["periods"])
    assert {word: counts[word] for word in WORDS if word != "not run"} == {
        "settled": 1, "held": 1, "waiting": 0, "stopped": 1, "rejected": 1, "error": 2, "begun": 1, "planned": 1,
    }  # fmt: skip


def test_a_month_that_was_settled_once_is_said_to_be(home: Path) -> None:
    """Credits of an earlier attempt are out there: in the line, in JSON and on the asset; never of a settled month."""
    journal = Journal()
    journal.close_run(opened(journal, "2026-01"), None, "rejected", "PLAN_REJECTED")
    again = opened(journal, "2026-09")
    journal.close_run(again, "run-3", "settled", None)
    journal.close_run(again, "run-4", "stopped", "DUPLICATE_KEY")
    twice = opened(journal, "2026-02")
    journal.close_run(twice, "run-5", "settled", None)
    journal.close_run(opened(journal, "2026-02"), "run-6", "settled", None)
    card = months_card(journal, VENDOR, datetime.now(UTC))
    journal.close()

    document = planexec("status", TASK, "--home", home).document
    before = {p["period"] for p in document["periods"] if p["settled_before"]}
    shown = shell("status", TASK, "--home", home)

    assert before == {"2026-01", "2026-06", "2026-09"}
    for month, said in (("2026-01", "rejected (PLAN_REJECTED)"), ("2026-06", "planned"),
                        ("2026-09", "stopped (DUPLICATE_KEY)")):  # fmt: skip
        assert re.search(rf"^{month} +{re.escape(said)}, settled before ", shown, re.MULTILINE)
        assert f"{said}, settled before" in [c for row in card["months"].value.splitlines() for c in cells(row)]
    assert shown.count("settled before") == 3
    assert document["counts"]["rejected"] == 2


def cells(line: str) -> list[str]:
    """The cells of a line of a Markdown table."""
    return [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in line.strip("|").split("|")]


def test_the_asset_shows_the_same_table(home: Path) -> None:
    """The same columns and the same cells; the asset shows the newest first."""
    journal, now = Journal(), datetime.now(UTC)
    card = months_card(journal, VENDOR, now)
    months = months_of(VENDOR, journal, now)
    journal.close()
    header, _, *rows = card["months"].value.splitlines()
    printed = shell("status", TASK, "--home", home).splitlines()

    assert cells(header) == list(COLUMNS) == printed[0].split()
    assert [cells(row) for row in reversed(rows)] == [list(month.cells.values()) for month in months]
    for month, line in zip(months, printed[1:], strict=False):
        assert line.split() == " ".join(month.cells.values()).split()
    counts = planexec("status", TASK, "--home", home).document["counts"]
    assert {word: card[word.replace(" ", "_")].value for word in WORDS} == counts


def looking(home: Path, *, as_json: bool) -> list[tuple[int, str]]:
    """Exit code and output of every verb that only looks."""
    verbs = [
        ("status", TASK), ("show", TASK), ("show", "att_000000000000"), ("trace", TASK, "--partition", "2026-03"),
        ("trace", "f92be551-8a22-4f53-a84a-8340874ec427"), ("observe", TASK, "--partition", "2026-03"),
    ]  # fmt: skip
    more = ["--home", str(home), *(["--json"] if as_json else [])]
    results = [CliRunner().invoke(main, ["--project", str(PROJECT), *verb, *more]) for verb in verbs]
    return [(result.exit_code, result.stdout) for result in results]


@pytest.mark.parametrize("as_json", [False, True], ids=["people", "json"])
def test_looking_makes_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_json: Any) -> None:
    """A home that is not there stays so: the table says that nothing was run, everything else that nothing is known."""
    monkeypatch.setenv("PLANEXEC_HOME", "unused")
    monkeypatch.setenv("DAGSTER_HOME", "unused")
    home = tmp_path / "none"

    (code, table), *others = looking(home, as_json=as_json)

    assert not home.exists()
    assert list(tmp_path.iterdir()) == []
    assert code == 0
    assert "2026-01" in table
    assert not re.search(r"settled [1-9]|\"settled\": [1-9]", table)
    assert len(re.findall("not run", table)) >= 10
    assert {code for code, _ in others} == {1}
    assert all("UNKNOWN_REFERENCE" in shown for _, shown in others)


def test_a_home_that_cannot_be_read_is_said_to_hold_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Below a file there is no folder: the same answers, no stack trace."""
    monkeypatch.setenv("PLANEXEC_HOME", "unused")
    monkeypatch.setenv("DAGSTER_HOME", "unused")

    assert [code for code, _ in looking(Path("/dev/null/home"), as_json=True)] == [0, 1, 1, 1, 1, 1]


def test_a_journal_of_another_name_is_asked_for_by_its_own_variable(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A SQLite URL whose file is not there is no journal either."""
    monkeypatch.setenv("PLANEXEC_JOURNAL_DEFAULT", f"sqlite:///{home}/elsewhere.sqlite")

    document = planexec("status", TASK, "--home", home).document

    assert document["counts"]["not run"] == len(document["periods"])
    assert not (home / "elsewhere.sqlite").exists()
