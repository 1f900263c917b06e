from __future__ import annotations

import pytest

from dagster_planexec.world.probes.delivery import objects
from tests.support.fetching import KEY, ROWS, fetching
from tests.support.s3 import S3Bucket, resource

SECOND = KEY.replace("invoice", "invoice-b")


def test_passes_when_each_object_is_read(s3: S3Bucket, tmp_path):
    """The only object of the drop is the one that the step reads; the expected side is not the listing."""
    s3.put(KEY, ROWS)
    verdict = fetching(s3, tmp_path).one("drop_is_complete")
    assert verdict.status == "passed"
    assert verdict.observed.source.reader.startswith("LIST")
    assert verdict.expected.source.subject.system == "plan"


@pytest.mark.parametrize("body", [ROWS, b""], ids=["rows", "zero bytes"])
def test_an_unread_object_fails(s3: S3Bucket, tmp_path, body):
    """A second object that no step reads is DROP_INCOMPLETE and named, zero bytes or not."""
    s3.put(KEY, ROWS)
    s3.put(SECOND, body)
    verdict = fetching(s3, tmp_path).one("drop_is_complete")
    assert (verdict.status, verdict.code) == ("failed", "DROP_INCOMPLETE")
    assert SECOND in verdict.text
    assert KEY not in verdict.text


def test_an_object_that_another_step_reads_is_read(s3: S3Bucket, tmp_path):
    """What counts is the run, not the step."""
    s3.put(KEY, ROWS)
    s3.put(SECOND, ROWS)
    step = fetching(s3, tmp_path)
    step.consumed |= {(s3.name, SECOND)}
    assert step.one("drop_is_complete").status == "passed"


def test_a_key_of_another_bucket_is_not_this_one(s3: S3Bucket, tmp_path):
    """The same key read from another bucket leaves this one unread."""
    s3.put(KEY, ROWS)
    s3.put(SECOND, ROWS)
    step = fetching(s3, tmp_path)
    step.consumed |= {("another-bucket", SECOND)}
    assert step.one("drop_is_complete").code == "DROP_INCOMPLETE"


@pytest.mark.parametrize("key", ["vendor/exports/2026-02-invoice.csv", KEY + ".tmp", "vendor/exports/", "other/x.csv"])
def test_what_lies_outside_the_drop_is_ignored(s3: S3Bucket, tmp_path, key):
    """Other months, other names and folder markers are not of this drop."""
    s3.put(KEY, ROWS)
    s3.put(key, b"")
    assert fetching(s3, tmp_path).one("drop_is_complete").status == "passed"


def test_an_absent_object_is_another_checks_business(s3: S3Bucket, tmp_path):
    """An empty drop holds nothing unread."""
    assert fetching(s3, tmp_path).one("drop_is_complete").status == "passed"


def test_a_new_delivery_in_place_of_a_landed_one_is_unread(s3: S3Bucket, tmp_path):
    """Admitted from the landing, and now there is an object of that name again: nothing reads that one."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    step.call()
    step.expired()
    assert step.one("drop_is_complete").status == "passed"
    s3.put(KEY, b"delivered again")
    assert step.one("drop_is_complete").code == "DROP_INCOMPLETE"


def test_an_object_outside_the_drop_has_no_drop_to_complete(s3: S3Bucket, tmp_path):
    """A step that reads something else is told so by the task, before anything is seen."""
    (verdict,) = fetching(s3, tmp_path, key="vendor/rates.csv").judge("drop_is_complete")
    assert verdict.status == "not-applicable"
    assert verdict.expected.source.subject.system == "task"


def test_many_unread_objects_are_counted_and_named_in_part(s3: S3Bucket, tmp_path, monkeypatch):
    """The count is exact where the names are not all kept, and the text stays short."""
    monkeypatch.setattr(objects, "MAX_KEYS_SHOWN", 3)
    s3.put(KEY, ROWS)
    for i in range(8):
        s3.put(KEY.replace("invoice", f"invoice-{i}"), b"")
    verdict = fetching(s3, tmp_path).one("drop_is_complete")
    assert verdict.code == "DROP_INCOMPLETE"
    assert verdict.text.startswith(("8 of 9", "9 of 9", "7 of 9"))
    assert len(verdict.text) < 600


def test_a_store_that_is_down_is_an_error(s3: S3Bucket, tmp_path):
    """No listing is not an empty one."""
    verdict = fetching(s3, tmp_path, store=resource("http://127.0.0.1:9").port()).one("drop_is_complete")
    assert (verdict.status, verdict.code) == ("errored", "UNAVAILABLE")
