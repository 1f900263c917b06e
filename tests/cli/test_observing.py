"""`planexec observe`: what a period relies on, seen again. Nothing is run, nothing is written to the world."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
import pytest
from click.testing import CliRunner

from assets.demo.faults import FAULTS
from assets.demo.local_s3 import LocalS3
from assets.demo.world import DemoWorld
from assets.stage import environment, settings_of
from dagster_planexec.cli.main import main
from dagster_planexec.journal.journal import Journal
from tests.support.planexec import PROJECT, Answer, planexec

TASK, PERIOD, PARTITION = "vendor_reconciliation", "2026-02", "2026-02-01"
ASSETS = {"vendor_invoice", "recon_lines", "recon_report", "credits"}


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoWorld]:
    """A month that was settled."""
    with LocalS3() as s3:
        made = DemoWorld(tmp_path_factory.mktemp("observed") / "home", s3.endpoint, period=PERIOD)
        made.seed()
        with environment(settings_of(made, None)):
            assert planexec("run", TASK, "--partition", PERIOD, "--home", made.home).exit_code == 0
            yield made


@pytest.fixture
def world(settled: DemoWorld, tmp_path: Path) -> Iterator[DemoWorld]:
    """The settled month; whatever a test does to it is undone."""
    keys = {o["Key"] for o in settled.s3.list_objects_v2(Bucket=settled.bucket)["Contents"]}
    export = settled.read(settled.export_key)
    kept = shutil.copytree(settled.home, tmp_path / "kept")
    yield settled
    shutil.rmtree(settled.home)
    shutil.copytree(kept, settled.home)
    for key in {o["Key"] for o in settled.s3.list_objects_v2(Bucket=settled.bucket).get("Contents", ())} - keys:
        settled.remove(key)
    settled.put(settled.export_key, export)


def observe(world: DemoWorld, partition: str = PERIOD) -> Answer:
    """Look again, with --json."""
    return planexec("observe", TASK, "--partition", partition, "--home", world.home)


def sql(text: str) -> Callable[[DemoWorld], None]:
    """Somebody's statement on the warehouse."""

    def act(world: DemoWorld) -> None:
        with duckdb.connect(str(world.warehouse)) as warehouse:
            warehouse.execute(text)

    return act


def landed(world: DemoWorld) -> Path:
    """The landed copy of the export."""
    (found,) = [p for p in world.roots.landing.rglob("*") if re.fullmatch(r"[0-9a-f]{64}", p.name)]
    return found


def test_everything_that_stands_is_seen_again(world: DemoWorld) -> None:
    """Drop, live table, SQL, landed copy, tables, report, credits: each unchanged, by a probe, later than expected."""
    answer = observe(world)
    found = answer.document["sightings"]

    assert (answer.exit_code, answer.document["status"], answer.document["code"]) == (0, "succeeded", None)
    assert [s["about"] for s in found] == [
        "drop", "table", "sql", "result", "result", "landed", "result", "result", "result", "credits",
    ]  # fmt: skip
    assert {(s["verdict"], s["stands"]) for s in found} == {("unchanged", True)}
    assert answer.document["counts"] == {"unchanged": 10, "changed": 0, "gone": 0, "new": 0, "not observed": 0}
    for sighting in found:
        assert sighting["seen"]["at"] > (sighting["expected"]["at"] or "")
        assert sighting["expected"]["source"] != sighting["seen"]["source"]
        assert not sighting["seen"]["source"].startswith(("journal:", "plan:", "tool:", "admission:"))
        assert sighting["means"]


@dataclass(frozen=True)
class Change:
    """One thing that happens to the world after the month was settled, and what must be said of it."""

    name: str
    act: Callable[[DemoWorld], None]
    about: str
    verdict: str
    code: str | None
    """None: it stands all the same."""
    means: str


def _expire_both(world: DemoWorld) -> None:
    world.remove(world.export_key)
    landed(world).unlink()


def _upload_in_parts(world: DemoWorld) -> None:
    FAULTS["reupload-same-bytes"].apply(world)


