"""What may be a secret is in no event of a call."""

from __future__ import annotations

import pytest

from dagster_planexec.journal.door.redact import TAKEN_OUT, redacted


@pytest.mark.parametrize(
    "name", ["password", "DB_PASSWORD", "api_key", "apiKey", "aws_secret", "authorization", "token"]
)
def test_a_text_under_the_name_of_a_secret_is_taken_out(name):
    """Wherever it is nested; a number under such a name is no secret."""
    assert redacted({"a": [{name: "hunter2"}]}) == {"a": [{name: TAKEN_OUT}]}
    assert redacted({name: 7}) == {name: 7}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("postgresql://user:pass@db.example/ledger", f"postgresql://{TAKEN_OUT}@db.example/ledger"),
        ("https://example.com/a:b@c", "https://example.com/a:b@c"),
        (
            "s3://vendor-drops/vendor/exports/2026-03-invoice.csv",
            "s3://vendor-drops/vendor/exports/2026-03-invoice.csv",
        ),
    ],
    ids=["credentials", "an at in a path", "a bucket"],
)
def test_credentials_in_a_url_are_taken_out(text, left):
    """And nothing else of it."""
    assert redacted({"url": text}) == {"url": left}


def test_a_secret_of_the_environment_is_taken_out_wherever_it_stands(monkeypatch):
    """Short values may be words like any other and stay."""
    monkeypatch.setenv("VENDOR_API_TOKEN", "abcdef0123456789")
    monkeypatch.setenv("OTHER_SECRET", "ledger")

    assert redacted(["x abcdef0123456789 y", "ledger"]) == [f"x {TAKEN_OUT} y", "ledger"]


def test_keys_of_objects_and_tables_are_no_secrets():
    """`key` is the name of an object here; a trace without it would tell nothing."""
    args = {"bucket": "vendor-drops", "key": "vendor/exports/2026-03-invoice.csv", "cap": "400.00", "rows": 3}

    assert redacted(args) == args
