"""Months as they go: the healthy one to the cent, a second run of it, a restored one, the published council data."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest

from assets.demo import council as published
from assets.demo import saturday
from assets.demo.faults import FAULTS, Ending, Fault
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from assets.fault_hook import forget_faults
from assets.stage import environment, settings_of
from tests.support.planexec import planexec, step


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """The healthy month, run twice in one home. The second S3 server has other versions and times of the same bytes."""
    home = tmp_path_factory.mktemp("healthy") / "home"
    return home, planexec("demo", "--home", home).document, planexec("demo", "--home", home).document


def _issued(home: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(home / "warehouse.duckdb"), read_only=True) as warehouse:
        return warehouse.execute("select line_key, amount from credits.issued order by all").fetchall()


def test_the_healthy_month_is_what_the_generator_made(twice: tuple[Path, Any, Any]) -> None:
    """Counts by status and credits, against the generator's own truth."""
    home, document, _ = twice
    truth = saturday.month("2026-03").truth
    figures = document["reconciliation"]

    assert document["status"] == "succeeded"
    assert figures["ledger_rows"] == 61_400
    assert {name: figures[name] for name in ("identical", "amount_differs", "ledger_only", "vendor_only")} == {
        "identical": truth.identical,
        "amount_differs": truth.count("amount_differs"),
        "ledger_only": truth.count("ledger_only"),
        "vendor_only": truth.count("vendor_only"),
    }
    assert (document["credits"]["issued_count"], document["credits"]["issued_amount"]) == (
        len(truth.credits), str(truth.credit_sum),
    )  # fmt: skip
    assert dict(_issued(home)) == dict(truth.credits)


def test_a_second_run_reuses_what_holds_and_issues_nothing_twice(twice: tuple[Path, Any, Any]) -> None:
    """Every step is reused, the same plan without asking again, the same credits as rows."""
    home, first, second = twice

    assert {s["outcome"] for s in second["steps"]} == {"reused"}
    assert second["plan"] == first["plan"]
    assert second["credits"] == first["credits"]
    assert len(_issued(home)) == first["credits"]["issued_count"]
    assert second["reconciliation"] == first["reconciliation"]


def test_no_model_was_called_and_the_document_says_who_wrote_the_plan(twice: tuple[Path, Any, Any]) -> None:
    """A recorded plan, written by hand."""
    _, document, _ = twice

    assert document["plan"]["planner"] == "recorded"
    assert document["plan"]["author"].startswith("by hand")


def test_a_report_that_somebody_edited_is_written_again(tmp_path: Path) -> None:
    """Reuse looks at the world: the report's files are not what was sealed, so the step is done anew, and only it."""
    home = tmp_path / "home"
    first = planexec("demo", "--home", home).document
    path = Path(first["report"]["json"])
    path.write_text(path.read_text(encoding="utf-8").replace("61400", "61399"), encoding="utf-8")

    second = planexec("demo", "--home", home).document

    assert step(second, "write_report")["outcome"] == "done"
    assert step(second, "reconcile")["outcome"] == "reused"
    assert step(second, "issue_credit")["outcome"] == "reused"
    assert "61399" not in path.read_text(encoding="utf-8")


def test_a_changed_ledger_is_news(tmp_path: Path) -> None:
    """One charge changed: another attempt, whose credits for a known line are asked about, not paid again."""
    home = tmp_path / "home"
    planexec("demo", "--home", home)
    truth = saturday.month("2026-03").truth
    line = next(iter(dict(truth.credits)))
    with duckdb.connect(str(home / "warehouse.duckdb")) as warehouse:
        warehouse.execute("update ledger.charges set amount = amount + 1 where charge_id = ?", [line])
    before = _issued(home)

    # `run` and not `demo`, which would put the ledger back as it was generated.
    held = planexec_in_world(home)

    assert (held["status"], held["code"]) == ("held", "EFFECT_DIFFERS")
    assert held["credits"]["hold_id"]
    assert _issued(home) == before


def planexec_in_world(home: Path) -> Any:
    """Run March in this home with the vendor's deliveries on a fresh S3 server."""
    with LocalS3() as s3:
        world = DemoWorld(home, s3.endpoint)
        world.seed_drop()
        with environment(settings_of(world, None)):
            return planexec("run", "vendor_reconciliation", "--partition", "2026-03", "--home", home).document


def test_the_report_says_the_same_in_three_formats(twice: tuple[Path, Any, Any]) -> None:
    """Both side counts stand beside each other in each."""
    _, document, _ = twice
    texts = {name: Path(path).read_text(encoding="utf-8") for name, path in document["report"].items()}

    for name in ("md", "html"):
        assert "61,400" in texts[name] or "61400" in texts[name]
        assert "61,397" in texts[name] or "61397" in texts[name]
    assert json.loads(texts["json"])


