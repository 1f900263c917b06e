"""The one sentence: five parts in every case, bounded, on one line, whatever stands in the two sides."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from dagster_planexec.checks.static.rule import StaticFinding
from dagster_planexec.contract.codes import CODES, meaning
from dagster_planexec.contract.verdict import Side, Verdict
from dagster_planexec.journal.encoding import decode_verdict, dumps, encode_verdict
from dagster_planexec.journal.told.line import cut, shortened, words
from dagster_planexec.journal.told.sentence import LONGEST_SENTENCE, sentence_of, sentence_of_call, sentence_of_plan
from dagster_planexec.world.observation import Source
from dagster_planexec.world.subject import Subject

ADMITTED = datetime(2026, 4, 1, 9, 2, tzinfo=UTC)
SEEN = datetime(2026, 4, 1, 9, 12, 4, 250_000, tzinfo=UTC)
KEY = "vendor-drops/vendor/exports/2026-03-invoice.csv"
MEGABYTE = "x\n\x1b[31m`<b>" * 100_000


def verdict(expected="etag 435c", observed="no object", *, code="OBJECT_GONE", text="", key=KEY, **more):
    """A verdict about an object, as it is judged before the read."""
    sides = (
        Side(expected, Source(Subject("admission", key), "HEAD at admission", ADMITTED)),
        Side(observed, Source(Subject("s3", key), "HEAD", SEEN)),
    )
    return Verdict(more.get("check", "object_exists"), more.get("phase", "pre"), more.get("status", "failed"), *sides,
                   code, text)  # fmt: skip


def test_the_five_parts_are_in_it():
    """Claim and step, expected with source and time, seen with source and time, what to do; the code comes first."""
    assert sentence_of(verdict(), step="fetch_export") == (
        "OBJECT_GONE: object_exists failed at fetch_export: "
        f"expected etag 435c (admission:{KEY}, HEAD at admission, 2026-04-01T09:02:00.000Z), "
        f"saw no object (s3:{KEY}, HEAD, 2026-04-01T09:12:04.250Z); "
        "ask the vendor to deliver it again, or restore an older version; then run the month again"
    )


@pytest.mark.parametrize(
    ("more", "head"),
    [
        ({"phase": "live"}, "OBJECT_GONE: object_exists failed before the run: expected "),
        ({"status": "errored", "code": "TIMEOUT", "text": "HEAD did not answer"},
         "TIMEOUT: object_exists could not be judged at fetch_export: HEAD did not answer; expected "),
        ({"status": "not-evaluated"}, "OBJECT_GONE: object_exists was not judged at fetch_export: expected "),
        ({"code": None}, "INTERNAL: object_exists failed at fetch_export: expected "),
    ],
    ids=["live", "errored", "not-evaluated", "no code"],
)  # fmt: skip
def test_it_says_how_the_gate_was_shut(more, head):
    """Nobody reads `failed` where a look failed."""
    assert sentence_of(verdict(**more), step="fetch_export").startswith(head)


@pytest.mark.parametrize(
    ("text", "is_told"),
    [("claim `object_exists` broken: expected etag 435c, saw no object", False), ("ONE_SIDED(vendor): the same", True)],
    ids=["repeats the sides", "says more"],
)
def test_words_of_the_judge_are_told_where_they_say_more(text, is_told):
    """A judge that only repeats its two sides is left out."""
    assert (text in sentence_of(verdict(text=text), step="s")) is is_told


def test_a_hold_is_named_in_the_hint():
    """The command can be copied; without a hold the hint says what to put there."""
    held = verdict(Decimal("500.00"), Decimal("1430.94"), code="CAP_EXCEEDED")

    assert "`planexec show hold_0a1b`" in sentence_of(held, step="issue_credit", hold="hold_0a1b")
    assert "`planexec show HOLD`" in sentence_of(held, step="issue_credit")


HOSTILE = {
    "a megabyte": {"expected": MEGABYTE, "observed": MEGABYTE, "text": MEGABYTE},
    "a long key": {"key": "vendor-drops/" + "k" * 1000 + ".csv"},
    "everything long": {"expected": MEGABYTE, "observed": MEGABYTE, "text": MEGABYTE, "key": MEGABYTE,
                        "check": "c" * 1000},
    "line breaks": {"observed": "a\r\nb\u2028c\x00d", "text": "1\n2\n3"},
    "turned text": {"observed": "invoice\u202efdp.exe\u2066"},
    "not a number": {"expected": Decimal("NaN"), "observed": Decimal("Infinity")},
    "a float": {"expected": 0.1 + 0.2, "observed": float("nan")},
    "floats inside": {"observed": {"sum": float("inf"), "of": (float("nan"), 1.5)}},
    "nested": {"observed": {"rows": 4097, "sums": {"USD": Decimal("1.50")}, "at": SEEN, "keys": ("a", "b")}},
    "nothing": {"expected": "", "observed": None},
    "many rows": {"observed": {f"column {n}": n for n in range(10_000)}},
}  # fmt: skip


@pytest.mark.parametrize("more", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("code", ["OBJECT_GONE", *sorted(CODES, key=lambda c: -len(meaning(c).hint))[:3]])
@pytest.mark.parametrize("step", ["fetch_export", "s" * 1000], ids=["step", "long step"])
def test_it_is_one_bounded_line_of_numbers_that_are_numbers(more, code, step):
    """No line break, no control character, no NaN, no binary fraction; and the hint is still there."""
    text = sentence_of(verdict(**{**more, "code": code}), step=step)

    assert 0 < len(text) <= LONGEST_SENTENCE < 600
    assert text.isprintable()
    assert not re.search(r"\b(nan|inf|infinity)\b|0\.30000000000000004", text, re.IGNORECASE)
    assert f"{code}: " in text
    assert " saw " in text
    assert text.endswith((cut(meaning(code).hint, 110), meaning(code).hint))
    assert text.count("2026-04-01T09:") >= 2


FACTS = {name: more for name, more in HOSTILE.items() if "float" not in name}


@pytest.mark.parametrize("more", FACTS.values(), ids=FACTS.keys())
def test_the_journal_does_not_change_it(more):
    """Judged just now or read from the journal: what is shown on run, check and command line is the same text."""
    fresh = verdict(**more)
    kept = decode_verdict(json.loads(dumps(encode_verdict(fresh))))

    assert sentence_of(kept, step="s") == sentence_of(fresh, step="s")


def test_a_call_that_failed_has_the_five_parts_too():
    """Without a check, the claim is that the tool answers as its contract says."""
    text = sentence_of_call("s3.get", "UNAVAILABLE", "GET answered 503", SEEN, step="fetch_export")

    assert text == (
        "UNAVAILABLE: s3.get failed at fetch_export: GET answered 503; expected a result (contract:s3.get, "
        "the tool's contract), saw UNAVAILABLE (tool:s3.get, its answer, 2026-04-01T09:12:04.250Z); "
        "wait, then run again"
    )


def test_a_plan_that_breaks_rules_names_the_first_and_counts_the_rest():
    """With the rule's own hint, which is more than the code's."""
    findings = [
        StaticFinding("unused-step", "look", None, "a use", "none", "drop it", "warning"),
        StaticFinding("unknown-tool", "fetch", "tool", "one of s3.get, run_sql", "'s3.gett'", "write 's3.get'"),
        StaticFinding("dangling-ref", "load", "args.sources[0]", "a step of the plan", "'nowhere'", "name one"),
    ]

    assert sentence_of_plan(findings, "3de2fab05411" + "0" * 52, SEEN) == (
        "PLAN_REJECTED: unknown-tool failed before the run: step fetch, tool; 1 more of such findings; "
        "expected one of s3.get, run_sql (rule:unknown-tool, static check), "
        "saw 's3.gett' (plan:3de2fab05411, static check, 2026-04-01T09:12:04.250Z); write 's3.get'"
    )


@pytest.mark.parametrize("limit", [8, 20, 110])
def test_a_name_is_shortened_in_its_middle_and_a_text_at_its_end(limit):
    """Names differ at their ends; sentences are read from their start."""
    text = "vendor-drops/" + "k" * 200 + "/2026-03.csv"

    assert len(shortened(text, limit)) <= limit
    assert shortened(text, limit).endswith("v")
    assert cut(text, limit) == text[: limit - 1] + "…"
    assert cut("short", limit) == shortened("short", limit) == "short"


def test_twelve_digits_of_a_digest_are_enough():
    """In a sentence. The metadata beside it has all of them."""
    assert shortened(f"sha256 {'ab' * 32}, 3 bytes", 100) == "sha256 abababababab…, 3 bytes"


def test_facts_are_written_with_their_names_in_one_order():
    """A mapping that went through the journal comes back sorted."""
    assert words({"rows": 1, "digest": "x"}) == words({"digest": "x", "rows": 1}) == '{"digest": "x", "rows": 1}'
