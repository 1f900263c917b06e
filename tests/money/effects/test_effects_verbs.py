"""`planexec effects list` and `settle`: what was issued, and the word of a person."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from dagster_planexec.cli.main import main
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.effects import (
    Ended,
    Intent,
    Owner,
    changes_of,
    effects_of,
    write_ends,
    write_intents,
)
from dagster_planexec.world.ports import Credit

PROJECT = str(Path(__file__).parents[3])
SCOPE = "vendor-invoice-credits"
OWNER = Owner("vendor_reconciliation", "issue_credit", "somewhere", "att_1", "run-1")


def credit(key, ordinal=1, amount="12.00"):
    return Credit(SCOPE, "2026-03", key, ordinal, Decimal(amount), "USD")


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    monkeypatch.setenv("PLANEXEC_APPROVAL_KEY_ADA", "a" * 64)
    journal = Journal()
    ids = write_intents(journal, OWNER, [Intent(credit("C-1")), Intent(credit("C-2")), Intent(credit("C|\x1b[31m"))])
    write_ends(journal, "run-1", [Ended(ids[credit("C-1")], "issued", "said so"),
                                  Ended(ids[credit("C-2")], "unknown", "TIMEOUT: no answer")])  # fmt: skip
    journal.close()
    return tmp_path


def run(home, *args):
    return CliRunner().invoke(main, ["--project", PROJECT, "effects", *args, "--home", str(home)])


def test_the_ledger_is_listed_with_what_to_do(home):
    """Every line with its state; bytes of a key do not reach the terminal as they are."""
    told = run(home, "list")

    assert told.exit_code == 0, told.output
    assert "1 intended, 1 issued, 1 unknown" in told.output
    assert "effects settle SCOPE PERIOD LINE" in told.output
    assert "\x1b" not in told.output
    said = json.loads(run(home, "list", "vendor_reconciliation", "--partition", "2026-03", "--json").output)
    assert said["totals"] == {"intended": 1, "issued": 1, "unknown": 1}
    assert said["effects"][1] | {"line_key": "C-2", "amount": "12.00", "state": "unknown"} == said["effects"][1]
    assert json.loads(run(home, "list", "--partition", "2026-04", "--json").output)["effects"] == []


@pytest.mark.parametrize("partition", ["2026-03", "2026-03-01"])
def test_a_partition_of_a_task_is_read_in_every_form(home, partition):
    """Also as Dagster writes it."""
    said = json.loads(run(home, "list", "vendor_reconciliation", "--partition", partition, "--json").output)

    assert (said["period"], len(said["effects"])) == ("2026-03", 3)


@pytest.mark.parametrize("of", [(), ("vendor_reconciliation",)], ids=["all", "task"])
@pytest.mark.parametrize("partition", ["2026-3", "march", "2026-03-02", "2026-03\n", ""])
def test_what_is_no_period_is_refused_and_never_empty(home, partition, of):
    """An answer that nothing was issued is only given for a period."""
    told = run(home, "list", *of, "--partition", partition)

    assert told.exit_code == 1
    assert ("UNKNOWN_PARTITION" if of else "VALIDATION_ERROR") in told.output
    assert "nothing was issued" not in told.output


def test_without_a_task_a_partition_key_is_refused(home):
    """It may be a month's or a quarter's; the task says which."""
    told = run(home, "list", "--partition", "2026-03-01")

    assert (told.exit_code, "name the task" in told.output) == (1, True)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--partition", "2026-04"), "none for 2026-04; the ledger has other lines"),
        (("vendor_reconciliation", "--partition", "2026-02"), "none of vendor_reconciliation for 2026-02"),
        (("council_spend",), "none of council_spend; the ledger has other lines"),
    ],
)
def test_no_line_of_one_period_is_not_no_line_at_all(home, args, says):
    """What others have issued is not denied."""
    told = run(home, "list", *args)

    assert (told.exit_code, says in told.output, "nothing was issued" in told.output) == (0, True, False)


def test_an_empty_home_has_issued_nothing(tmp_path):
    """And makes no journal by looking."""
    assert "nothing was issued" in run(tmp_path, "list").output
    assert not (tmp_path / "journal.sqlite").exists()


def test_what_to_do_is_named_with_the_home(home, monkeypatch):
    """Where nothing else names it."""
    monkeypatch.delenv("PLANEXEC_HOME")

    assert f"--reason TEXT --home {home}`" in run(home, "list").output


def test_a_person_settles_an_unknown_line(home):
    """It is journalled as a change, with name and reason; a second word is refused."""
    told = run(home, "settle", SCOPE, "2026-03", "C-2", "--as", "not-issued", "--by", "ada", "--reason", "ticket 4711")
    assert told.exit_code == 0, told.output
    again = run(home, "settle", SCOPE, "2026-03", "C-2", "--as", "issued", "--by", "ada", "--reason", "no, it is")

    journal = Journal()
    effect = next(e for e in effects_of(journal, SCOPE, "2026-03") if e.key == "C-2")
    changes = changes_of(journal, effect.id)
    journal.close()
    assert (effect.state, effect.settled_by) == ("not-issued", "ada")
    assert (changes[-1].state, changes[-1].by) == ("not-issued", "person ada")
    assert re.fullmatch(r"ticket 4711 \(key ada:[0-9a-f]{12}\)", changes[-1].said)
    assert again.exit_code == 1
    assert "expected intended or unknown" in again.output


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("C-22", "--as", "issued", "--by", "ada", "--reason", "x"), "did you mean 'C-2'"),
        (("C-1", "--as", "issued", "--by", "ada", "--reason", "x"), "expected intended or unknown"),
        (("C-2", "--as", "issued", "--by", " ", "--reason", "x"), "say who saw what"),
        (("C-2", "--as", "issued", "--by", "ada", "--reason", ""), "say who saw what"),
        (("C-2", "--as", "paid", "--by", "ada", "--reason", "x"), "is not one of"),
    ],
)
def test_what_cannot_be_settled_is_refused(home, args, says):
    """A mistyped line, a known outcome, nobody, no reason, another word."""
    told = run(home, "settle", SCOPE, "2026-03", *args)

    assert told.exit_code != 0
    assert says in " ".join(told.output.split())
    journal = Journal()
    assert [e.state for e in effects_of(journal, SCOPE, "2026-03")] == ["issued", "unknown", "intended"]
    journal.close()


def test_a_line_with_two_open_parts_is_settled_part_by_part(home):
    """Which one has to be said."""
    journal = Journal()
    write_intents(journal, OWNER, [Intent(credit("C-2", 2, "1.00"))])
    journal.close()
    said = ("--as", "issued", "--by", "ada", "--reason", "x")

    assert "--ordinal" in run(home, "settle", SCOPE, "2026-03", "C-2", *said).output
    assert run(home, "settle", SCOPE, "2026-03", "C-2", "--ordinal", "2", *said).exit_code == 0


@pytest.mark.parametrize(("by", "says"), [("kim", "not on the list of approvers"), ("grace", "no approval key of")])
def test_the_word_is_an_approvers_with_their_key(home, by, says):
    """It lets a month go on, or pays a line again: as much as an approval."""
    told = run(home, "settle", SCOPE, "2026-03", "C-2", "--as", "issued", "--by", by, "--reason", "receipt 7")

    assert told.exit_code == 1
    assert "DECISION_REFUSED" in told.output
    assert says in " ".join(told.output.split())
    assert "unknown" in run(home, "list").output
