from __future__ import annotations

import pytest

from tests.support.fetching import KEY, ROWS, fetching
from tests.support.s3 import S3Bucket, resource


@pytest.mark.parametrize(
    ("body", "claimed", "code"),
    [
        (ROWS, None, None),
        (b"x", None, None),
        (b"", None, "EMPTY_EXTRACT"),
        (ROWS, 5, None),
        (b"1234", 5, "EMPTY_EXTRACT"),
        (b"", 0, "EMPTY_EXTRACT"),
        (b"", -1, "EMPTY_EXTRACT"),
        (b"", "0", "EMPTY_EXTRACT"),
    ],
    ids=["rows", "one byte", "empty", "enough", "too few", "weaker", "negative", "no number"],
)
def test_size_against_the_least(s3: S3Bucket, tmp_path, body, claimed, code):
    """No bytes is EMPTY_EXTRACT; a claim may ask for more bytes, never for fewer than one."""
    s3.put(KEY, body)
    step = fetching(s3, tmp_path).admit()
    step.claim_args = {} if claimed is None else {"object_is_non_empty": {"min_bytes": claimed}}
    verdict = step.one("object_is_non_empty")
    assert verdict.code == code
    assert verdict.observed.value == len(body)


def test_an_absent_object_is_not_an_empty_one(s3: S3Bucket, tmp_path):
    """Gone is OBJECT_GONE here as well."""
    assert fetching(s3, tmp_path).one("object_is_non_empty").code == "OBJECT_GONE"


def test_from_landing_the_landed_copy_is_measured(s3: S3Bucket, tmp_path):
    """For an expired drop the size of the landed copy counts."""
    s3.put(KEY, ROWS)
    step = fetching(s3, tmp_path).admit()
    step.call()
    step.expired()
    verdict = step.one("object_is_non_empty")
    assert (verdict.status, verdict.observed.value) == ("passed", len(ROWS))
    step.landed()[0].write_bytes(b"")
    assert step.one("object_is_non_empty").code == "EMPTY_EXTRACT"


def test_a_store_that_is_down_is_an_error(s3: S3Bucket, tmp_path):
    """No answer is not a size."""
    verdict = fetching(s3, tmp_path, store=resource("http://127.0.0.1:9").port()).one("object_is_non_empty")
    assert (verdict.status, verdict.code) == ("errored", "UNAVAILABLE")
