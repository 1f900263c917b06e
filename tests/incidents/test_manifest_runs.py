"""A delivery with a manifest, by whole runs: what it names is there, what it states is found, or nothing goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.cli.examined.task import _drop
from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.execute.reobserve.reobserve import reobserve
from dagster_planexec.world.delivery.manifest.form import ManifestForm, PartWords, WholeWords
from tests.support.billed import HEADER, Billed, step_of, task_of
from tests.support.disabled import always_passes
from tests.support.s3 import S3Bucket, s3, s3_server

__all__ = ["s3", "s3_server"]

A, B, C = (f"in/2026-03-{part}.csv" for part in "abc")
BODIES = {
    A: f"{HEADER}\nJ1,1,2026-03-05,10.00,USD\nJ2,1,2026-03-06,20.00,USD\n".encode(),
    B: f"{HEADER}\nJ3,1,2026-03-07,0.10,USD\n".encode(),
    C: f"{HEADER}\nJ4,1,2026-03-08,0.20,USD\n".encode(),
}
TOTALS = {A: (2, "30.00"), B: (1, "0.10"), C: (1, "0.20")}
NAME = "in/2026-03.manifest.json"
FORM = ManifestForm("json", PartWords("name", "bytes", "sha256", "md5", "rows", "total"), "files",
                    WholeWords(rows="rows", amount="total", period="month"))  # fmt: skip
DECLARED = Manifest(r"{period}\.manifest\.json", FORM)
CONTROL = Manifest(r"{period}\.ctl", ManifestForm("pairs", whole=WholeWords("files", "rows", "amount"), delimiter="="))


def part(key: str, **changes: Any) -> dict[str, Any]:
    """What the manifest states of a part."""
    body, (rows, total) = BODIES[key], TOTALS[key]
    stated = {
        "name": key.removeprefix("in/"), "bytes": len(body), "sha256": hashlib.sha256(body).hexdigest(),
        "md5": hashlib.md5(body, usedforsecurity=False).hexdigest(), "rows": rows, "total": total,
    }  # fmt: skip
    return stated | changes


def manifest(*parts: dict[str, Any], **changes: Any) -> bytes:
    """A manifest of these parts."""
    total = sum(round(float(one["total"]) * 100) for one in parts)
    whole = {"rows": sum(one["rows"] for one in parts), "total": f"{total / 100:.2f}", "month": "2026-03"}
    return json.dumps({"files": parts, **whole, **changes}).encode()


@pytest.fixture
def billed(s3: S3Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Billed]:
    """Makes a world in which A and B are delivered, agree with the ledger, and are read by the plan."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))

    def made(declared: Manifest = DECLARED, *, reads: tuple[str, ...] = (A, B)) -> Billed:
        # A pattern that would match the manifest as well: what is a manifest is no data.
        world = Billed(s3, tmp_path, task_of(s3.name, "in/", r"{period}.*", declared), {"2026-03": reads})
        for key in (A, B):
            world.charge(BODIES[key].decode())
            s3.put(key, BODIES[key])
        return world

    return made


@dataclass(frozen=True)
class Ends:
    """A manifest, and how the month ends."""

    name: str
    manifest: bytes | None
    status: str
    code: str | None
    says: str = ""
    at: str = "fetch"
    extra: dict[str, bytes] = field(default_factory=dict)


BOTH = (part(A), part(B))
TABLE = [
    Ends("all-is-as-stated", manifest(*BOTH), "succeeded", None),
    Ends("part-that-is-not-there", manifest(*BOTH, part(C)), "rejected", "MISSING_PART", "1 of 3 parts", extra={}),
    Ends("no-manifest", None, "rejected", "MISSING_PART", "the manifest is not there"),
    Ends("another-size", manifest(part(A), part(B, bytes=7)), "rejected", "OBJECT_CHANGED", "the manifest states 7"),
    Ends("stranger", manifest(*BOTH), "rejected", "DROP_INCOMPLETE", "are named by no manifest", extra={C: BODIES[C]}),
    Ends("another-month", manifest(*BOTH, month="2026-02"), "rejected", "STALE_PERIOD", "it is of '2026-02'"),
    Ends("no-manifest-at-all", b"<html>", "rejected", "BAD_MANIFEST", "no JSON"),
    Ends("another-sha256", manifest(part(A), part(B, sha256="0" * 64)), "stopped", "OBJECT_CHANGED",
         "the manifest states sha256 000", "fetch_2"),
    Ends("parts-that-close-over-all-only", manifest(part(A, rows=1, total="29.90"), part(B, rows=2, total="0.20")),
         "stopped", "CONTROL_TOTAL_MISMATCH", "states 1 row, 29.90; found 2 rows, 30.00", "load"),
]  # fmt: skip


