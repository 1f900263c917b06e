from __future__ import annotations

import logging
import socket
from datetime import UTC, datetime

import pytest
from dagster import EnvVar

from dagster_planexec.errors import PortError
from dagster_planexec.resources.s3_object_store import S3ObjectStoreResource, parse_expiration
from tests.support.s3 import Answer, S3Bucket, S3Server, ScriptedS3, an_object, resource, s3_error

ABSENT_BUCKET = "there-is-no-such-bucket"


def read(store, bucket, key, **options):
    with store.open(bucket, key, **options) as stream:
        return b"".join(stream)


def failure(call) -> PortError:
    with pytest.raises(PortError) as caught:
        call()
    return caught.value


def every_call(store, bucket, key="k.csv"):
    return {
        "head": lambda: store.head(bucket, key),
        "list": lambda: list(store.list(bucket, "")),
        "open": lambda: read(store, bucket, key),
    }


CALLS = ["head", "list", "open"]


# ---------------------------------------------------------------------------------------------- a healthy store


def test_head_says_what_lies_there(s3: S3Bucket):
    """HEAD gives size, unquoted ETag and time of an object, and no version in an unversioned bucket."""
    etag = s3.put("vendor/a.csv", b"12345")
    before = datetime.now(UTC)

    facts = s3.store().head(s3.name, "vendor/a.csv")

    assert facts is not None
    assert (facts.size, facts.etag, facts.version_id, facts.expires_at) == (5, etag, None, None)
    assert '"' not in facts.etag
    assert abs((before - facts.last_modified).total_seconds()) < 60


def test_head_of_an_absent_key_is_an_answer(s3: S3Bucket):
    """An absent key in a bucket that exists is None, not an error."""
    assert s3.store().head(s3.name, "nothing.csv") is None


def test_a_delete_marker_is_absence(s3: S3Bucket):
    """In a versioned bucket a deleted object is absent, and the version below the marker is named."""
    s3.keep_versions()
    s3.put("a.csv", b"old")
    version = s3.client.put_object(Bucket=s3.name, Key="a.csv", Body=b"new")["VersionId"]
    s3.put("a.csv.bak", b"another key with the same start")
    store = s3.store()
    assert store.head(s3.name, "a.csv").version_id == version
    s3.delete("a.csv")

    assert store.head(s3.name, "a.csv") is None
    assert store.older_version(s3.name, "a.csv") == version
    error = failure(lambda: read(store, s3.name, "a.csv"))
    assert error.code == "OBJECT_GONE"
    assert version in error.message
    assert "restore" in error.hint


def test_a_version_of_a_longer_key_is_not_one_of_this(s3: S3Bucket):
    """`a.csv.bak` is no version of `a.csv`."""
    s3.keep_versions()
    s3.put("a.csv.bak", b"x")
    assert s3.store().older_version(s3.name, "a.csv") is None


def test_a_version_from_before_versioning_is_one(s3: S3Bucket):
    """What lay there when versioning was turned on can be restored too."""
    s3.put("a.csv", b"x")
    s3.keep_versions()
    s3.delete("a.csv")
    assert s3.store().older_version(s3.name, "a.csv") == "null"


def test_no_older_version_is_named_where_none_is_kept(s3: S3Bucket):
    """In an unversioned bucket a deleted object leaves nothing, and the message promises nothing."""
    s3.put("a.csv", b"x")
    s3.delete("a.csv")
    error = failure(lambda: read(s3.store(), s3.name, "a.csv"))
    assert error.code == "OBJECT_GONE"
    assert "older version" not in error.message + error.hint


def test_open_streams_every_byte(s3: S3Bucket):
    """A large object arrives whole, in many chunks, with the facts of its own answer."""
    body = bytes(range(256)) * 8192
    etag = s3.put("big.csv", body)
    with s3.store().open(s3.name, "big.csv") as stream:
        chunks = list(stream)
        facts = stream.facts
    assert b"".join(chunks) == body
    assert len(chunks) > 1
    assert (facts.size, facts.etag) == (len(body), etag)


@pytest.mark.parametrize("body", [b"", b"x"], ids=["empty", "one byte"])
def test_open_reads_small_objects(s3: S3Bucket, body):
    """An empty object is read to its end like any other."""
    s3.put("small", body)
    assert read(s3.store(), s3.name, "small") == body


def test_bytes_are_those_on_the_wire(s3: S3Bucket):
    """An object stored with Content-Encoding gzip is handed on as it is stored, not decoded."""
    import gzip

    body = gzip.compress(b"a,b\n1,2\n")
    s3.client.put_object(Bucket=s3.name, Key="a.csv.gz", Body=body, ContentEncoding="gzip")
    assert read(s3.store(), s3.name, "a.csv.gz") == body


