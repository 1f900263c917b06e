from __future__ import annotations

import hashlib

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.world.ports import ObjectStore
from dagster_planexec.world.probes.delivery import objects as module
from dagster_planexec.world.probes.delivery.objects import DigestOfObject, HeadObject, ListDrop
from tests.support.s3 import S3Bucket, ports, s3, s3_server

__all__ = ["s3", "s3_server"]

PATTERN = r"2026\-03-invoice(-\w+)?\.csv"


class Meddled(ObjectStore):
    """A real store on which something happens right after each HEAD."""

    def __init__(self, store: ObjectStore, meddle) -> None:
        self._store, self._meddle, self.opened = store, meddle, 0

    def head(self, bucket, key):
        found = self._store.head(bucket, key)
        self._meddle()
        return found

    def list(self, bucket, prefix):
        return self._store.list(bucket, prefix)

    def open(self, bucket, key, *, if_match=None):
        self.opened += 1
        return self._store.open(bucket, key, if_match=if_match)


def test_head_object_sees_what_is_there(s3: S3Bucket, tmp_path):
    """The facts of a HEAD, with subject, reader and time."""
    etag = s3.put("a.csv", b"123")
    seen = HeadObject(s3.name, "a.csv").observe(ports(s3.store(), tmp_path))
    assert (seen.state, seen["size"], seen["etag"], seen["version_id"], seen["expires_at"]) == (
        "seen",
        3,
        etag,
        None,
        None,
    )
    assert str(seen.source.subject) == f"s3:{s3.name}/a.csv"
    assert seen.source.reader == "HEAD"
    assert seen.source.at is not None


def test_head_object_of_nothing_is_absent(s3: S3Bucket, tmp_path):
    """No object is an answer; the older version behind a delete marker is named in it."""
    assert HeadObject(s3.name, "a.csv").observe(ports(s3.store(), tmp_path)).state == "absent"
    s3.keep_versions()
    version = s3.client.put_object(Bucket=s3.name, Key="a.csv", Body=b"x")["VersionId"]
    s3.delete("a.csv")
    seen = HeadObject(s3.name, "a.csv").observe(ports(s3.store(), tmp_path))
    assert seen.state == "absent"
    assert version in seen.message


def test_digest_does_not_read_what_has_the_same_etag(s3: S3Bucket, tmp_path):
    """With the ETag that was asked about, nothing is read and no digest is claimed."""
    etag = s3.put("a.csv", b"123")
    store = Meddled(s3.store(), lambda: None)
    seen = DigestOfObject(s3.name, "a.csv", etag).observe(ports(store, tmp_path))
    assert (seen["same_etag"], seen["sha256"], seen["size"]) == (True, None, 3)
    assert store.opened == 0


def test_digest_reads_what_has_another_etag(s3: S3Bucket, tmp_path):
    """With another ETag the bytes are read through SHA-256, whatever kind of upload they came by."""
    etag = s3.put_in_one_part("a.csv", b"123")
    seen = DigestOfObject(s3.name, "a.csv", "another").observe(ports(s3.store(), tmp_path))
    assert (seen["same_etag"], seen["etag"]) == (False, etag)
    assert seen["sha256"] == hashlib.sha256(b"123").hexdigest()


def test_digest_looks_again_when_the_object_changes_under_it(s3: S3Bucket, tmp_path):
    """An object replaced between HEAD and GET is looked at again; the later bytes are reported, never a mixture."""
    s3.put("a.csv", b"one")
    later = iter([b"two"])
    store = Meddled(s3.store(), lambda: (body := next(later, None)) and s3.put("a.csv", body))
    seen = DigestOfObject(s3.name, "a.csv", "another").observe(ports(store, tmp_path))
    assert seen["sha256"] == hashlib.sha256(b"two").hexdigest()


def test_digest_of_an_object_that_vanishes_is_absence(s3: S3Bucket, tmp_path):
    """Deleted between HEAD and GET: absent."""
    s3.put("a.csv", b"one")
    store = Meddled(s3.store(), lambda: s3.delete("a.csv"))
    assert DigestOfObject(s3.name, "a.csv", "another").observe(ports(store, tmp_path)).state == "absent"


def test_digest_gives_up_on_an_object_that_never_rests(s3: S3Bucket, tmp_path):
    """Replaced at each look: OBJECT_CHANGED after a few looks, not for ever."""
    s3.put("a.csv", b"0")
    bodies = iter(range(1, 100))
    store = Meddled(s3.store(), lambda: s3.put("a.csv", str(next(bodies)).encode()))
    with pytest.raises(PortError) as caught:
        DigestOfObject(s3.name, "a.csv", "another").observe(ports(store, tmp_path))
    assert caught.value.code == "OBJECT_CHANGED"
    assert store.opened == 1 + module.MAX_REREADS


def test_list_drop_takes_what_matches_as_a_whole(s3: S3Bucket, tmp_path):
    """Inside the pattern counts, zero bytes too; folder markers, other months and longer names do not."""
    inside = ["2026-03-invoice.csv", "2026-03-invoice-b.csv", "2026-03-invoice-empty.csv"]
    outside = ["", "2026-03-invoice.csv/", "2026-02-invoice.csv", "2026-03-invoice.csv.tmp", "x2026-03-invoice.csv"]
    for name in inside[:-1]:
        s3.put(f"drop/{name}", b"12345")
    for name in [inside[-1], *outside]:
        s3.put(f"drop/{name}", b"")
    seen = ListDrop(s3.name, "drop/", PATTERN).observe(ports(s3.store(), tmp_path))
    assert seen["keys"] == tuple(sorted(f"drop/{name}" for name in inside))
    assert (seen["objects"], seen["bytes"]) == (3, 10)


def test_list_drop_of_nothing_is_seen_and_empty(s3: S3Bucket, tmp_path):
    """An empty drop is an observation with zero objects, not an absence."""
    seen = ListDrop(s3.name, "drop/", PATTERN).observe(ports(s3.store(), tmp_path))
    assert (seen.state, seen["keys"], seen["objects"], seen["bytes"]) == ("seen", (), 0, 0)


def test_list_drop_bounds_its_keys_and_counts_exactly(s3: S3Bucket, tmp_path, monkeypatch):
    """However many keys there are, only so many are kept, and the count is that of all."""
    monkeypatch.setattr(module, "MAX_KEYS_SHOWN", 2)
    for name in ("a", "b", "c"):
        s3.put(f"drop/2026-03-invoice-{name}.csv", b"1")
    seen = ListDrop(s3.name, "drop/", PATTERN).observe(ports(s3.store(), tmp_path))
    assert (len(seen["keys"]), seen["objects"], seen["bytes"]) == (2, 3, 3)