@pytest.mark.parametrize("ends", TABLE, ids=lambda ends: ends.name)
def test_month_ends_as_its_manifest_says(billed, s3, ends):
    """Status, code, step and words; nothing is credited, and nothing is reconciled on what is not as stated."""
    world = billed()
    if ends.manifest is not None:
        s3.put(NAME, ends.manifest)
    for key, body in ends.extra.items():
        s3.put(key, body)
    report = world.settle(limits=world.task.limits)

    told = json.dumps([report.text, *(v.text for v in report.live), *(v.text for s in report.steps for v in s.checks)])
    assert (report.status, report.code) == (ends.status, ends.code), told
    assert ends.says in told
    assert world.credits() == {}
    if ends.status == "succeeded":
        totals = [v for v in step_of(report, "load").checks if v.check == "control_totals_agree"]
        assert [(v.status, v.expected.value, v.observed.value) for v in totals] == [
            ("passed", "2 rows, 30.00", "2 rows, 30.00"), ("passed", "1 row, 0.10", "1 row, 0.10"),
            ("passed", "3 rows, 30.10", "3 rows, 30.10"),
        ]  # fmt: skip
        return
    assert not {"reconcile", "report", "issue_credit"} & set(world.called())
    if ends.status == "stopped":
        assert step_of(report, ends.at).code == ends.code
    else:
        assert world.called() == []


def test_parts_that_their_manifest_does_not_replace_are_missing_by_name(billed, s3):
    """Ten parts of twelve: five are named, the others counted."""
    world = billed()
    more = [part(C, name=f"2026-03-{n:02d}.csv") for n in range(10)]
    s3.put(NAME, manifest(*BOTH, *more))
    report = world.settle()

    assert report.code == "MISSING_PART"
    assert "10 of 12 parts that the manifest names are not there: 'in/2026-03-00.csv'" in report.text
    assert "'in/2026-03-04.csv' and 5 more" in json.dumps([verdict.text for verdict in report.live])


@pytest.mark.parametrize(
    ("stated", "status", "code", "says"),
    [
        (b"files=2\nrows=4\namount=30.20\n", "stopped", "CONTROL_TOTAL_MISMATCH",
         "the control file states 4 rows, 30.20; found 3 rows, 30.10"),
        (b"files=3\nrows=3\namount=30.10\n", "rejected", "MISSING_PART", "the control file states 3 parts"),
    ],
)  # fmt: skip
def test_control_file_is_compared_with_the_table(billed, s3, stated, status, code, says):
    """It names no parts, and says how many lines and how much money there are."""
    world = billed(CONTROL)
    s3.put("in/2026-03.ctl", stated)
    report = world.settle()

    told = json.dumps([report.text, *(v.text for s in report.steps for v in s.checks)])
    assert (report.status, report.code) == (status, code), told
    assert says in told


def test_no_money_moves_on_a_bill_that_is_not_final(billed, s3):
    """The vendor bills less than was charged, as an estimate: the report is written, the credit waits for the bill."""
    words = WholeWords(rows="rows", amount="total", period="month", final="state")
    form = ManifestForm("json", FORM.part, "files", words)
    world = billed(Manifest(DECLARED.pattern, form))
    world.charge(BODIES[C].decode())
    s3.put(NAME, manifest(*BOTH, state="estimate"))
    estimate = world.settle()
    before = dict(world.credits())
    s3.put(NAME, manifest(*BOTH, state="FINAL"))
    final = world.settle()

    assert (estimate.status, estimate.code) == ("stopped", "NOT_FINAL"), estimate.text
    assert step_of(estimate, "report").outcome == "done"
    assert before == {}
    assert (final.status, {key: str(amount) for key, amount in world.credits().items()}) == (
        "succeeded", {"J4|1": "0.20"},
    ), final.text  # fmt: skip


