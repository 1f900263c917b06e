from __future__ import annotations

import pytest

from tests.support.fetching import GZ, KEY, ROWS, fetching, gzipped
from tests.support.s3 import S3Bucket

WHOLE = gzipped(ROWS)


def fetched(s3, tmp_path, key, body):
    s3.put(key, body)
    step = fetching(s3, tmp_path, key).admit()
    step.call()
    return step


@pytest.mark.parametrize(
    ("key", "body"),
    [(KEY, ROWS), (GZ, WHOLE), (GZ, gzipped(ROWS, b"3,4\n", b"5,6\n")), (KEY, WHOLE[:-4])],
    ids=["csv", "gzip", "three members", "a suffix that declares no compression"],
)
def test_passes_when_the_file_is_what_came_over_the_wire(s3: S3Bucket, tmp_path, key, body):
    """The file hashes to what the port saw, and decodes to its end where its suffix declares an archive."""
    verdict = fetched(s3, tmp_path, key, body).one("landed_is_intact", "post")
    assert verdict.status == "passed"
    assert verdict.expected.source.reader == "GET, bytes on the wire"
    assert verdict.observed.source.subject.system == "landing"


@pytest.mark.parametrize(
    "body",
    [WHOLE[: len(WHOLE) // 2], WHOLE[:-1], WHOLE + b"junk", gzipped(ROWS, ROWS)[:-3], ROWS],
    ids=["cut", "one byte short", "junk behind", "second member cut", "no gzip"],
)
def test_a_gzip_that_does_not_decode_fails(s3: S3Bucket, tmp_path, body):
    """Delivered truncated, so wire and file agree: TRUNCATED_STREAM by decoding."""
    step = fetched(s3, tmp_path, GZ, body)
    verdict = step.one("landed_is_intact", "post")
    assert (verdict.status, verdict.code) == ("failed", "TRUNCATED_STREAM")
    assert "does not decode" in verdict.text
    assert step.code("post") == "TRUNCATED_STREAM"


@pytest.mark.parametrize(
    "harm", [lambda b: b[:-1], lambda b: b + b"x", lambda b: b[::-1]], ids=["cut", "grown", "turned"]
)
def test_a_file_that_differs_from_the_wire_fails(s3: S3Bucket, tmp_path, harm):
    """Harmed on the disk: TRUNCATED_STREAM with both sizes and digests."""
    step = fetched(s3, tmp_path, KEY, ROWS)
    step.landed()[0].write_bytes(harm(ROWS))
    verdict = step.one("landed_is_intact", "post")
    assert (verdict.status, verdict.code) == ("failed", "TRUNCATED_STREAM")
    assert verdict.expected.value != verdict.observed.value


def test_a_lost_file_fails(s3: S3Bucket, tmp_path):
    """Landed and gone: OBJECT_GONE."""
    step = fetched(s3, tmp_path, KEY, ROWS)
    step.landed()[0].unlink()
    assert step.one("landed_is_intact", "post").code == "OBJECT_GONE"


def test_from_landing_the_admission_stands_for_the_wire(s3: S3Bucket, tmp_path):
    """Nothing came over a wire, so the expected side is the admission, and says so."""
    step = fetched(s3, tmp_path, KEY, ROWS)
    step.expired()
    step.call()
    assert step.witnessed == []
    verdict = step.one("landed_is_intact", "post")
    assert verdict.status == "passed"
    assert verdict.expected.source.subject.system == "admission"
    step.landed()[0].write_bytes(ROWS[:-1])
    assert step.one("landed_is_intact", "post").code == "TRUNCATED_STREAM"


def test_nothing_to_compare_with_is_no_pass(s3: S3Bucket, tmp_path):
    """Neither admitted nor seen on the wire: not evaluated, whatever lies in the landing."""
    step = fetched(s3, tmp_path, KEY, ROWS)
    bare = fetching(s3, tmp_path)
    bare.result = step.result
    verdict = bare.one("landed_is_intact", "post")
    assert (verdict.status, verdict.opens) == ("not-evaluated", False)


def test_a_later_read_counts(s3: S3Bucket, tmp_path):
    """Of two reads of one object, the last whole one is what the file must be."""
    step = fetched(s3, tmp_path, KEY, ROWS)
    first = step.witnessed[0]
    step.witnessed = [type(first)(first.source, "seen", {"size": 1, "sha256": "f" * 64, "etag": "e"}), first]
    assert step.one("landed_is_intact", "post").status == "passed"
    step.witnessed.reverse()
    assert step.one("landed_is_intact", "post").code == "TRUNCATED_STREAM"