def test_open_at_an_etag(s3: S3Bucket):
    """The admitted ETag opens; another one is OBJECT_CHANGED, at the store and not by a look beforehand."""
    etag = s3.put("a.csv", b"one")
    store = s3.store()
    assert read(store, s3.name, "a.csv", if_match=etag) == b"one"
    s3.put("a.csv", b"two")
    assert failure(lambda: read(store, s3.name, "a.csv", if_match=etag)).code == "OBJECT_CHANGED"
    assert read(store, s3.name, "a.csv") == b"two"


def test_a_one_part_upload_of_the_same_bytes_has_another_etag(s3: S3Bucket):
    """An ETag is no hash of the content; that is why the bytes decide."""
    assert s3.put("a.csv", b"same") != s3.put_in_one_part("a.csv", b"same")


def test_list_pages_through_everything(s3: S3Bucket):
    """LIST yields every object under the prefix in key order, folder markers and empty objects too, page by page."""
    keys = ["drop/", "drop/a.csv", "drop/b.csv", "drop/c.csv", "drop/d/e.csv"]
    for key in keys:
        s3.put(key, b"")
    s3.put("other/x.csv", b"x")
    from dagster_planexec.resources.s3_object_store import S3ObjectStore

    store = S3ObjectStore(s3.client, page_size=2)
    assert [o.key for o in store.list(s3.name, "drop/")] == keys
    assert list(store.list(s3.name, "nothing/")) == []


ODD_KEYS = ["a b.csv", "a+b.csv", "a%20b.csv", "ä/€.csv", "a&<b>.csv", "q?x=1#y.csv", "\x01.csv"]


@pytest.mark.parametrize("key", ODD_KEYS, ids=ascii)
def test_any_key_survives_every_call(s3: S3Bucket, key):
    """A key with any character is listed, looked at and read under its own name."""
    s3.put(key, b"body")
    store = s3.store()
    assert [o.key for o in store.list(s3.name, "")] == [key]
    assert store.head(s3.name, key).size == 4
    assert read(store, s3.name, key) == b"body"


# ---------------------------------------------------------------------------------------------- failures, real ones


@pytest.mark.parametrize("call", CALLS)
def test_an_absent_bucket_is_not_an_absent_key(s3: S3Bucket, call):
    """No bucket is BUCKET_GONE, also where the answer to a HEAD has no body to say so."""
    error = failure(every_call(s3.store(), ABSENT_BUCKET)[call])
    assert error.code == "BUCKET_GONE"
    assert ABSENT_BUCKET in error.message
    assert error.hint


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wrong", ["key", "secret"])
def test_wrong_credentials(s3: S3Bucket, s3_server: S3Server, call, wrong):
    """An unknown key id and a wrong secret are AUTH_FAILED, also on HEAD, which answers a bare 403."""
    s3.put("k.csv", b"x")
    key_id, secret = s3_server.require_credentials()
    try:
        good = s3.store(aws_access_key_id=key_id, aws_secret_access_key=secret)
        assert good.head(s3.name, "k.csv") is not None
        changes = {
            "key": {"aws_access_key_id": "AKIAUNKNOWN000000000", "aws_secret_access_key": "wrong-secret"},
            "secret": {"aws_access_key_id": key_id, "aws_secret_access_key": "wrong-secret"},
        }[wrong]
        error = failure(every_call(s3.store(**changes), s3.name)[call])
    finally:
        s3_server.forget_credentials()
    assert error.code == "AUTH_FAILED"
    assert "AWS_ACCESS_KEY_ID" in error.hint
    assert "wrong-secret" not in str(error)


@pytest.mark.parametrize("call", CALLS)
def test_no_credentials_at_all(s3: S3Bucket, call, monkeypatch, tmp_path):
    """A worker without credentials gets AUTH_FAILED before anything is sent."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    store = s3.store(aws_access_key_id=None, aws_secret_access_key=None)
    assert failure(every_call(store, s3.name)[call]).code == "AUTH_FAILED"


@pytest.mark.parametrize("call", CALLS)
def test_a_refused_connection(call):
    """Nobody listening is UNAVAILABLE, and the endpoint is named."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        error = failure(every_call(resource(f"http://127.0.0.1:{port}").port(), "some-bucket")[call])
    assert error.code == "UNAVAILABLE"
    assert f"127.0.0.1:{port}" in error.message