def _write(path: Callable[[DemoWorld], Path], text: str) -> Callable[[DemoWorld], None]:
    def act(world: DemoWorld) -> None:
        path(world).write_text(text, encoding="utf-8")

    return act


TABLE = [
    Change("the drop expired", lambda w: w.remove(w.export_key), "drop", "gone", None,
           "the drop expired, the landed copy stands for it"),
    Change("drop and copy are gone", _expire_both, "drop", "gone", "OBJECT_GONE", "no copy of it was landed"),
    Change("another delivery", lambda w: w.put(w.export_key, w.read(w.export_key) + b"\n"), "drop", "changed",
           "OBJECT_CHANGED", "another delivery lies there"),
    Change("the same bytes again", _upload_in_parts, "drop", "unchanged", None, "uploaded again, the same bytes"),
    Change("a second file", lambda w: w.put(w.key("-part2.csv"), b"late"), "drop", "new", "DROP_INCOMPLETE",
           "it came after admission"),
    Change("a damaged copy", lambda w: landed(w).write_bytes(b"x"), "landed", "changed", "EXPECTATION_FAILED",
           "no longer what was judged"),
    Change("a charge of the month is taken back",
           sql(f"delete from ledger.charges where charge_id = (select min(charge_id) from ledger.charges "
               f"where charged_on >= '{PERIOD}-01' and charged_on < '2026-03-01')"),
           "table", "changed", "APPROVAL_STALE", "the next run opens another attempt"),
    Change("a charge of another month is taken back",
           sql("delete from ledger.charges where charged_on >= '2026-03-01'"), "table", "unchanged", None,
           "the rows in scope are those that were admitted"),
    Change("the live table is dropped", sql("drop table ledger.charges"), "table", "gone", "TABLE_GONE",
           "the live table is gone"),
    Change("a staging table is dropped", sql("drop table staging.vendor_invoice_202602"), "result", "gone",
           "TABLE_GONE", "no longer what was judged"),
    Change("a result line is edited", sql("update recon.lines_202602 set status = 'identical'"), "result", "changed",
           "EXPECTATION_FAILED", "no longer what was judged"),
    Change("the report is edited", _write(lambda w: w.roots.reports / f"{PERIOD}-recon.md", "# fine"), "result",
           "changed", "EXPECTATION_FAILED", "no longer what was judged"),
    Change("the query is edited", _write(lambda w: w.roots.sql / "reconcile.sql", "select 1"), "sql", "changed",
           "VALIDATION_ERROR", "changed since admission"),
    Change("a query is added", _write(lambda w: w.roots.sql / "more.sql", "select 1"), "sql", "new",
           "VALIDATION_ERROR", "new since admission"),
    Change("a credit is taken back",
           sql("delete from credits.issued where line_key = (select min(line_key) from credits.issued)"), "credits",
           "changed", "EFFECT_DIFFERS", "by somebody else than the last run"),
]  # fmt: skip


@pytest.mark.parametrize("change", TABLE, ids=lambda change: change.name)
def test_what_became_of_one_thing(world: DemoWorld, change: Change) -> None:
    """Its word, its code, whether it stands and what that means; exit 0 only if everything stands."""
    change.act(world)

    answer = observe(world)
    found = [s for s in answer.document["sightings"] if s["about"] == change.about and change.means in s["means"]]

    assert (answer.exit_code, answer.document["status"]) == ((4, "stopped") if change.code else (0, "succeeded"))
    assert answer.document["code"] == change.code
    assert {(s["verdict"], s["stands"], s["code"]) for s in found} == {(change.verdict, not change.code, change.code)}
    assert bool(answer.document["hint"]) == bool(change.code)
    if change.code:
        assert change.means in answer.document["text"]


def tables(path: Path) -> list[tuple[Any, ...]]:
    """Every table with its rows' fingerprint."""
    with duckdb.connect(str(path), read_only=True) as warehouse:
        listed = "select table_schema || '.' || table_name from information_schema.tables order by all"
        names = [row[0] for row in warehouse.execute(listed).fetchall()]
        return [(name, *warehouse.execute(f"select count(*), sum(hash(t)) from {name} t").fetchone()) for name in names]