def test_with_every_check_disabled_an_estimate_moves_no_money(billed, s3):
    """What cannot be undone reads the landed manifest for itself."""
    form = ManifestForm(
        "json", FORM.part, "files", WholeWords(rows="rows", amount="total", period="month", final="state")
    )
    world = billed(Manifest(DECLARED.pattern, form))
    world.charge(BODIES[C].decode())
    world.checks = {name: always_passes(name) for name in BINDERS}
    s3.put(NAME, manifest(*BOTH, state="estimate"))

    estimate = world.settle()

    assert (estimate.status, estimate.code) == ("stopped", "NOT_FINAL"), estimate.text
    assert dict(world.credits()) == {}


def test_manifest_is_evidence_and_no_data(billed, s3):
    """Admitted and kept, read by no step; another one is another attempt; when the drop expires its copy speaks."""
    world = billed()
    s3.put(NAME, manifest(*BOTH))
    first = world.settle()
    again = world.settle()
    with world.work() as work:
        admitted = work.journal.attempt(first.attempt).admission
    for key in (A, B, NAME):
        s3.delete(key)
    expired = world.settle()
    for key in (A, B):
        s3.put(key, BODIES[key])
    s3.put(NAME, manifest(*BOTH, note="corrected"))
    corrected = world.settle()

    assert [r.status for r in world.reports] == ["succeeded"] * 4, [r.text for r in world.reports]
    assert [o["key"] for o in admitted["objects"]] == [A, B]
    assert [o["key"] for o in admitted["manifests"]] == [NAME]
    assert first.attempt == again.attempt == expired.attempt != corrected.attempt
    assert {step.outcome for step in again.steps} == {"reused"}


def test_manifest_that_is_replaced_under_a_run_stops_it(billed, s3):
    """Between the check and the second read: what the first was compared with holds no more."""
    world = billed()
    s3.put(NAME, manifest(*BOTH))
    world.when("step-started", "fetch_2", lambda: s3.put(NAME, manifest(*BOTH, part(C))))
    report = world.settle()

    assert (report.status, report.code, step_of(report, "fetch_2").code) == (
        "stopped",
        "OBJECT_CHANGED",
        "OBJECT_CHANGED",
    )
    assert "the manifest 'in/2026-03.manifest.json' was replaced" in report.text
    assert "load" not in world.called()


def test_what_observe_says_of_manifests(billed, s3):
    """Admitted, it stands like the parts; replaced or joined by another one, the month's delivery is another one."""
    world = billed(Manifest(r"{period}(-v\d)?\.manifest\.json", FORM))
    s3.put(NAME, manifest(*BOTH))
    assert world.settle().status == "succeeded"

    def seen() -> list[tuple[str, str, str | None]]:
        with world.work() as work:
            found = reobserve(work, world.task.period("2026-03"))
        return [
            (str(one.subject).rsplit("/", 1)[-1], one.word, one.code) for one in found.sightings if one.about == "drop"
        ]

    parts = [("2026-03-a.csv", "unchanged", None), ("2026-03-b.csv", "unchanged", None)]
    assert seen() == [("2026-03.manifest.json", "unchanged", None), *parts]
    s3.put(NAME, manifest(*BOTH, month="2026-03 "))
    assert seen() == [("2026-03.manifest.json", "changed", "OBJECT_CHANGED"), *parts]
    s3.put("in/2026-03-v2.manifest.json", manifest(*BOTH))
    s3.put(NAME, manifest(*BOTH))
    s3.put(C, BODIES[C])
    assert seen() == [
        ("2026-03.manifest.json", "unchanged", None), *parts,
        ("2026-03-v2.manifest.json", "new", "DROP_INCOMPLETE"), ("2026-03-c.csv", "new", "DROP_INCOMPLETE"),
    ]  # fmt: skip


def test_what_doctor_says_of_manifests(billed, s3):
    """Manifests are counted beside the objects of the task's periods, and are no object of their own."""
    world = billed()

    def said() -> object:
        with world.work() as work:
            return _drop(world.task, work.ports)

    assert "2 objects, 2 of a period of the task, 0 manifests among them" in str(said())
    s3.put(NAME, manifest(*BOTH))
    assert "3 objects, 3 of a period of the task, 1 manifest among them" in str(said())