@pytest.fixture(scope="module")
def council(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for the council's quarters."""
    return tmp_path_factory.mktemp("council") / "home"


def test_a_published_quarter_reconciles_to_its_seeded_truth(council: Path) -> None:
    """The last quarter of 2017: the published lines against a ledger with known alterations."""
    document = planexec("demo", "--data", "council", "--home", council).document
    truth = published.DATA.pair("2017-Q4").truth

    assert (document["status"], document["partition"]) == ("succeeded", "2017-10-01")
    assert document["reconciliation"]["vendor_rows"] == 3_855
    assert document["reconciliation"]["identical"] == truth.identical
    assert (document["credits"]["issued_count"], document["credits"]["issued_amount"]) == (
        len(truth.credits), str(truth.credit_sum),
    )  # fmt: skip


def test_the_page_of_a_suite_is_linked_from_its_asset_check(council: Path) -> None:
    """For both deliverables that have one; a check without a suite has no page."""
    if not (council / "dagster").is_dir():
        planexec("demo", "--data", "council", "--home", council)
    found: dict[tuple[str, str], dict[str, Any]] = {}
    with dg.DagsterInstance.from_config(str(council / "dagster")) as instance:
        for asset, check in (("vendor_invoice", "expectations_hold"), ("recon_lines", "expectations_hold"),
                             ("vendor_invoice", "row_counts_agree")):  # fmt: skip
            key = dg.AssetCheckKey(dg.AssetKey(f"council_{asset}"), check)
            (row, *_) = instance.event_log_storage.get_asset_check_execution_history(key, limit=1)
            assert row.event is not None
            assert row.event.dagster_event is not None
            evaluated = row.event.dagster_event.asset_check_evaluation_data
            found[asset, check] = {name: value.value for name, value in evaluated.metadata.items()}
            assert evaluated.passed, found

    for asset in ("vendor_invoice", "recon_lines"):
        page = Path(found[asset, "expectations_hold"]["data_docs"])
        assert page.parts[-4:] == ("expectations", "council_spend", "2017-Q4", f"council_{asset}.html")
        assert "expect" in page.read_text(encoding="utf-8")
    assert "data_docs" not in found["vendor_invoice", "row_counts_agree"]


@pytest.mark.parametrize("partition", ["2018-Q1", "2018-01-01", "2018-02"])
def test_the_quarter_that_holds_january_only_names_the_months_it_lacks(council: Path, partition: str) -> None:
    """PERIOD_INCOMPLETE, whichever way the quarter is named."""
    answer = planexec("demo", "--data", "council", "--partition", partition, "--home", council)

    assert (answer.exit_code, answer.document["code"]) == (4, "PERIOD_INCOMPLETE")
    assert answer.document["partition"] == "2018-01-01"
    assert "February 2018 and March 2018 have no rows" in answer.document["text"]
    assert step(answer.document, "load_staging")["outcome"] == "failed"


def test_an_invoice_line_dated_outside_the_month_is_compared_all_the_same(tmp_path: Path) -> None:
    """Left out, it would look as if the vendor had not billed it, and the charge would be credited in full."""
    home = tmp_path / "home"
    truth = saturday.month("2026-03").truth
    with LocalS3() as s3:
        world = DemoWorld(home, s3.endpoint)
        world.seed()
        lines = world.read(world.export_key).decode().splitlines(keepends=True)
        agreed = next(n for n, line in enumerate(lines[1:], 1) if not any(k in line for k in dict(truth.credits)))
        moved = re.sub(r"2026-03-\d\d", "2026-02-27", lines[agreed])
        assert moved != lines[agreed]
        world.put(world.export_key, "".join([*lines[:agreed], moved, *lines[agreed + 1 :]]).encode())
        with environment(settings_of(world, None)):
            document = planexec("run", "vendor_reconciliation", "--partition", "2026-03", "--home", home).document

    assert document["status"] == "succeeded", document["text"]
    assert document["reconciliation"]["vendor_rows"] == 61_397
    assert document["credits"]["issued_amount"] == str(truth.credit_sum)
    covered = next(c for c in step(document, "load_staging")["checks"] if c["check"] == "period_is_covered")
    assert "1 before it" in covered["text"]


def test_a_ledger_that_changed_for_a_moment_pays_nothing_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Changed after admission, copied, changed back: the copy is not what was admitted, now or in the next run."""
    home = tmp_path / "home"
    truth = saturday.month("2026-03").truth
    raised = "update ledger.charges set amount = amount {} 1 where charge_id like 'CH-202603-00000%'"
    with LocalS3() as s3:
        world = DemoWorld(home, s3.endpoint)
        world.seed()
        momentary = Fault(
            "perfect-month", "after-admission", "", Ending("stopped"), lambda w: _alter(w, raised.format("+"))
        )
        monkeypatch.setitem(FAULTS, "perfect-month", momentary)
        forget_faults()
        with environment(settings_of(world, momentary)):
            first = planexec("run", "vendor_reconciliation", "--partition", "2026-03", "--home", home).document
        forget_faults()
        _alter(world, raised.format("-"))
        with environment(settings_of(world, None)):
            second = planexec("run", "vendor_reconciliation", "--partition", "2026-03", "--home", home).document

    assert (first["status"], first["code"]) == ("stopped", "APPROVAL_STALE")
    assert step(first, "scope_ledger")["outcome"] == "failed"
    assert (second["status"], second["credits"]["issued_amount"]) == ("succeeded", str(truth.credit_sum))


def _alter(world: DemoWorld, statement: str) -> None:
    with world.connection() as warehouse:
        warehouse.execute(statement)