def test_nothing_is_written_to_the_world_and_nothing_runs(world: DemoWorld) -> None:
    """The warehouse file, the drop, the landing, the reports and the journal are byte for byte what they were."""

    def everything() -> tuple[Any, ...]:
        files = {
            p.relative_to(world.home): p.read_bytes() for p in sorted(world.home.rglob("*"))
            if p.is_file() and "dagster" not in p.parts and not p.name.startswith("journal.sqlite")
        }  # fmt: skip
        drop = [
            (o["Key"], o["ETag"], o["LastModified"]) for o in world.s3.list_objects_v2(Bucket=world.bucket)["Contents"]
        ]
        journal = Journal()
        attempt = journal.newest_attempt(TASK, PERIOD)
        assert attempt is not None
        remembered = (attempt, journal.events(attempt.id))
        journal.close()
        with dg.DagsterInstance.get() as instance:
            runs = {run.run_id for run in instance.get_runs()}
        return files, drop, remembered, runs, tables(world.warehouse)

    before = everything()
    observe(world)

    assert everything() == before


def test_a_warehouse_that_is_gone_is_not_made_again(world: DemoWorld) -> None:
    """Everything in it is gone, and the file stays so: a look may not leave an empty warehouse behind."""
    world.warehouse.unlink()

    answer = observe(world)
    gone = {s["about"] for s in answer.document["sightings"] if s["verdict"] == "gone"}

    assert answer.exit_code == 4
    assert {"table", "result", "credits"} <= gone
    assert not world.warehouse.exists()


