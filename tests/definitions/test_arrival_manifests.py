"""A drop with manifests, as the sensor sees it: a delivery has settled when all that is named is there, and says so."""

from __future__ import annotations

import json
from collections.abc import Iterator

import dagster as dg
import pytest

from dagster_planexec.compiler.binding import work_of
from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.contract.task import Drop
from dagster_planexec.definitions.triggers.arrival_sensor import look_at_drop
from dagster_planexec.definitions.triggers.task_runs import TaskRuns
from dagster_planexec.world.delivery.manifest.form import ManifestForm, PartWords, WholeWords
from tests.support.drops import QUIET_S, SetClock, Watch, instance_in, planned_for

A, B, C = (f"in/2026-02-{part}.csv" for part in "abc")
MANIFEST = "in/2026-02.manifest"
BODY = b"a,b\n1,2\n"
WAIT_S = 7200
DECLARED = Manifest(r"{period}\.manifest", ManifestForm("json", PartWords("name", size="size"), "files"), WAIT_S)


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Iterator[dg.DagsterInstance]:
    with instance_in(tmp_path_factory.mktemp("dagster")) as found:
        yield found


@pytest.fixture
def watching(s3, tmp_path, monkeypatch, instance):
    """Makes a sensor on the bucket, by the real time."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))

    def made(manifest: Manifest | None = DECLARED, pattern: str = r"{period}.*\.csv", **task) -> Watch:
        clock = SetClock()
        drop = Drop(s3.name, "in/", pattern, input="vendor", quiet_s=QUIET_S, manifest=manifest)
        name = task.pop("name", f"manifests_{s3.name.replace('-', '_')}")
        return Watch(planned_for(drop, s3.store(), clock, name=name, **task), instance, clock)

    return made


def naming(*keys: str, size: int = len(BODY)) -> bytes:
    """A manifest that names these keys beside it."""
    return json.dumps({"files": [{"name": key.rpartition("/")[2], "size": size} for key in keys]}).encode()


def last(watch: Watch) -> str:
    """What a tick says that may ask for something; it starts nothing."""
    work = work_of(watch.binding)
    try:
        return look_at_drop(work, watch.cursor, TaskRuns(watch.instance, watch.binding.task)).said
    finally:
        work.journal.close()


def test_manifest_that_comes_last_settles_at_once(s3, watching):
    """No quarter of an hour is waited when the vendor says that this is all; asked for once, with the manifest."""
    watch = watching()
    s3.put(A, BODY)
    s3.put(B, BODY)
    assert "1 wait for what a manifest names (2026-02: no manifest yet, until 20" in watch.said()
    s3.put(MANIFEST, naming(A, B))

    (request,) = watch.tick().run_requests
    assert (request.partition_key, request.tags["planexec/objects"]) == ("2026-02-01", "3")
    assert watch.asked() == []


def test_part_that_is_not_there_is_waited_for_by_name_and_no_longer_than_a_day(s3, watching):
    """The tick counts; after the wait a run is asked for all the same, which stops and tells people. Then it comes."""
    watch = watching()
    for key in (A, B):
        s3.put(key, BODY)
    s3.put(MANIFEST, naming(A, B, C))
    said = watch.said()
    watch.clock.forward(WAIT_S - 60)
    still = watch.said()
    watch.clock.forward(120)
    without = last(watch)
    asked = watch.asked()
    s3.put(C, BODY)

    assert "1 wait for what a manifest names (2026-02: part 'in/2026-02-c.csv' (2 of 3 are there), until 20" in said
    assert "2 of 3" in still
    assert "1 runs requested (2026-02 without part 'in/2026-02-c.csv' (2 of 3 are there))" in without
    assert asked == ["2026-02-01"]
    assert [r.tags["planexec/objects"] for r in watch.settle().run_requests] == ["4"]


def test_part_of_another_size_is_not_the_part_that_is_named(s3, watching):
    """A correction whose manifest is there before its file: the old file is waited out."""
    watch = watching()
    s3.put(A, BODY)
    s3.put(MANIFEST, naming(A, size=len(BODY) + 2))

    assert "part 'in/2026-02-a.csv' (0 of 1 are there)" in watch.said()
    s3.put(A, BODY + b"3\n")
    assert watch.settle().run_requests[0].partition_key == "2026-02-01"


def test_manifest_that_is_replaced_is_another_delivery(s3, watching):
    """The parts are the same objects; the manifest is not."""
    watch = watching()
    s3.put(A, BODY)
    s3.put(MANIFEST, naming(A))
    keys = [request.run_key for request in watch.tick().run_requests]
    s3.put(MANIFEST, naming(A) + b"\n")
    keys += [request.run_key for request in watch.tick().run_requests]

    assert len(set(keys)) == len(keys) == 2


def test_part_that_is_replaced_after_its_manifest_waits_for_quiet(s3, watching):
    """The vendor may be replacing one after the other: half a correction is not asked for."""
    watch = watching()
    watch.clock.forward(5)
    for key in (A, B):
        s3.put(key, BODY)
    s3.put(MANIFEST, naming(A, B))
    assert watch.asked() == ["2026-02-01"]
    watch.clock.forward(60)
    s3.put(A, BODY[:-2] + b"3\n")

    assert "1 still change (2026-02 until 20" in watch.said()
    watch.clock.forward(QUIET_S + 60)
    assert watch.asked() == ["2026-02-01"]


UNUSABLE = {
    "2026-01": (b"<html>", "it is no JSON"),
    "2026-02": (b'["2026-02-b.csv"]', "no list of parts"),
    "2026-03": (json.dumps({"files": [{"name": "../other/x.csv", "size": 1}]}).encode(), "'.' or '..' as a folder"),
    "2026-04": (json.dumps({"files": [{"name": "../" + "x" * 900_000, "size": 1}]}).encode(), "longer than the 1024"),
    "2026-05": (b'{"files": [{"name": "a\\u001b[2J\\u202e.csv", "size": 1}]}', "control character"),
}


def test_manifests_that_cannot_be_used_are_said_and_then_asked_for(s3, watching):
    """A run is what people are told of; the tick's own words are bounded and printable, whatever the vendor wrote."""
    watch = watching()
    for month, (raw, _) in UNUSABLE.items():
        s3.put(f"in/{month}-a.csv", BODY)
        s3.put(f"in/{month}.manifest", raw)
    said = watch.said()
    watch.clock.forward(QUIET_S + 5)

    assert "5 still change (2026-01 until 20" in said
    assert all(says in said for _, says in UNUSABLE.values())
    assert len(said) < 2000
    assert said.isprintable()
    assert watch.asked() == [f"{month}-01" for month in UNUSABLE]


