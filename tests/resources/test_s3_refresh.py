"""Credentials that are read anew, and times that a store asks for, against a real server."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from dagster import EnvVar

from dagster_planexec.compiler.binding import PortResources
from dagster_planexec.errors import PortError
from dagster_planexec.resources.local.local_resources import (
    DuckDbCreditsResource,
    DuckDbWarehouseResource,
    RootsResource,
)
from dagster_planexec.resources.s3_errors import parse_retry_after
from dagster_planexec.resources.s3_object_store import S3ObjectStoreResource
from tests.support.busy_s3 import busy_s3

NOW = datetime(2026, 3, 7, 9, 12, tzinfo=UTC)


@pytest.fixture
def guarded(s3):
    """An endpoint that takes one key, in front of a bucket with one object."""
    s3.put("a.csv", b"a,b\n1,2\n")
    with busy_s3(s3.endpoint) as busy:
        busy.accepted_keys = {"NEWKEY"}
        yield busy


def ports_of(endpoint, tmp_path, **keys):
    """The ports as a run has them."""
    return PortResources(
        objects=S3ObjectStoreResource(endpoint_url=endpoint, region_name="us-east-1", addressing_style="path", **keys),
        warehouse=DuckDbWarehouseResource(home=str(tmp_path), path="w.duckdb"),
        credits=DuckDbCreditsResource(home=str(tmp_path), path="w.duckdb"),
        roots=RootsResource(home=str(tmp_path), sql="sql", reports="reports", landing="landing"),
    ).ports()


@pytest.mark.parametrize("how", ["credential chain", "EnvVar of the resource"])
def test_credentials_are_read_anew_from_the_environment(s3, guarded, tmp_path, monkeypatch, how):
    """The old client keeps what it has read; the new one has what is there now."""
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY") if how == "credential chain" else ("MY_KEY", "MY_SECRET")
    for name, value in zip(names, ("OLDKEY", "secret"), strict=True):
        monkeypatch.setenv(name, value)
    keys = {} if how == "credential chain" else {
        "aws_access_key_id": EnvVar(names[0]), "aws_secret_access_key": EnvVar(names[1]),
    }  # fmt: skip
    ports = ports_of(guarded.endpoint, tmp_path, **keys)
    monkeypatch.setenv(names[0], "NEWKEY")

    with pytest.raises(PortError) as refused:
        list(ports.objects.list(s3.name, ""))
    assert refused.value.code == "AUTH_FAILED"
    assert ports.can_refresh
    ports.refresh_credentials()
    assert [facts.key for facts in ports.objects.list(s3.name, "")] == ["a.csv"]


def test_a_store_on_a_client_of_somebody_elses_cannot_refresh(s3):
    """Nobody told it how to make another."""
    store = s3.store()
    store.refresh_credentials()

    assert store.can_refresh is False


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120.0), (" 7 ", 7.0), ("0", 0.0), ("Sat, 07 Mar 2026 09:14:00 GMT", 120.0),
        ("Sat, 07 Mar 2026 09:00:00 GMT", 0.0), (None, None), ("", None), ("soon", None), ("-5", None), ("1.5", None),
        ("١٢", None), ("Sat, 07 Mar 2026 09:14:00", None), ("9" * 400, float("9" * 40)),
    ],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(header, seconds):
    """As RFC 9110 has it; anything else says nothing."""
    assert parse_retry_after(header, NOW) == seconds


@pytest.mark.parametrize("where", ["open", "head"])
def test_a_store_that_asks_for_time_is_heard(s3, guarded, where):
    """The header reaches the error; a HEAD without it has none."""
    from tests.support.s3 import resource

    guarded.accepted_keys = None
    guarded.busy_reads = {1: {"Retry-After": "90"}}
    store = resource(guarded.endpoint).port()
    if where == "head":
        assert store.head(s3.name, "a.csv") is not None
        return
    with pytest.raises(PortError) as busy:
        store.open(s3.name, "a.csv")

    assert (busy.value.code, busy.value.retry_after_s) == ("THROTTLED", 90.0)


def test_a_port_error_crosses_processes_with_its_delay():
    """Pickled and back, nothing is lost."""
    import pickle

    error = PortError("THROTTLED", "slow", hint="wait", retry_after_s=5.0)
    back = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert (back.code, back.message, back.hint, back.retry_after_s) == ("THROTTLED", "slow", "wait", 5.0)
