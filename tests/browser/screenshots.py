"""`make screenshots`: what a person sees in Dagster, taken in a real browser from a real `dagster dev`, into docs/.

Three months of the flagship: January's credits exceed the cap, February's export has no lines, March is healthy; and
March once more, in which a late part of the delivery needs a second plan. It needs Chromium and its driver (Debian:
`apt-get install chromium chromium-driver`), fails when a page does not show what it should within its time, and when
the browser's console reports an error.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.demo.faults import FAULTS
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from tests.support.dagster_dev import ROOT, DagsterDev
from tests.support.flagship import CREDENTIALS, TASK

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

FOLDER = ROOT / "docs" / "screenshots"
HELD, STOPPED, HEALTHY = "2026-01-01", "2026-02-01", "2026-03-01"
MADE = ["vendor_invoice", "recon_lines", "recon_report"]
PATIENCE_S = 60.0
_FAILED_STEP = "?logs=type%3ASTEP_FAILURE"
"""Of a run's events the failed step alone: Dagster's own stack trace of the run names folders of the machine."""
_PRIVATE = (str(ROOT), sys.prefix, str(Path.home()))
"""What no picture may show."""
_SEEN = """
const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
  for (let at = node.data.indexOf(arguments[0]); at >= 0; at = node.data.indexOf(arguments[0], at + 1)) {
    range.setStart(node, at); range.setEnd(node, at + 1);
    const box = range.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    if (top && node.parentElement.contains(top)) return true;
  }
}
return false;"""
"""Whether a text can be read on the page: it may be there and be cut off."""
WIDTH, HEIGHT = 1600, 1300
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             f"--window-size={WIDTH},{HEIGHT}")  # fmt: skip


@dataclass(frozen=True)
class Page:
    """One picture: where it is taken, and what must be read on it before it is."""

    name: str
    path: str
    shows: tuple[str, ...]


def pages(runs: dict[str, dict[str, Any]], plan_seen_at: str) -> tuple[Page, ...]:
    """The pictures, given the three months' task runs and when the healthy one's plan was observed."""
    plan_run = {month: run["tags"]["planexec/plan_run"] for month, run in runs.items()}
    return (
        Page("catalog", "/assets", (*MADE, "credits")),
        Page("lineage", f"/locations/definitions.py/asset-groups/{TASK}/lineage", (*MADE, "credits")),
        Page("partitions", "/assets/recon_report?view=partitions", ("2026-02-01", "Materialized")),
        Page("checks", "/assets/vendor_invoice?view=checks&checkDetail=extract_has_rows",
             ("extract_has_rows", "row_counts_agree", "EMPTY_EXTRACT", STOPPED)),
        Page("plan_before_it_ran", f"/assets/recon_report?view=events&time={plan_seen_at}",
             ("observed in run", "fetch_export", "no model was called")),
        Page("plan_run", f"/runs/{plan_run[HEALTHY]}", ("fetch_export", "issue_credit", "Success")),
        Page("failed_month", f"/runs/{runs[STOPPED]['runId']}{_FAILED_STEP}", ("EMPTY_EXTRACT", "Failure")),
        Page("failed_plan_run", f"/runs/{plan_run[STOPPED]}{_FAILED_STEP}",
             ("load_staging", "EMPTY_EXTRACT", "Failure", "Not executed (3)")),
        Page("held_month", f"/runs/{runs[HELD]['runId']}", ("Success", "recon_report")),
        Page("automation", "/automation", (f"{TASK}__arrivals", "planexec__failures")),
    )  # fmt: skip


def revised_pages(run: dict[str, Any], revised_at: str) -> tuple[Page, ...]:
    """The pictures of a month that needed two plans, given its task run and when the second plan was observed."""
    return (
        Page("revised_plan", f"/assets/recon_report?view=events&time={revised_at}",
             ("observed in run", "fetch_part2", "revises")),
        Page("revised_month", f"/runs/{run['runId']}", ("Success", "recon_report")),
        Page("revised_plan_run", f"/runs/{run['tags']['planexec/plan_run']}",
             ("fetch_part2", "issue_credit", "Success")),
    )  # fmt: skip


def take() -> int:
    """Take all pictures; how much was wrong with them, each of it printed."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    said = [*_three_months(), *_revised_month(), *_released_month()]
    sys.stdout.writelines(f"{line}\n" for line in said)
    return len(said)


def _revised_month() -> list[str]:
    late = {"PLANEXEC_DEMO_FAULT": "second-file-in-drop", "PLANEXEC_DEMO_PERIOD": HEALTHY[:7]}
    with tempfile.TemporaryDirectory() as scratch, _dagster(Path(scratch), late) as dev:
        run_id = dev.materialise(f"{TASK}__task_run", HEALTHY)
        run = dev.ended(run_id) | {"runId": run_id}
        observed = [e for e in dev.events(run_id) if e["__typename"] == "ObservationEvent"]
        with _browser(Path(scratch)) as browser:
            _dismiss_welcome(browser, dev.url)
            return [line for page in revised_pages(run, observed[1]["timestamp"])
                    for line in _take(browser, dev.url, page)]  # fmt: skip


def released_pages(runs: dict[str, dict[str, Any]]) -> tuple[Page, ...]:
    """The pictures of a month that waited for a person: the form, the run that took the decision, what continued it."""
    form = f"/locations/definitions.py/jobs/{TASK}__decide/playground"
    return (
        Page("decide_form", form, ("hold_", "planexec1:", "reason")),
        Page("decided", f"/runs/{runs['decide']['runId']}", ("Success", "approve by ada")),
        Page("continued_month", f"/runs/{runs['continue']['runId']}", ("Success", "credits")),
        Page("credits_issued", "/assets/credits?view=events", ("Issued", "2026-01-01", "checked with the vendor")),
    )


