"""What README shows of the demo is what the demo shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from assets.demo import saturday
from dagster_planexec.cli.main import main
from tests.support.planexec import PROJECT

README = (PROJECT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the Saturday run happens."""
    return tmp_path_factory.mktemp("refused") / "home"


@pytest.fixture(scope="module")
def refusal(home: Path) -> str:
    """What people are shown of the Saturday run."""
    verb = ["--project", str(PROJECT), "demo", "--fault", "delete-export-after-admission", "--home", str(home)]
    return str(CliRunner().invoke(main, verb).stdout)


def rows(shown: str) -> list[list[str]]:
    """Step, tool, outcome and code of every line of the table of steps."""
    found = re.findall(r"^([a-z_]+) +([a-z0-9_.]+) +(done|failed|not-run)(?: ([A-Z_]+))? *", shown, re.MULTILINE)
    return [list(row) for row in found]


def test_the_refusal_is_what_is_printed(refusal: str):
    """The same steps with the same ends, the same sentence, and the hint word for word."""
    (shown,) = re.findall(r"^```text\n(vendor_reconciliation.*?)^```$", README, re.MULTILINE | re.DOTALL)
    hint = re.search(r"^hint: .*$", shown, re.MULTILINE)

    assert len(rows(shown)) == 7
    assert rows(shown) == rows(refusal)
    assert shown.splitlines()[0] == refusal.splitlines()[0].rstrip()
    assert hint is not None
    assert hint[0] in refusal
    assert "STOPPED OBJECT_GONE: object_exists failed at fetch_export: expected etag 435c2cd0" in refusal


def test_the_figures_of_march_are_the_truth():
    """Lines by status, and credits, as the generated month states them."""
    truth = saturday.month("2026-03").truth
    others = (truth.count("amount_differs"), truth.count("ledger_only"), truth.count("vendor_only"))

    assert " / ".join(f"{figure:,}" for figure in (truth.identical, *others)) in README
    assert f"{truth.ledger_rows:,} ledger charges. The vendor billed {truth.vendor_rows:,} lines" in README
    assert f"{len(truth.credits)} lines, {truth.credit_sum} USD" in README


def test_the_loss_of_the_control_is_the_whole_ledger():
    """61,400 credits, and all of its money."""
    truth = saturday.month("2026-03").truth

    assert f"{truth.ledger_rows:,} credits of {truth.ledger_sum:,} USD" in README


def test_the_home_holds_what_readme_says(home: Path, refusal: str):
    """Every entry that a run leaves in its home has its line."""
    told = {name.rstrip("/") for name in re.findall(r"^\| `([\w.]+/?)` \|", README, re.MULTILINE)}
    left = {path.name for path in home.iterdir() if not path.name.endswith(("-wal", "-shm", ".wal", ".opening"))}

    assert refusal
    assert left <= told