@pytest.mark.parametrize("call", CALLS)
def test_a_server_that_does_not_answer(call):
    """Silence longer than the read timeout is TIMEOUT, and the call is not repeated."""
    with ScriptedS3(lambda *_: an_object(pause_s=1.5)) as server:
        store = resource(server.endpoint, read_timeout_s=0.2).port()
        assert failure(every_call(store, "some-bucket")[call]).code == "TIMEOUT"
        assert len(server.requests) == 1


def test_silence_in_the_middle_of_a_body():
    """A body that stalls is TIMEOUT too."""
    with ScriptedS3(lambda *_: an_object(b"x" * 10, pieces=2, pause_s=1.0)) as server:
        store = resource(server.endpoint, read_timeout_s=0.3).port()
        assert failure(lambda: read(store, "some-bucket", "k")).code == "TIMEOUT"


def test_a_chunk_is_what_has_arrived():
    """A slow sender's bytes are handed on as they come, so a reader can look at its deadline between them."""
    with ScriptedS3(lambda *_: an_object(b"x" * 6, pieces=3, pause_s=0.3)) as server:
        store = resource(server.endpoint).port()
        with store.open("some-bucket", "k") as stream:
            chunks = list(stream)
    assert b"".join(chunks) == b"x" * 6
    assert len(chunks) > 1


def test_fewer_bytes_than_announced():
    """A body shorter than its Content-Length is TRUNCATED_STREAM."""
    with ScriptedS3(lambda *_: an_object(b"x" * 10, announce=25)) as server:
        error = failure(lambda: read(resource(server.endpoint).port(), "some-bucket", "k"))
    assert error.code == "TRUNCATED_STREAM"


# ---------------------------------------------------------------------------------------------- the table of answers

ANSWERS = [
    (404, "NoSuchBucket", "BUCKET_GONE"),
    (403, "AccessDenied", "FORBIDDEN"),
    (403, "InvalidAccessKeyId", "AUTH_FAILED"),
    (403, "SignatureDoesNotMatch", "AUTH_FAILED"),
    (400, "ExpiredToken", "AUTH_FAILED"),
    (400, "InvalidToken", "AUTH_FAILED"),
    (403, "RequestTimeTooSkewed", "AUTH_FAILED"),
    (401, "Unauthorized", "AUTH_FAILED"),
    (503, "SlowDown", "THROTTLED"),
    (429, "TooManyRequests", "THROTTLED"),
    (503, "ServiceUnavailable", "UNAVAILABLE"),
    (500, "InternalError", "UNAVAILABLE"),
    (502, "BadGateway", "UNAVAILABLE"),
    (400, "RequestTimeout", "TIMEOUT"),
    (418, "Teapot", "INTERNAL"),
]


@pytest.mark.parametrize(("status", "vendor", "code"), ANSWERS, ids=[f"{s}-{v}" for s, v, _ in ANSWERS])
@pytest.mark.parametrize("call", ["list", "open"])
def test_answers_with_a_body(call, status, vendor, code):
    """Each error code of the store is one code here; asked once, and the vendor's own sentence is left out."""
    with ScriptedS3(lambda *_: s3_error(status, vendor)) as server:
        error = failure(every_call(resource(server.endpoint).port(), "some-bucket")[call])
        assert len(server.requests) == 1
    assert error.code == code
    assert vendor in error.message
    assert "secret text" not in str(error)


HEADS = [
    ("forbidden", 403, s3_error(403, "AccessDenied"), "FORBIDDEN"),
    ("may list, may not read", 403, Answer(200, (), b"<ListBucketResult/>"), "FORBIDDEN"),
    ("unknown key id", 403, s3_error(403, "InvalidAccessKeyId"), "AUTH_FAILED"),
    ("expired token", 400, s3_error(400, "ExpiredToken"), "AUTH_FAILED"),
    ("overloaded", 503, s3_error(503, "SlowDown"), "UNAVAILABLE"),
    ("asked to slow down", 429, s3_error(429, "SlowDown"), "THROTTLED"),
    ("broken", 500, s3_error(500, "InternalError"), "UNAVAILABLE"),
]


@pytest.mark.parametrize(("status", "listed", "code"), [c[1:] for c in HEADS], ids=[c[0] for c in HEADS])
def test_answers_without_a_body(status, listed, code):
    """A HEAD says only a status; where that leaves credentials or permission open, a LIST is asked."""
    with ScriptedS3(lambda method, _: Answer(status) if method == "HEAD" else listed) as server:
        error = failure(lambda: resource(server.endpoint).port().head("some-bucket", "k"))
    assert error.code == code


