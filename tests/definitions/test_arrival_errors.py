"""A tick that cannot look fails in words: code, what was seen, what to do. Nothing is lost, and the next tick looks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg
import pytest
from dagster._core.errors import user_code_error_boundary
from dagster._utils.error import serializable_error_info_from_exc_info

from dagster_planexec.contract.task import Drop
from dagster_planexec.definitions.triggers.arrival_sensor import LookFailedError, arrival_sensor
from dagster_planexec.errors import PortError
from dagster_planexec.world.ports import ObjectFacts
from tests.support.drops import ScriptedDrop, SetClock, Watch, instance_in, planned_for
from tests.support.s3 import Answer, ScriptedS3, resource, s3_error

PATTERN = r"{period}\.csv"


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Iterator[dg.DagsterInstance]:
    with instance_in(tmp_path_factory.mktemp("dagster")) as found:
        yield found


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    return tmp_path


def watching(instance, bucket: str, store) -> Watch:
    """A sensor on a bucket of a store."""
    clock = SetClock(ahead_s=3600)
    return Watch(planned_for(Drop(bucket, "in/", PATTERN, input="vendor"), store, clock), instance, clock)


def failed(watch: Watch) -> LookFailedError:
    """What the tick fails with: one error in words, which Dagster shows first and without what it came from."""
    with (
        pytest.raises(LookFailedError) as raised,
        user_code_error_boundary(dg.DagsterUserCodeExecutionError, lambda: "buried"),
    ):
        watch.tick()
    shown = serializable_error_info_from_exc_info((raised.type, raised.value, raised.tb))
    assert f"LookFailedError: {raised.value.code}: vendor_reconciliation: " in shown.message
    assert shown.message.rstrip().endswith(f"hint: {raised.value.hint}")
    assert (shown.cause, shown.context) == (None, None)
    return raised.value


@pytest.mark.parametrize(
    ("answer", "code", "hint"),
    [
        (s3_error(404, "NoSuchBucket"), "BUCKET_GONE", "check the bucket's name"),
        (s3_error(403, "AccessDenied"), "FORBIDDEN", "s3:ListBucket"),
        (s3_error(403, "InvalidAccessKeyId"), "AUTH_FAILED", "AWS_ACCESS_KEY_ID"),
        (s3_error(503, "SlowDown"), "THROTTLED", ""),
        (s3_error(500, "InternalError"), "UNAVAILABLE", "endpoint"),
        (Answer(200, body=b"<html>a proxy's login page</html>", pause_s=0), "UNAVAILABLE", "endpoint"),
        (Answer(200, pause_s=1.5), "TIMEOUT", "endpoint"),
    ],
    ids=["bucket-gone", "forbidden", "wrong-key", "throttled", "broken", "proxy", "timeout"],
)
def test_store_that_does_not_list_fails_the_tick_in_words(home, instance, answer, code, hint):
    """Code first, the task, what the store answered, and a hint; none of the vendor's text."""
    with ScriptedS3(lambda _method, _path: answer) as scripted:
        watch = watching(instance, "vendor-drops", resource(scripted.endpoint, read_timeout_s=0.5).port())
        watch.cursor = cursor = '{"looked": "2026-04-01T11:00:00+00:00", "began": null, "after": ""}'
        error = failed(watch)

    assert error.code == code
    assert str(error).startswith(f"{code}: vendor_reconciliation: LIST 'vendor-drops/in/*' at 127.0.0.1:")
    assert hint in error.hint
    assert error.hint
    assert "secret text" not in str(error)
    assert watch.cursor == cursor
    assert len(scripted.requests) == 1


def test_store_that_breaks_off_in_the_middle_loses_nothing(home, instance):
    """The second page fails: the tick fails; when the store is back, everything comes as one set."""
    store = ScriptedDrop()
    at = datetime(2026, 4, 1, tzinfo=UTC)
    store.holds(ObjectFacts("vendor-drops", f"in/2026-{m:02d}.csv", 3, f"e{m}", at) for m in (1, 2, 3))

    def breaks(key: str) -> None:
        if key.endswith("02.csv"):
            raise PortError("THROTTLED", "LIST: the store answered 503 'SlowDown'")

    store.on_key = breaks
    watch = watching(instance, "vendor-drops", store)
    error = failed(watch)
    store.on_key = lambda _: None

    assert (error.code, bool(error.hint)) == ("THROTTLED", True)
    assert watch.asked() == ["2026-01-01", "2026-02-01", "2026-03-01"]


def test_bucket_that_is_deleted_and_made_again_loses_nothing(home, instance, s3):
    """What is asked for stays asked for; what comes anew is news."""
    s3.put("in/2026-01.csv", b"a\n1\n")
    watch = watching(instance, s3.name, s3.store())
    assert watch.asked() == ["2026-01-01"]
    s3.delete("in/2026-01.csv")
    s3.client.delete_bucket(Bucket=s3.name)
    error = failed(watch)
    s3.client.create_bucket(Bucket=s3.name)
    s3.put("in/2026-02.csv", b"a\n1\n")

    assert error.code == "BUCKET_GONE"
    assert [r.partition_key for r in watch.settle().run_requests] == ["2026-02-01"]


def test_store_that_lists_out_of_order_is_refused(home, instance):
    """As directory buckets do: a part of such a listing is no range of keys, so what is gone could not be told."""
    at = datetime(2026, 4, 1, tzinfo=UTC)
    store = ScriptedDrop(ordered=False)
    store.holds(ObjectFacts("vendor-drops", f"in/2026-{m:02d}.csv", 3, f"e{m}", at) for m in (2, 1))
    error = failed(watching(instance, "vendor-drops", store))

    assert error.code == "VALIDATION_ERROR"
    assert "out of order: 'in/2026-01.csv' after 'in/2026-02.csv'" in str(error)


@pytest.mark.parametrize("text", ["soon", "-1", "nan", "inf", "1e12", "5 s"])
def test_quiet_period_that_is_no_number_is_said(home, instance, monkeypatch, text):
    """With the variable's name and what it holds, instead of a ValueError's text."""
    monkeypatch.setenv("PLANEXEC_QUIET_S", text)
    error = failed(watching(instance, "vendor-drops", ScriptedDrop()))

    assert error.code == "BAD_CONTRACT"
    assert f"PLANEXEC_QUIET_S is {text!r}; expected a number of seconds" in str(error)
    assert "PLANEXEC_QUIET_S" in error.hint


@pytest.mark.parametrize(("text", "seconds"), [(None, 30), ("1", 1), ("0", 1), ("90", 90)])
def test_interval_comes_from_the_environment(home, monkeypatch, text, seconds):
    """A test or a demo looks more often; never less than a second apart."""
    if text is not None:
        monkeypatch.setenv("PLANEXEC_LOOK_EVERY_S", text)
    planned = planned_for(Drop("b", "in/", PATTERN, input="vendor"), ScriptedDrop(), SetClock())

    assert arrival_sensor(planned.binding).minimum_interval_seconds == seconds
    assert arrival_sensor(planned.binding, interval_s=7).minimum_interval_seconds == 7


def test_home_that_cannot_be_written_is_said(tmp_path, monkeypatch, instance):
    """The journal is the sensor's memory: without it there is no looking."""
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.delenv("PLANEXEC_HOME", raising=False)
    error = failed(watching(instance, "vendor-drops", ScriptedDrop()))

    assert error.code == "HOME_UNWRITABLE"
    assert "PLANEXEC_HOME" in error.hint
