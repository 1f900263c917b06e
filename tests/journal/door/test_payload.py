"""What passes the journal's door: nothing secret in any event, and no more than there is room for."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_planexec.journal.door import payload
from dagster_planexec.journal.door.payload import LARGEST_PAYLOAD, LEFT_OUT, payload_text
from dagster_planexec.journal.door.redact import redacted
from dagster_planexec.journal.journal import Journal, NewEvent

SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
    "OPENAI_API_KEY": "not-shaped-like-one-123",
    "VENDOR_TOKEN": "tok_4711_abcdef",
    "WAREHOUSE_PASSWORD": "hunter2",
    "PLANEXEC_JOURNAL_BILLING": "postgresql+psycopg://planexec:s3cret%2Fword@db.internal/journal",
}
KINDS = ("proposed", "checked", "judged", "calling", "called", "decided", "stopped", "step-ended", "run-ended")


@pytest.mark.parametrize("kind", KINDS)
def test_no_event_of_any_kind_holds_a_secret(journal: Journal, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Sentences, reasons, arguments and facts pass the same door; keys of mappings do, too."""
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    secrets = [*list(SECRETS.values())[:4], "s3cret%2Fword", "s3cret/word"]
    attempt, _ = journal.open_attempt(task="t", version="1", period="2026-03", inputs_digest="i", admission={})

    said: dict[str, Any] = {"reason": " ".join(secrets), "facts": {"deep": [{"x": s, s: 1} for s in secrets]}}
    journal.append(attempt.id, "r", [NewEvent(kind, "a", said)])
    journal.adopt_plan(attempt.id, "d", {"planner": "x", "author": secrets[0]})

    stored = json.dumps([e.payload for e in journal.events(attempt.id)])
    assert [secret for secret in secrets if secret in stored] == []
    assert stored.count("(redacted)") > len(secrets)
    assert secrets[0] not in json.dumps(dict(journal.attempt(attempt.id).provenance))


@pytest.mark.parametrize(
    "shaped",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "sk-proj-abcdefghijklmnopqrstuvwxyz012345",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "Bearer abcdefghijklmnop",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_what_has_the_shape_of_a_key_is_taken_out(shaped: str) -> None:
    """Whether this process knows it or not."""
    text = payload_text({"message": f"401 for {shaped}, try again"})

    assert json.loads(text) == {"message": "401 for (redacted), try again"}


@pytest.mark.parametrize(
    "said",
    [
        "a" * 64,
        "att_0123456789ab hold_0123456789ab",
        "s3:vendor-drops/vendor/exports/2026-03-invoice.csv at 2026-03-07T09:12:04.250Z",
        "staging.vendor_invoice_202603",
        "task-run-1 sk-1",
        "https://example.com/a:b@c",
    ],
)
def test_what_is_no_key_stays(said: str) -> None:
    """A digest, an id, a place, a time, a table."""
    assert json.loads(payload_text({"x": said})) == {"x": said}


def test_a_large_payload_keeps_its_structure_and_says_what_is_not_in_it() -> None:
    """A step's end can be read whatever its facts are; what was left out is named and counted."""
    verdicts = [{"check": "c", "phase": "post", "status": "passed", "text": "t", "code": None}] * 3
    facts = {"lines": [{"n": n, "text": "y" * 100} for n in range(5_000)], "message": "z" * 150_000}

    said = json.loads(payload_text({"state": "done", "code": None, "verdicts": verdicts, "facts": facts}))

    assert (said["state"], said["verdicts"]) == ("done", verdicts)
    assert said["facts"]["lines"][0] == {"n": 0, "text": "y" * 100}
    left_out = said[LEFT_OUT]
    kept = len(said["facts"]["lines"])
    assert left_out["at"]["facts.lines"] == f"{5_000 - kept} of 5000 entries"
    assert left_out["at"]["facts.message"].endswith("of 150000 characters")
    assert left_out["places"] == 2
    assert left_out["characters"] > LARGEST_PAYLOAD


def test_what_has_no_structure_to_keep_is_left_out_whole() -> None:
    """Nested without end; the event itself is kept."""
    wide: Any = "y" * 30
    for _ in range(4):
        wide = [wide] * 12

    said = json.loads(payload_text({"x": wide}))

    assert said.keys() == {LEFT_OUT}
    assert said[LEFT_OUT]["characters"] > LARGEST_PAYLOAD


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=30),
    max_leaves=60,
)


@given(st.dictionaries(st.text(max_size=8), ANY, max_size=30), st.sampled_from([500, 2_000, 20_000]))
def test_every_payload_is_bounded_and_says_whether_it_is_whole(value: dict[str, Any], largest: int) -> None:
    """Either all of it is there, or `left_out` is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(payload, "LARGEST_PAYLOAD", largest)
        patch.setattr(payload, "is_suspicious", lambda _: False)
        text = payload_text(value)

    said = json.loads(text)
    assert len(text) <= max(largest, 200)
    assert said == value or LEFT_OUT in said


PIECES = st.sampled_from([
    "AKIAIOSFODNN7EXAMPLE", "sk-proj-abcdefghijklmnopqrstuvwxyz", "ghp_", "abcdefghijklmnopqrst", "eyJhbGciOiJI", ".",
    "://user:", "hunter2hunter2", "@", "Bearer ", "bearer\n", "-----BEGIN PRIVATE KEY-----", "\n", "n", '"', "\\",
    "é", "password", "token", "x", "/", " ", 'quo"ted\\secret', "\u2028",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=6).map("".join)


@given(st.dictionaries(TEXTS, TEXTS | st.lists(TEXTS, max_size=3), max_size=4))
def test_looking_quickly_misses_nothing(value: dict[str, Any]) -> None:
    """What goes through the door is what would go through if every text were taken apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOME_SECRET", 'quo"ted\\secret')
        patch.setenv("OTHER_TOKEN", "hunter2hunter2")
        assert json.loads(payload_text(value)) == redacted(value)