def test_months_in_one_tick_are_judged_by_their_own_manifests(s3, watching):
    """January is whole, February waits for a part, March has no manifest; none holds up another."""
    watch = watching()
    for month in ("01", "02", "03"):
        s3.put(f"in/2026-{month}-a.csv", BODY)
    s3.put("in/2026-01.manifest", naming("2026-01-a.csv"))
    s3.put(MANIFEST, naming(A, B))
    said = last(watch)

    assert watch.asked() == ["2026-01-01"]
    assert "2 wait for what a manifest names (2026-02: part 'in/2026-02-b.csv' (1 of 2 are there), until" in said
    assert "2026-03: no manifest yet" in said


def test_control_file_with_a_number_of_parts_settles_by_it(s3, watching):
    """One that states none waits for quiet, as nothing says that this is all."""
    counted = ManifestForm("pairs", whole=WholeWords(parts="files", rows="rows"), delimiter="=")
    watch = watching(Manifest(r"{period}\.ctl", counted, WAIT_S))
    s3.put(A, BODY)
    s3.put("in/2026-02.ctl", b"files=2\nrows=2\n")
    said = watch.said()
    s3.put(B, BODY)
    assert "a part (1 of 2 are there)" in said
    assert watch.settle().run_requests[0].partition_key == "2026-02-01"

    uncounted = ManifestForm("pairs", whole=WholeWords(rows="rows"), delimiter="=")
    other = watching(Manifest(r"{period}\.ctl", uncounted, WAIT_S), name=f"{watch.binding.task.name}_u")
    assert "1 still change" in other.said()


def test_manifest_that_lies_in_an_archive_holds_up_its_month_only(s3, watching):
    """It cannot be read before it is restored, which its run says; a sensor may begin on a drop with old months."""
    watch = watching()
    for month in ("02", "03"):
        s3.put(f"in/2026-{month}-a.csv", BODY)
    s3.put("in/2026-03.manifest", naming("2026-03-a.csv"))
    s3.client.put_object(Bucket=s3.name, Key=MANIFEST, Body=naming(A), StorageClass="GLACIER")
    said = last(watch)

    assert watch.asked() == ["2026-03-01"]
    assert "1 still change (2026-02 until 20" in said
    assert "OBJECT_ARCHIVED" in said
    watch.clock.forward(QUIET_S + 5)
    assert watch.asked() == ["2026-02-01"]


@pytest.mark.parametrize(
    ("manifest", "name"), [(DECLARED, "2026-02-b.csv.filepart"), (None, "_temporary/0/2026-02-b.csv")],
    ids=["with-a-manifest", "without"],
)  # fmt: skip
def test_unfinished_upload_inside_the_pattern_is_waited_for(s3, watching, manifest, name):
    """Not read, and not for ever: it goes away, or a day later a run meets it."""
    watch = watching(manifest, pattern=r".*{period}.*")
    s3.put(A, BODY)
    s3.put(f"in/{name}", BODY)
    s3.put(MANIFEST, naming(A))
    watch.clock.forward(QUIET_S + 5)
    said = watch.said()
    s3.delete(f"in/{name}")

    assert f"1 wait for an upload that is not finished by its name (2026-02: 'in/{name}' until 20" in said
    assert watch.asked() == ["2026-02-01"]
    s3.put(f"in/{name}", BODY)
    watch.clock.forward(10)
    assert watch.asked() == []
    watch.clock.forward(86_400)
    assert watch.asked() == ["2026-02-01"]