def test_older_versions_may_be_forbidden():
    """Where versions may not be listed, the absence is reported without one."""

    def answer(_method, path):
        return s3_error(403, "AccessDenied") if "versions" in path else s3_error(404, "NoSuchKey")

    with ScriptedS3(answer) as server:
        error = failure(lambda: read(resource(server.endpoint).port(), "some-bucket", "k"))
    assert error.code == "OBJECT_GONE"
    assert "older" not in error.message


def test_the_bucket_may_not_be_looked_at():
    """An absent key in a bucket that may not be asked about is absent."""

    def answer(_method, path):
        return Answer(403) if path.rstrip("/") == "/some-bucket" else Answer(404)

    with ScriptedS3(answer) as server:
        assert resource(server.endpoint).port().head("some-bucket", "k") is None


def test_an_answer_that_is_not_s3():
    """A proxy's page instead of a listing is UNAVAILABLE, not a crash."""
    with ScriptedS3(lambda *_: Answer(200, (), b"<html>sign in")) as server:
        assert failure(lambda: list(resource(server.endpoint).port().list("some-bucket", ""))).code == "UNAVAILABLE"


# ---------------------------------------------------------------------------------------------- expiry


def test_expiry_is_read_from_head_and_get():
    """A lifecycle rule's date in x-amz-expiration is a fact of HEAD and of GET."""
    header = ("x-amz-expiration", 'expiry-date="Sun, 08 Mar 2026 00:00:00 GMT", rule-id="24 h"')
    with ScriptedS3(lambda *_: an_object(headers=(header,))) as server:
        store = resource(server.endpoint).port()
        head = store.head("some-bucket", "k")
        with store.open("some-bucket", "k") as stream:
            got = stream.facts
    assert head.expires_at == got.expires_at == datetime(2026, 3, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    "header",
    [
        'expiry-date="2026-03-08T00:00:00Z", rule-id="r"',
        'expiry-date="Sun, 31 Feb 2026 00:00:00 GMT"',
        'expiry-date="Sun, 08 Mar 2026 00:00:00 CET"',
        'rule-id="r"',
    ],
)
def test_an_unreadable_expiry_is_no_silence(header):
    """An announcement that cannot be read is an error: it must not look like none."""
    assert failure(lambda: parse_expiration(header)).code == "INTERNAL"


@pytest.mark.parametrize("header", [None, ""])
def test_no_expiry_is_none(header):
    """No header, no date."""
    assert parse_expiration(header) is None


# ---------------------------------------------------------------------------------------------- the resource


def test_the_client_has_deadlines_and_no_retries():
    """What the parent's client cannot be told stands in the Config of this one."""
    config = resource("http://127.0.0.1:1", connect_timeout_s=1.5, read_timeout_s=2.5).get_client().meta.config
    assert (config.connect_timeout, config.read_timeout) == (1.5, 2.5)
    assert config.retries["total_max_attempts"] == 1
    assert config.s3["addressing_style"] == "path"


def test_the_resource_is_the_users_s3_resource():
    """It can stand wherever dagster-aws' own resource is expected."""
    from dagster_aws.s3 import S3Resource

    assert issubclass(S3ObjectStoreResource, S3Resource)


def test_credentials_are_marked_secret():
    """Dagster masks the three credentials in its own pages."""
    fields = S3ObjectStoreResource.to_config_schema().as_field().config_type.fields
    secret = {name for name, field in fields.items() if field.is_secret}
    assert secret == {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}


def test_credentials_from_environment_variables(s3: S3Bucket, monkeypatch):
    """EnvVars are read when the resource is set up, and the value is nowhere in its configuration."""
    monkeypatch.setenv("DROP_KEY", "key-of-the-worker")
    monkeypatch.setenv("DROP_SECRET", "secret-of-the-worker")
    made = resource(s3.endpoint, aws_access_key_id=EnvVar("DROP_KEY"), aws_secret_access_key=EnvVar("DROP_SECRET"))
    assert "of-the-worker" not in repr(made)
    client = made.process_config_and_initialize().get_client()
    assert client._request_signer._credentials.secret_key == "secret-of-the-worker"


def test_an_endpoint_that_is_no_url():
    """A malformed endpoint is refused in words that do not repeat it: it might hold a password."""
    error = failure(lambda: resource("user:hunter2@host").port())
    assert error.code == "VALIDATION_ERROR"
    assert "hunter2" not in str(error)


def test_no_secret_is_logged(s3: S3Bucket, caplog):
    """Nothing of the project logs credentials or bodies, whatever fails."""
    with caplog.at_level(logging.INFO):
        failure(lambda: read(s3.store(aws_secret_access_key="hunter2"), ABSENT_BUCKET, "k"))
    assert "hunter2" not in caplog.text
