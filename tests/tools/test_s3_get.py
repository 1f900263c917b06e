from __future__ import annotations

import hashlib
import resource as limits
import signal
from contextlib import contextmanager

import pytest
from pydantic import ValidationError

from dagster_planexec.contract.codes import CODES
from dagster_planexec.contract.outcome import Done, Failed
from dagster_planexec.contract.tool import ToolRegistry
from dagster_planexec.errors import PortError
from dagster_planexec.tools.s3_get import S3_GET, S3Get, S3GetArgs
from tests.support.fetching import BINDERS, GZ, KEY, ROWS, fetching, gzipped
from tests.support.s3 import S3Bucket, ScriptedS3, an_object, resource, s3, s3_server

__all__ = ["s3", "s3_server"]

SHA = hashlib.sha256(ROWS).hexdigest()


def ready(s3, tmp_path, body=ROWS, key=KEY):
    s3.put(key, body)
    return fetching(s3, tmp_path, key).admit()


def test_the_contract_names_checks_and_codes_that_exist():
    """Every pre- and postcondition has its binder and every error a meaning; the registry takes the tool."""
    assert set(S3_GET.preconditions) | set(S3_GET.postconditions) == set(BINDERS)
    assert set(S3_GET.errors) <= set(CODES)
    assert "s3.get" in ToolRegistry([S3Get()])


@pytest.mark.parametrize("body", [ROWS, bytes(range(256)) * 20_000, b""], ids=["rows", "5 MB", "empty"])
def test_an_admitted_object_lands_under_its_digest(s3: S3Bucket, tmp_path, body):
    """The copy has the admitted bytes, the name of their digest, and nothing stays in quarantine."""
    step = ready(s3, tmp_path, body)
    outcome = step.call()
    sha256 = hashlib.sha256(body).hexdigest()
    assert outcome == Done(S3_GET.result(landed=sha256, bytes=len(body), key=KEY))
    assert step.landed() == [step.ports.roots.landed_path(sha256)]
    assert step.landed()[0].read_bytes() == body


def test_the_healthy_step_passes_all_of_its_checks(s3: S3Bucket, tmp_path):
    """Before, after, and each with both sides named."""
    step = ready(s3, tmp_path)
    before = step.verdicts("pre")
    assert isinstance(step.call(), Done)
    verdicts = before + step.verdicts("post")
    assert [v.check for v in verdicts] == [*S3_GET.preconditions, *S3_GET.postconditions]
    assert {v.status for v in verdicts} == {"passed"}
    assert all(v.expected.source.is_independent_of(v.observed.source) for v in verdicts)


def test_a_second_call_lands_the_same_file(s3: S3Bucket, tmp_path):
    """Idempotent: one file, and a copy that was harmed meanwhile is whole again."""
    step = ready(s3, tmp_path)
    first = step.call()
    step.landed()[0].write_bytes(b"harmed")
    assert step.call() == first
    assert [p.read_bytes() for p in step.landed()] == [ROWS]


def test_the_same_bytes_under_another_etag_land(s3: S3Bucket, tmp_path):
    """The admitted ETag no longer opens; the bytes decide, and both conditions after it hold."""
    step = ready(s3, tmp_path)
    s3.put_in_one_part(KEY, ROWS)
    assert step.code("pre") is None
    assert isinstance(step.call(), Done)
    assert step.code("post") is None


def test_other_bytes_do_not_land(s3: S3Bucket, tmp_path):
    """Replaced between check and use: OBJECT_CHANGED with both digests, and no file anywhere."""
    step = ready(s3, tmp_path)
    assert step.code("pre") is None
    s3.put(KEY, b"other")
    outcome = step.call()
    assert isinstance(outcome, Failed)
    assert outcome.code == "OBJECT_CHANGED"
    assert SHA in outcome.message
    assert hashlib.sha256(b"other").hexdigest() in outcome.message
    assert step.landed() == []


def test_deleted_between_check_and_use(s3: S3Bucket, tmp_path):
    """Gone in the last instant: the port says OBJECT_GONE, and no file is left."""
    step = ready(s3, tmp_path)
    assert step.code("pre") is None
    s3.delete(KEY)
    with pytest.raises(PortError) as caught:
        step.call()
    assert caught.value.code == "OBJECT_GONE"
    assert step.landed() == []


def test_what_was_not_admitted_is_not_read(s3: S3Bucket, tmp_path):
    """The allow-list of an attempt is its admission."""
    step = fetching(s3, tmp_path).admit()
    s3.put(KEY, ROWS)
    outcome = step.call()
    assert isinstance(outcome, Failed)
    assert outcome.code == "VALIDATION_ERROR"
    assert step.landed() == []


def test_from_landing_the_store_is_not_asked(s3: S3Bucket, tmp_path):
    """For an expired drop the landed copy is verified and handed on, with the store down."""
    step = ready(s3, tmp_path)
    first = step.call()
    step.expired()
    down = fetching(s3, tmp_path, store=resource("http://127.0.0.1:9").port())
    down.admission = step.admission
    assert down.call() == first
    assert down.code("post") is None


@pytest.mark.parametrize(("harm", "code"), [("lost", "OBJECT_GONE"), ("altered", "OBJECT_CHANGED")])
def test_from_landing_a_bad_copy_is_refused(s3: S3Bucket, tmp_path, harm, code):
    """A landed copy that is gone or has other bytes stands for nothing."""
    step = ready(s3, tmp_path)
    step.call()
    step.expired()
    (copy,) = step.landed()
    copy.unlink() if harm == "lost" else copy.write_bytes(b"altered")
    outcome = step.call()
    assert isinstance(outcome, Failed)
    assert outcome.code == code


