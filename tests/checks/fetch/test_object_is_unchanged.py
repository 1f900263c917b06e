from __future__ import annotations

import hashlib

from tests.support.fetching import KEY, ROWS, fetching
from tests.support.s3 import S3Bucket, resource

OTHER = ROWS.replace(b"20.00", b"99.00")


def test_the_admitted_etag_passes_unread(s3: S3Bucket, tmp_path):
    """Same ETag and size: the same object."""
    s3.put(KEY, ROWS)
    verdict = fetching(s3, tmp_path).admit().one("object_is_unchanged")
    assert (verdict.status, verdict.text) == ("passed", "same ETag and size")


def test_the_same_bytes_under_another_etag_pass(s3: S3Bucket, tmp_path):
    """Uploaded again in one part: another ETag, the same SHA-256, unchanged."""
    first = s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    assert s3.put_in_one_part(KEY, ROWS) != first
    verdict = step.one("object_is_unchanged")
    assert (verdict.status, verdict.text) == ("passed", "another ETag, same bytes")


def test_other_bytes_fail(s3: S3Bucket, tmp_path):
    """Replaced by other bytes, of the same length even: OBJECT_CHANGED with both digests."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    s3.put(KEY, OTHER)
    verdict = step.one("object_is_unchanged")
    assert (verdict.status, verdict.code) == ("failed", "OBJECT_CHANGED")
    assert hashlib.sha256(ROWS).hexdigest() in str(verdict.expected.value)
    assert hashlib.sha256(OTHER).hexdigest() in str(verdict.observed.value)


def test_replaced_by_nothing_fails(s3: S3Bucket, tmp_path):
    """Overwritten with zero bytes after admission: changed."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    s3.put(KEY, b"")
    assert step.one("object_is_unchanged").code == "OBJECT_CHANGED"


def test_a_gone_object_is_gone(s3: S3Bucket, tmp_path):
    """Deleted: OBJECT_GONE, not changed."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    s3.delete(KEY)
    assert step.one("object_is_unchanged").code == "OBJECT_GONE"


def test_what_was_not_admitted_has_nothing_to_be_compared_with(s3: S3Bucket, tmp_path):
    """An object that came after the admission, or lies outside the drop: VALIDATION_ERROR, saying so."""
    step = fetching(s3, tmp_path).admit()
    s3.put(KEY, ROWS)
    for phase in ("pre", "post"):
        verdict = step.one("object_is_unchanged", phase)
        assert (verdict.status, verdict.code) == ("failed", "VALIDATION_ERROR")
        assert "was not admitted" in verdict.text


def test_after_the_read_the_landed_copy_counts(s3: S3Bucket, tmp_path):
    """Landed as admitted passes although the drop is gone; altered on the disk is OBJECT_CHANGED; lost is gone."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    step.call()
    s3.delete(KEY)
    assert step.one("object_is_unchanged", "post").status == "passed"
    step.landed()[0].write_bytes(OTHER)
    verdict = step.one("object_is_unchanged", "post")
    assert verdict.code == "OBJECT_CHANGED"
    assert verdict.observed.source.subject.system == "landing"
    step.landed()[0].unlink()
    assert step.one("object_is_unchanged", "post").code == "OBJECT_GONE"


def test_a_tool_that_names_another_copy_is_found_out(s3: S3Bucket, tmp_path):
    """A tool that lands something else and says so in good faith has still not landed what was admitted."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    step.call()
    sha256 = hashlib.sha256(OTHER).hexdigest()
    path = step.ports.roots.landed_path(sha256)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(OTHER)
    step.result = step.result.model_copy(update={"landed": sha256})
    assert step.one("object_is_unchanged", "post").code == "OBJECT_CHANGED"


def test_from_landing_the_landed_copy_counts_before_the_read_too(s3: S3Bucket, tmp_path):
    """For an expired drop the landed copy is compared with the admission, without a look at the store."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    step.call()
    step.expired()
    assert step.one("object_is_unchanged").status == "passed"
    step.landed()[0].write_bytes(OTHER)
    assert step.one("object_is_unchanged").code == "OBJECT_CHANGED"


def test_a_store_that_is_down_is_an_error(s3: S3Bucket, tmp_path):
    """No answer is not sameness."""
    s3.put(KEY, ROWS)
    down = fetching(s3, tmp_path, store=resource("http://127.0.0.1:9").port())
    down.admission = fetching(s3, tmp_path).admit().admission
    verdict = down.one("object_is_unchanged")
    assert (verdict.status, verdict.code) == ("errored", "UNAVAILABLE")
