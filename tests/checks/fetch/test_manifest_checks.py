"""The checks of a fetch with a manifest: what it names is there, as it states, and nothing else is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from dagster_planexec.contract.delivery.manifest import Manifest
from dagster_planexec.world.delivery.manifest.form import ManifestForm, PartWords
from tests.support.fetching import KEY, ROWS, Fetching, fetching
from tests.support.s3 import S3Bucket

NFC, NFD = (KEY.replace("invoice", f"invoice-{letter}") for letter in ("\u00e9", "e\u0301"))
FORM = ManifestForm("json", PartWords("name", md5="md5"), "files")
MANIFEST = "vendor/exports/2026-03.json"


def stating(*keys: str, md5: str = hashlib.md5(ROWS, usedforsecurity=False).hexdigest()) -> bytes:
    """A manifest beside these keys."""
    return json.dumps({"files": [{"name": key.rpartition("/")[2], "md5": md5} for key in keys]}).encode()


@pytest.fixture
def step(s3: S3Bucket, tmp_path: Path) -> Fetching:
    """A step that reads the delivered object."""
    s3.put(KEY, ROWS)
    made = fetching(s3, tmp_path)
    made.manifest = Manifest(r"{period}(-v\d)?\.json", FORM)
    return made


def codes(step: Fetching) -> list[str | None]:
    """Of both looks: against the manifest, against what is read."""
    return [verdict.code for verdict in step.judge("drop_is_complete")]


def test_manifest_is_judged_before_what_is_read(s3, step):
    """Both are shown. The expected side comes from the manifest's bytes, the observed one from a listing."""
    s3.put(MANIFEST, stating(KEY))
    first, second = step.admit().judge("drop_is_complete")

    assert (first.status, second.status) == ("passed", "passed")
    assert first.text == "1 of 1 parts that the manifest names are there"
    assert (first.expected.source.subject.system, first.expected.source.reader) == ("s3", "GET, manifest as json")
    assert first.observed.source.reader.startswith("LIST")
    assert second.expected.source.subject.system == "plan"


def test_manifest_that_never_came_is_a_missing_part(step):
    """Nobody can say whether the object that is there is all."""
    assert codes(step.admit()) == ["MISSING_PART", None]


@pytest.mark.parametrize(("newest", "code"), [("v1", None), ("v2", "MISSING_PART")])
def test_newest_of_several_manifests_decides(s3, step, newest, code):
    """By its time, whatever its name. The store's clock has whole seconds, so the record is made later by one."""
    s3.put(MANIFEST.replace(".json", "-v1.json"), stating(KEY))
    s3.put(MANIFEST.replace(".json", "-v2.json"), stating(KEY, KEY.replace("invoice", "invoice-b")))
    step.admit()
    manifests = tuple(
        replace(m, facts=replace(m.facts, last_modified=m.facts.last_modified + timedelta(hours=newest in m.facts.key)))
        for m in step.admission.manifests
    )
    step.admission = replace(step.admission, manifests=manifests)

    assert codes(step)[0] == code


def test_names_that_only_look_alike_are_two_objects(s3, step):
    """Composed in the manifest, decomposed in the drop: one is missing, and both stand there in quotes."""
    s3.delete(KEY)
    s3.put(NFD, ROWS)
    s3.put(MANIFEST, stating(NFC))
    (verdict, _) = step.admit().judge("drop_is_complete")

    assert verdict.code == "MISSING_PART"
    assert repr(NFC[-20:])[1:-1] in verdict.text


def test_parts_from_the_landing_are_there(s3, step):
    """The drop has expired, manifest and all: the copies are what was delivered."""
    s3.put(MANIFEST, stating(KEY))
    step.admit().call()
    step.expired()
    s3.delete(MANIFEST)

    assert codes(step) == [None, None]
    s3.put(NFC.replace("\u00e9", "b"), ROWS)
    assert codes(step) == ["DROP_INCOMPLETE", "DROP_INCOMPLETE"]


def test_manifest_that_is_gone_with_its_copy_is_missing(s3, step):
    """Somebody emptied drop and landing: nothing states anything any more."""
    s3.put(MANIFEST, stating(KEY))
    step.admit()
    s3.delete(MANIFEST)
    step.ports.roots.landed_path(step.admission.manifest.sha256).unlink()

    assert codes(step)[0] == "MISSING_PART"


def test_another_upload_of_the_same_manifest_is_the_manifest(s3, step):
    """Another ETag, the same bytes; other bytes are another manifest."""
    s3.put(MANIFEST, stating(KEY))
    step.admit()
    s3.put_in_one_part(MANIFEST, stating(KEY))
    assert codes(step)[0] is None
    s3.put(MANIFEST, stating(KEY) + b" ")
    assert codes(step)[0] == "OBJECT_CHANGED"


@pytest.mark.parametrize(("md5", "code"), [(None, None), ("0" * 32, "OBJECT_CHANGED")])
def test_landed_copy_has_the_digest_that_is_stated(s3, step, md5, code):
    """After the read: what was admitted may not be what was sent."""
    s3.put(MANIFEST, stating(KEY) if md5 is None else stating(KEY, md5=md5))
    step.admit().call()
    admitted, stated = step.judge("object_is_unchanged", "post")

    assert (admitted.code, stated.code) == (None, code)
    assert stated.expected.source.subject.system == "landing"
    assert stated.observed.source.reader == "MD5 of the file"
