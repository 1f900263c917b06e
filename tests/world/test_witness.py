from __future__ import annotations

import hashlib

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.witness import witnessed_open
from tests.support.s3 import S3Bucket, ScriptedS3, an_object, ports, resource, s3, s3_server

__all__ = ["s3", "s3_server"]


def test_a_whole_read_is_witnessed(s3: S3Bucket, tmp_path):
    """After the last byte there is one observation of the wire: size, digest, ETag, from the object, by the port."""
    etag = s3.put("a.csv", b"x" * 1_000_000)
    seen = []
    with witnessed_open(ports(s3.store(), tmp_path), s3.name, "a.csv", seen) as stream:
        assert b"".join(stream) == b"x" * 1_000_000
    (observation,) = seen
    assert dict(observation.facts) == {
        "size": 1_000_000,
        "sha256": hashlib.sha256(b"x" * 1_000_000).hexdigest(),
        "etag": etag,
    }
    assert str(observation.source.subject) == f"s3:{s3.name}/a.csv"
    assert observation.source.reader == "GET, bytes on the wire"
    assert observation.source.at is not None


def test_a_read_that_stops_early_is_not_witnessed(s3: S3Bucket, tmp_path):
    """A reader that takes one chunk and leaves has witnessed nothing."""
    s3.put("a.csv", b"x" * 1_000_000)
    seen = []
    with witnessed_open(ports(s3.store(), tmp_path), s3.name, "a.csv", seen) as stream:
        next(iter(stream))
    assert seen == []


def test_a_read_that_breaks_off_is_not_witnessed(tmp_path):
    """A truncated body raises and leaves no observation."""
    seen = []
    with ScriptedS3(lambda *_: an_object(b"abc", announce=10)) as server:
        p = ports(resource(server.endpoint).port(), tmp_path)
        with pytest.raises(PortError) as caught, witnessed_open(p, "some-bucket", "k", seen) as stream:
            list(stream)
    assert caught.value.code == "TRUNCATED_STREAM"
    assert seen == []