def test_month_outside_of_the_partitions_is_named(s3, watching):
    """No run can be asked for it, and nothing crashes: the tick counts its objects and says which months."""
    watch = watching(None, first_period="2026-02", last_period="2026-03")
    for key in ("in/2026-02.csv", "in/2025-12.csv", "in/2025-12-b.csv", "in/2026-04.csv", "in/2026-13.csv"):
        s3.put(key, BODY)
    watch.clock.forward(QUIET_S + 5)
    said = last(watch)

    assert watch.asked() == ["2026-02-01"]
    assert said.startswith("5 objects, 4 passed over, 1 new; 1 runs requested")
    assert said.endswith("; 3 are of a period outside of the task's partitions (2025-12, 2026-04)")


def test_upload_that_is_not_completed_is_invisible_and_restarts_the_quiet_time_when_it_is(s3, watching):
    """S3 lists it when its last piece is put together, dated by its first."""
    watch = watching(None)
    s3.put(A, BODY)
    upload = s3.client.create_multipart_upload(Bucket=s3.name, Key=B)["UploadId"]
    which = {"Bucket": s3.name, "Key": B, "UploadId": upload}
    part = s3.client.upload_part(**which, PartNumber=1, Body=BODY)
    assert watch.said().startswith("1 objects, ")
    watch.clock.forward(QUIET_S - 5)
    s3.client.complete_multipart_upload(**which, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})
    assert watch.said().startswith("2 objects, 0 passed over, 1 new; 0 runs requested; 1 still change")
    watch.clock.forward(QUIET_S + 5)

    assert [r.tags["planexec/objects"] for r in watch.tick().run_requests] == ["2"]


def test_object_that_grows_from_look_to_look_is_asked_for_once_when_it_has_stopped(s3, watching):
    """Uploaded again and again, each time longer: every upload restarts the quiet time."""
    watch = watching(None)
    for size in range(1, 4):
        s3.put(A, BODY * size)
        assert "1 still change" in watch.said()
        watch.clock.forward(QUIET_S - 100)
        assert "1 still change" in watch.said()
    watch.clock.forward(QUIET_S)

    assert [watch.asked(), watch.asked()] == [["2026-02-01"], []]
    assert max(seen.size for seen in watch.seen("2026-02")) == 3 * len(BODY)


def test_delete_marker_that_is_taken_off_before_anybody_asked_is_an_arrival(s3, watching):
    """Absent while the marker lies on it, news when it is gone."""
    s3.keep_versions()
    watch = watching(None)
    s3.put(A, BODY)
    marker = s3.client.delete_object(Bucket=s3.name, Key=A)["VersionId"]
    watch.clock.forward(QUIET_S + 5)
    assert watch.said().startswith("0 objects")
    s3.client.delete_object(Bucket=s3.name, Key=A, VersionId=marker)

    assert watch.settle().run_requests[0].partition_key == "2026-02-01"


def test_two_tasks_on_one_prefix_each_ask_for_themselves(s3, watching):
    """Neither takes the other's arrivals, and each sees its own names only."""
    first = watching(None, name="first_task", pattern=r"{period}-a\.csv")
    second = watching(None, name="second_task", pattern=r"{period}-[ab]\.csv")
    s3.put(A, BODY)
    s3.put(B, BODY)
    for watch in (first, second):
        watch.clock.forward(QUIET_S + 5)

    assert [r.tags["planexec/objects"] for r in first.tick().run_requests] == ["1"]
    assert [r.tags["planexec/objects"] for r in second.tick().run_requests] == ["2"]
    assert (first.asked(), second.asked()) == ([], [])


@pytest.mark.parametrize(
    ("pattern", "says"),
    [(r"manifest\.json", "does not name the period"), (r"{period}(\.json", "no regular expression"),
     (r"{month}-{period}\.json", "names {month}")],
)  # fmt: skip
def test_manifest_pattern_that_cannot_be_met_is_refused_where_it_is_written(pattern, says):
    """By the task, not by a tick."""
    from dagster_planexec import PlanexecError

    with pytest.raises(PlanexecError, match=says.replace("{", r"\{")) as refused:
        Drop("drops", "in/", r"{period}\.csv", "vendor", manifest=Manifest(pattern, DECLARED.form))
    assert refused.value.code == "BAD_CONTRACT"
