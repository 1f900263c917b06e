from __future__ import annotations

import hashlib

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.world.ports import ObjectStore
from dagster_planexec.world.probes.delivery.admit import admit
from tests.support.s3 import S3Bucket, ports, s3, s3_server

__all__ = ["s3", "s3_server"]

PATTERN = r"\w+\.csv"


def sha(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class Busy(ObjectStore):
    """A real store; something happens before each GET is answered, or after its last byte has come."""

    def __init__(self, store, before=lambda: None, after=lambda: None) -> None:
        self._store, self._before, self._after = store, before, after

    def head(self, bucket, key):
        return self._store.head(bucket, key)

    def list(self, bucket, prefix):
        return self._store.list(bucket, prefix)

    def open(self, bucket, key, *, if_match=None):
        self._before()
        stream = self._store.open(bucket, key, if_match=if_match)
        self._after()
        return stream


def admitted(s3, tmp_path, store=None):
    found = admit(ports(store or s3.store(), tmp_path), s3.name, "drop/", PATTERN)
    return {facts.key: (facts.size, facts.etag, digest) for facts, digest in found}


def test_every_object_of_the_drop_is_read_once(s3: S3Bucket, tmp_path):
    """Each matching object is admitted with its facts and SHA-256, empty ones too; nothing is written anywhere."""
    etags = {key: s3.put(f"drop/{key}", body) for key, body in {"b.csv": b"bb", "a.csv": b"a", "c.csv": b""}.items()}
    s3.put("drop/", b"")
    s3.put("drop/readme.txt", b"x")
    found = admitted(s3, tmp_path)
    assert found == {
        "drop/a.csv": (1, etags["a.csv"], sha(b"a")),
        "drop/b.csv": (2, etags["b.csv"], sha(b"bb")),
        "drop/c.csv": (0, etags["c.csv"], sha(b"")),
    }
    assert list(found) == sorted(found)
    assert list(tmp_path.iterdir()) == []


def test_what_vanishes_is_not_admitted(s3: S3Bucket, tmp_path):
    """Deleted between LIST and GET, or while it is read: not admitted, and no error."""
    s3.put("drop/a.csv", b"a")
    assert admitted(s3, tmp_path, Busy(s3.store(), before=lambda: s3.delete("drop/a.csv"))) == {}
    s3.put("drop/a.csv", b"a")
    assert admitted(s3, tmp_path, Busy(s3.store(), after=lambda: s3.delete("drop/a.csv"))) == {}


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_changes_is_read_again(s3: S3Bucket, tmp_path, when):
    """Replaced between LIST and GET, or while it is read: the new object is admitted, with its own digest."""
    s3.put("drop/a.csv", b"old")
    bodies = iter([b"newer"])
    store = Busy(s3.store(), **{when: lambda: (body := next(bodies, None)) and s3.put("drop/a.csv", body)})
    (found,) = admitted(s3, tmp_path, store).values()
    assert found[0] == 5
    assert found[2] == sha(b"newer")


def test_what_never_rests_is_refused(s3: S3Bucket, tmp_path):
    """Replaced at each read: OBJECT_CHANGED after a few."""
    s3.put("drop/a.csv", b"0")
    bodies = iter(range(1, 100))
    store = Busy(s3.store(), after=lambda: s3.put("drop/a.csv", str(next(bodies)).encode()))
    with pytest.raises(PortError) as caught:
        admitted(s3, tmp_path, store)
    assert caught.value.code == "OBJECT_CHANGED"
    assert next(bodies) == 5  # read four times, replaced four times


def test_a_failing_store_is_not_an_empty_drop(s3: S3Bucket, tmp_path):
    """An absent bucket is an error, never an admission of nothing."""
    with pytest.raises(PortError) as caught:
        admit(ports(s3.store(), tmp_path), "no-such-bucket-here", "drop/", PATTERN)
    assert caught.value.code == "BUCKET_GONE"
