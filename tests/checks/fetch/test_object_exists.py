from __future__ import annotations

import re

import pytest

from tests.support.fetching import KEY, ROWS, fetching
from tests.support.s3 import S3Bucket, resource


def test_passes_while_the_object_is_there(s3: S3Bucket, tmp_path):
    """What was admitted and is there passes, with the admitted ETag on one side and the present one on the other."""
    etag = s3.put(KEY, ROWS)
    verdict = fetching(s3, tmp_path).admit().one("object_exists")
    assert (verdict.status, verdict.code) == ("passed", None)
    assert (verdict.expected.value, verdict.observed.value) == (f"etag {etag}", f"etag {etag}")
    assert str(verdict.expected.source.subject) == f"admission:{s3.name}/{KEY}"
    assert verdict.expected.source.at is not None


def test_passes_when_other_bytes_are_there(s3: S3Bucket, tmp_path):
    """Existence is all it asks; that the object is another one is the next check's business."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    s3.put(KEY, b"other")
    assert step.one("object_exists").status == "passed"


def test_fails_when_the_object_is_gone(s3: S3Bucket, tmp_path):
    """Deleted after admission: OBJECT_GONE, saying what was expected, what was seen, and when."""
    etag = s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    s3.delete(KEY)
    verdict = step.one("object_exists")
    assert (verdict.status, verdict.code) == ("failed", "OBJECT_GONE")
    words = rf"claim `object_exists` broken: expected etag {etag}, saw no object at \d\d:\d\d:\d\d UTC"
    assert re.fullmatch(words, verdict.text)
    assert verdict.observed.value == "no object"


def test_names_the_version_behind_a_delete_marker(s3: S3Bucket, tmp_path):
    """In a versioned bucket the failure tells a person what could be restored."""
    s3.keep_versions()
    version = s3.client.put_object(Bucket=s3.name, Key=KEY, Body=ROWS)["VersionId"]
    step = fetching(s3, tmp_path).admit()
    s3.delete(KEY)
    verdict = step.one("object_exists")
    assert verdict.code == "OBJECT_GONE"
    assert version in verdict.text


@pytest.mark.parametrize(("there", "code"), [(True, None), (False, "OBJECT_GONE")], ids=["there", "gone"])
def test_an_object_that_was_not_admitted_must_exist_too(s3: S3Bucket, tmp_path, there, code):
    """Without an admission the contract itself asks for the object."""
    if there:
        s3.put(KEY, ROWS)
    verdict = fetching(s3, tmp_path).one("object_exists")
    assert verdict.code == code
    assert verdict.expected.source.subject.system == "contract"


def test_from_landing_the_landed_copy_must_exist(s3: S3Bucket, tmp_path):
    """An expired drop is no news where the admission says that a landed copy stands for it; a lost copy is."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    step.call()
    step.expired()
    assert step.one("object_exists").status == "passed"
    assert step.one("object_exists").observed.source.subject.system == "landing"
    step.landed()[0].unlink()
    assert step.one("object_exists").code == "OBJECT_GONE"


def test_a_store_that_is_down_is_an_error(s3: S3Bucket, tmp_path):
    """No answer is neither presence nor absence."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    down = fetching(s3, tmp_path, store=resource("http://127.0.0.1:9").port())
    down.admission = step.admission
    verdict = down.one("object_exists")
    assert (verdict.status, verdict.code) == ("errored", "UNAVAILABLE")