def test_what_cannot_be_looked_at_is_said_and_is_no_change(world: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that does not answer: exit 1, the code, and everything else is seen all the same."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    answer = observe(world)
    words = {s["about"]: s["verdict"] for s in answer.document["sightings"]}

    assert (answer.exit_code, answer.document["status"], answer.document["code"]) == (1, "error", "UNAVAILABLE")
    assert words["drop"] == "not observed: UNAVAILABLE"
    assert words["table"] == words["credits"] == "unchanged"


def test_a_change_outweighs_what_could_not_be_looked_at(world: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 4: something is known to be wrong."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    sql("drop table recon.lines_202602")(world)

    assert (observe(world).exit_code, observe(world).document["code"]) == (4, "TABLE_GONE")


def test_a_month_of_which_nothing_is_known_has_nothing_to_lose(world: DemoWorld) -> None:
    """What is there is new; it waits for a run."""
    answer = observe(world, "2026-01")

    assert (answer.exit_code, answer.document["attempt"]) == (0, None)
    assert {s["verdict"] for s in answer.document["sightings"] if s["about"] != "credits"} == {"new"}
    assert "nothing was admitted" in answer.document["text"]


def test_it_is_recorded_where_dagster_shows_it(world: DemoWorld) -> None:
    """One observation with the partition on each of the task's assets, what does not stand first."""
    world.put(world.export_key, b"**other** | bytes\n")
    document = observe(world).document

    assert set(document["recorded_on"]) == ASSETS
    with dg.DagsterInstance.get() as instance:
        for name in ASSETS:
            records = instance.fetch_observations(dg.AssetKey(name), limit=1).records
            seen = records[0].asset_observation
            assert seen is not None
            assert seen.partition == PARTITION
            assert seen.description == document["text"]
            rows = seen.metadata["sightings"].value
            assert [r.data["verdict"] for r in rows.records][:2] == ["changed", "unchanged"]
            assert seen.metadata["changed"].value == 1
            assert seen.metadata["stands"].value is False


def test_without_dagster_it_is_recorded_nowhere(world: DemoWorld) -> None:
    """A home in which no instance was made: none is made by looking."""
    shutil.rmtree(world.home / "dagster")

    answer = observe(world)

    assert (answer.exit_code, answer.document["recorded_on"]) == (0, [])
    assert not (world.home / "dagster").exists()


def test_people_read_a_table_and_a_sentence(world: DemoWorld) -> None:
    """The word, the thing, both sides with their times; then what is wrong and what to do."""
    world.put(world.export_key, b"other\n")
    verb = ["observe", TASK, "--partition", PERIOD, "--home", str(world.home)]
    result = CliRunner().invoke(main, ["--project", str(PROJECT), *verb])

    assert result.exit_code == 4
    assert re.search(r"^changed +s3:vendor-drops/", result.stdout, re.MULTILINE)
    assert len(re.findall(r"^unchanged ", result.stdout, re.MULTILINE)) == 9
    assert "\nCHANGED OBJECT_CHANGED s3:vendor-drops/" in result.stdout
    assert "; the period stands at settled\n" in result.stdout
    assert not re.search(r"STOPPED|SUCCEEDED|[ ]$", result.stdout, re.MULTILINE)
    assert f"hint: `planexec run {TASK} --partition {PARTITION}`" in result.stdout
    assert max(map(len, result.stdout.splitlines())) < 640


def shown(world: DemoWorld, partition: str = PERIOD) -> str:
    """What people are shown."""
    verb = ["observe", TASK, "--partition", partition, "--home", str(world.home)]
    return CliRunner().invoke(main, ["--project", str(PROJECT), *verb]).stdout


def test_what_was_only_looked_at_neither_succeeds_nor_stops(world: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words of a look: unchanged, new, not observed; each with how the period stands, whatever was seen."""
    assert "\nUNCHANGED what the period relies on is what it was; 10 things looked at; " in shown(world)
    assert "the period stands at settled" in observe(world).document["text"]
    assert observe(world).document["period"] == {"status": "settled", "code": None, "settled_before": False}

    assert re.search(
        r"^NEW nothing was admitted .*; the period stands at not run$", shown(world, "2026-01"), re.MULTILINE
    )

    journal = Journal()
    attempt = journal.newest_attempt(TASK, PERIOD)
    assert attempt is not None
    journal.close_run(attempt.id, None, "stopped", "DUPLICATE_KEY")
    journal.close()
    assert "; the period stands at stopped (DUPLICATE_KEY), settled before\n" in shown(world)
    assert "\nUNCHANGED " in shown(world)

    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "\nNOT OBSERVED UNAVAILABLE s3:vendor-drops/" in shown(world)


def test_no_key_is_cut(world: DemoWorld) -> None:
    """A key of the longest kind goes on in the next lines, and can be put together again; digests are short."""
    key = world.key("-" + "".join(f"part{n:03}" for n in range(120)) + ".csv")
    world.put(key, b"late")
    text = shown(world)

    assert f"s3:{world.bucket}/{key}" in re.sub(r"\s+", "", "".join(_second_column(text)))
    assert max(map(len, text.splitlines())) < 640
    assert not re.search(r"[0-9a-f]{40}", text)


def _second_column(text: str) -> Iterator[str]:
    head = next(line for line in text.splitlines() if line.startswith("verdict"))
    begin, end = head.index("subject"), head.index("expected")
    yield from (line[begin:end] for line in text.splitlines())


def test_the_saturday_run_is_seen_as_it_was_left(tmp_path: Path) -> None:
    """Stopped before anything landed: the object is gone, nothing stands for it; what was done before it stands."""
    with LocalS3() as s3:
        world = DemoWorld(tmp_path / "home", s3.endpoint, period=PERIOD)
        world.seed()
        with environment(settings_of(world, FAULTS["delete-export-after-admission"])):
            assert planexec("run", TASK, "--partition", PERIOD, "--home", world.home).document["code"] == "OBJECT_GONE"
        with environment(settings_of(world, None)):
            answer = observe(world)

    found = {s["subject"]: (s["verdict"], s["stands"]) for s in answer.document["sightings"]}
    assert (answer.exit_code, answer.document["code"]) == (4, "OBJECT_GONE")
    assert found[f"s3:{world.bucket}/{world.export_key}"] == ("gone", False)
    assert found["warehouse:staging.ledger_202602"] == ("unchanged", True)
    assert not any(subject.startswith("landing:") for subject in found)