def _released_month() -> list[str]:
    """January waits; ada signs where her key is, somebody pastes the line into the form, the sensor goes on."""
    from tests.definitions.approval.test_over_the_weekend import continuing, fill_in, until
    from tests.support.approving import with_keys
    from tests.support.planexec import planexec

    with (
        with_keys("ada", "grace"),
        tempfile.TemporaryDirectory() as scratch,
        _dagster(Path(scratch), {"PLANEXEC_QUIET_S": "100000"}) as dev,
        _browser(Path(scratch)) as browser,
    ):
        held = dev.ended(dev.materialise(f"{TASK}__task_run", HELD))
        (waiting,) = planexec("holds", "--home", scratch).document["holds"]
        assert held["tags"]["planexec/status"] == "held"
        said = {"hold": waiting["id"], "decision": "approve", "by": "ada", "reason": "checked with the vendor"}
        command = ("approve", waiting["id"], "--by", "ada", "--reason", said["reason"], "--sign-only")
        signed = planexec(*command, "--home", scratch).document["signed"]
        decided = fill_in(dev, {**said, "signed": signed})
        run_id = until(lambda: continuing(dev, waiting["id"]))
        runs = {"decide": decided, "continue": dev.ended(run_id) | {"runId": run_id}}
        _dismiss_welcome(browser, dev.url)
        return [line for page in released_pages(runs) for line in _take(browser, dev.url, page)]


def _three_months() -> list[str]:
    """The pictures of three months that end in three ways."""
    with tempfile.TemporaryDirectory() as scratch, _dagster(Path(scratch)) as dev, _browser(Path(scratch)) as browser:
        runs = {}
        for month in (HELD, HEALTHY, STOPPED):  # the newest is what the Checks tab shows first
            run_id = dev.materialise(f"{TASK}__task_run", month)
            runs[month] = dev.ended(run_id) | {"runId": run_id}
        observed = next(e for e in dev.events(runs[HEALTHY]["runId"]) if e["__typename"] == "ObservationEvent")
        _dismiss_welcome(browser, dev.url)
        return [line for page in pages(runs, observed["timestamp"]) for line in _take(browser, dev.url, page)]


def _take(browser: Chrome, base: str, page: Page) -> list[str]:
    """Take one picture; what is wrong with it."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get_log("browser")  # what an earlier page said
    browser.get(base + page.path)
    wrong = []
    try:
        WebDriverWait(browser, PATIENCE_S).until(lambda b: all(text in _text(b) for text in page.shows))
        _until_still(browser)
    except TimeoutException:
        missing = [text for text in page.shows if text not in _text(browser)]
        wrong.append(f"{page.name}: {page.path} never showed {missing}; it shows {_text(browser)[:1500]!r}")
    wrong += [f"{page.name}: shows {path}, a folder of this machine" for path in _PRIVATE
              if browser.execute_script(_SEEN, path)]  # fmt: skip
    browser.save_screenshot(str(FOLDER / f"{page.name}.png"))
    # A page may ask for things outside, for example news of its makers; only what Dagster itself serves is ours.
    said = [e["message"] for e in browser.get_log("browser") if e["level"] == "SEVERE" and base in e["message"]]
    return wrong + [f"{page.name}: {message}" for message in said]


def _until_still(browser: Chrome) -> None:
    """Graphs and tables are drawn after their texts are there: wait until two looks show the same."""
    import time

    before = b""
    for _ in range(20):
        time.sleep(0.7)
        now = browser.get_screenshot_as_png()
        if now == before:
            return
        before = now


def _text(browser: Chrome) -> str:
    return str(browser.execute_script("return document.body.innerText"))


def _dismiss_welcome(browser: Chrome, base: str) -> None:
    """A new browser is asked to subscribe to news once."""
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser.get(f"{base}/assets")
    WebDriverWait(browser, PATIENCE_S).until(lambda b: "recon_report" in _text(b))
    _until_still(browser)
    for button in browser.find_elements(By.TAG_NAME, "button"):
        if button.text.strip() == "Skip":
            button.click()
            break


@contextmanager
def _browser(scratch: Path) -> Iterator[Chrome]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in (*ARGUMENTS, f"--user-data-dir={scratch / 'browser'}"):
        options.add_argument(argument)
    options.binary_location = _program("chromium", "chromium-browser", "google-chrome")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(_program("chromedriver")))
    try:
        yield browser
    finally:
        browser.quit()


def _program(*names: str) -> str:
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        sys.exit(f"{names[0]} is not installed (Debian: apt-get install chromium chromium-driver)")
    return found


@contextmanager
def _dagster(home: Path, more: dict[str, str] | None = None) -> Iterator[DagsterDev]:
    with LocalS3() as s3:
        DemoWorld(home, s3.endpoint).seed()
        FAULTS["inflate-credits"].apply(DemoWorld(home, s3.endpoint, period=HELD))
        FAULTS["header-only-export"].apply(DemoWorld(home, s3.endpoint, period=STOPPED))
        shutil.copy(ROOT / "dagster_planexec" / "definitions" / "dagster.yaml", home / "dagster")
        environment = {"PLANEXEC_HOME": str(home), "AWS_ENDPOINT_URL": s3.endpoint, **CREDENTIALS, **(more or {})}
        with DagsterDev(home / "dagster", environment) as running:
            yield running


if __name__ == "__main__":
    sys.exit(1 if take() else 0)