FAULTS = {
    "nothing wrong": (KEY, ROWS, lambda _: None, None),
    "deleted after admission": (KEY, ROWS, lambda s3: s3.delete(KEY), "OBJECT_GONE"),
    "replaced after admission": (KEY, ROWS, lambda s3: s3.put(KEY, b"other"), "OBJECT_CHANGED"),
    "same bytes uploaded again": (KEY, ROWS, lambda s3: s3.put_in_one_part(KEY, ROWS), None),
    "empty": (KEY, b"", lambda _: None, "EMPTY_EXTRACT"),
    "emptied after admission": (KEY, ROWS, lambda s3: s3.put(KEY, b""), "EMPTY_EXTRACT"),
    "truncated gzip": (GZ, gzipped(ROWS)[:-9], lambda _: None, "TRUNCATED_STREAM"),
    "second file": (KEY, ROWS, lambda s3: s3.put(GZ, gzipped(ROWS)), "DROP_INCOMPLETE"),
    "second file and deleted": (KEY, ROWS, lambda s3: (s3.put(GZ, b"x"), s3.delete(KEY)), "OBJECT_GONE"),
}


@pytest.mark.parametrize(("key", "body", "meddle", "code"), FAULTS.values(), ids=FAULTS)
def test_what_a_fetch_ends_with(s3: S3Bucket, tmp_path, key, body, meddle, code):
    """The named faults of the fetch, judged in contract order: observe, judge, call, observe, judge."""
    step = ready(s3, tmp_path, body, key)
    meddle(s3)
    ended = step.code("pre")
    if ended is None:
        outcome = step.call()
        ended = outcome.code if isinstance(outcome, Failed) else step.code("post")
    assert ended == code


def test_after_the_fetch_the_drop_may_expire(s3: S3Bucket, tmp_path):
    """The landed copy is the subject now; the object's deletion changes nothing that is judged after the call."""
    step = ready(s3, tmp_path)
    assert isinstance(step.call(), Done)
    s3.delete(KEY)
    assert step.code("post") is None


def test_the_seal_tells_when_the_copy_is_touched(s3: S3Bucket, tmp_path):
    """The seal's facts are those of the bytes: the same twice, and others once the file is another."""
    from dagster_planexec.contract.tool import ToolCall
    from tests.support.fetching import MARCH

    step = ready(s3, tmp_path)
    step.call()
    call = ToolCall(step.task, MARCH, "fetch_export", step.ports, step.admission, 30.0)
    seal = S3Get().seal(step.args, step.result, call)
    first = seal.observe(step.ports)
    assert dict(seal.observe(step.ports).facts) == dict(first.facts)
    step.landed()[0].write_bytes(b"touched")
    assert dict(seal.observe(step.ports).facts) != dict(first.facts)


# ---------------------------------------------------------------------------------------------- what can go wrong


def behind(server, s3, tmp_path, **options):
    """A step whose admission came from the real bucket and whose store is the scripted server."""
    step = ready(s3, tmp_path)
    other = fetching(s3, tmp_path, store=resource(server.endpoint, **options).port())
    other.admission = step.admission
    return other


def test_a_slow_sender_meets_the_deadline(s3: S3Bucket, tmp_path):
    """Bytes that drip in below the read timeout still end at the step's deadline, not at the file's end."""
    with ScriptedS3(lambda *_: an_object(b"x" * 200, pieces=200, pause_s=0.05)) as server:
        step = behind(server, s3, tmp_path)
        outcome = step.call(deadline_s=0.3)
    assert isinstance(outcome, Failed)
    assert outcome.code == "TIMEOUT"
    assert "0.3 s" in outcome.message
    assert step.landed() == []


@pytest.mark.parametrize(
    ("answer", "options", "code"),
    [
        (an_object(ROWS, announce=len(ROWS) + 9), {}, "TRUNCATED_STREAM"),
        (an_object(ROWS, pieces=2, pause_s=1.0), {"read_timeout_s": 0.3}, "TIMEOUT"),
    ],
    ids=["cut off", "stalled"],
)
def test_a_read_that_breaks_off_leaves_nothing(s3: S3Bucket, tmp_path, answer, options, code):
    """A body that ends early or stalls is an error with a code; no part of it lands."""
    with ScriptedS3(lambda *_: answer) as server:
        step = behind(server, s3, tmp_path, **options)
        with pytest.raises(PortError) as caught:
            step.call()
    assert caught.value.code == code
    assert step.landed() == []


@contextmanager
def files_no_larger_than(size):
    """What a full disk is to a writer: the operating system refuses the next byte."""
    before = limits.getrlimit(limits.RLIMIT_FSIZE)
    quiet = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits.setrlimit(limits.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        limits.setrlimit(limits.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, quiet)


def test_no_space_left(s3: S3Bucket, tmp_path):
    """A landing that cannot take the bytes is DISK_FULL, and what was written is taken away again."""
    step = ready(s3, tmp_path, bytes(2_000_000))
    with files_no_larger_than(1_000_000):
        outcome = step.call()
    assert isinstance(outcome, Failed)
    assert outcome.code == "DISK_FULL"
    assert step.landed() == []


@pytest.mark.parametrize(
    "args",
    [
        {"bucket": "UPPER", "key": "k"},
        {"bucket": "ab", "key": "k"},
        {"bucket": "a/b/c", "key": "k"},
        {"bucket": "bucket", "key": ""},
        {"bucket": "bucket", "key": "k" * 1025},
        {"bucket": "bucket", "key": "k", "extra": 1},
        {"bucket": "bucket"},
    ],
)
def test_arguments_are_checked(args):
    """What cannot be a bucket or a key is refused before anything is asked."""
    with pytest.raises(ValidationError):
        S3GetArgs.model_validate(args)
