"""What manifests state: real forms of them, and hostile ones, which never lead out of the drop nor fill the memory."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from dagster_planexec.errors import PortError
from dagster_planexec.world.delivery.manifest.form import (
    MOST_BYTES,
    MOST_PARTS,
    ManifestForm,
    PartWords,
    Place,
    WholeWords,
)
from dagster_planexec.world.delivery.manifest.stated import Stated, read_manifest

PLACE = Place("drops", "in/", r"2026-03.*\.csv")
KEY = "in/2026-03/manifest.json"
FULL = ManifestForm(
    "json", PartWords("name", "bytes", "sha256", "md5", "rows", "total"), "delivery.files",
    WholeWords("delivery.count", "delivery.rows", "delivery.total", "delivery.month", "delivery.state"), "below-prefix",
)  # fmt: skip
NAMES = ManifestForm("json", PartWords())
LINES = ManifestForm("lines", PartWords(), names="below-prefix")
CSV = ManifestForm("csv", PartWords("file", rows="lines", amount="sum"), names="below-prefix", delimiter=";",
                   decimal_mark=",", thousands=".")  # fmt: skip
CONTROL = ManifestForm("pairs", whole=WholeWords(parts="files", rows="rows", amount="amount"), delimiter="=")


def read(raw: str | bytes, form: ManifestForm = NAMES, key: str = KEY) -> Stated:
    """What it states."""
    return read_manifest(raw.encode() if isinstance(raw, str) else raw, form, PLACE, key)


def refused(raw: str | bytes, form: ManifestForm = NAMES, key: str = KEY) -> str:
    """Why it is refused, in a bounded sentence."""
    with pytest.raises(PortError) as error:
        read(raw, form, key)
    assert error.value.code == "BAD_MANIFEST"
    assert error.value.hint
    assert len(error.value.message) < 400
    assert error.value.message.isprintable()
    return error.value.message


def full(**changes: object) -> str:
    """A manifest that says all that can be said."""
    files = [
        {"name": "2026-03-a.csv", "bytes": 10, "sha256": "A" * 64, "md5": "b" * 32, "rows": 2, "total": "30.00"},
        {"name": "2026-03-b.csv", "bytes": "20", "sha256": "c" * 64, "md5": "d" * 32, "rows": 3, "total": 0.1},
    ]
    whole = {"files": files, "count": 2, "rows": 5, "total": 30.10, "month": "2026-03", "state": "Final"}
    return json.dumps({"delivery": {**whole, **changes}})


def test_everything_that_can_be_stated_is_read_exactly():
    """Numbers as they stand there, also those that a float cannot hold; digests in lower case; names as whole keys."""
    stated = read("\ufeff" + full(), FULL)

    assert list(stated.parts) == ["in/2026-03-a.csv", "in/2026-03-b.csv"]
    a, b = stated.parts.values()
    assert (a.size, a.sha256, a.md5, a.rows, a.amount) == (10, "a" * 64, "b" * 32, 2, Decimal("30.00"))
    assert (b.size, b.amount) == (20, Decimal("0.1"))
    assert (stated.count, stated.rows, stated.amount) == (2, 5, Decimal("30.10"))
    assert (stated.period, stated.final) == ("2026-03", True)


@pytest.mark.parametrize(
    ("raw", "form", "parts"),
    [
        ('{"entries": [{"url": "s3://drops/in/2026-03-a.csv", "mandatory": true, "meta": {"content_length": 7}}]}',
         ManifestForm("json", PartWords("url", size="meta.content_length"), "entries", names="whole-keys"),
         {"in/2026-03-a.csv": 7}),
        ('{"sourceBucket": "b", "files": [{"key": "in/2026-03.csv", "size": 9, "MD5checksum": "' + "0" * 32 + '"}]}',
         ManifestForm("json", PartWords("key", size="size", md5="MD5checksum"), "files", names="whole-keys"),
         {"in/2026-03.csv": 9}),
        ('["a.csv", "b c+%2F.csv"]', NAMES, {"in/2026-03/a.csv": None, "in/2026-03/b c+%2F.csv": None}),
        ("2026-03-a.csv\r\n\r\n2026-03-\u00e9.csv", LINES, {"in/2026-03-a.csv": None, "in/2026-03-\u00e9.csv": None}),
        ('file;lines;sum\r\n"2026-03-a.csv";2;"1.234,50"\r\n', CSV, {"in/2026-03-a.csv": None}),
    ],
    ids=["of-an-unload", "of-an-inventory", "names", "lines", "csv"],
)  # fmt: skip
def test_manifests_as_they_are_written(raw, form, parts):
    """Those of a warehouse's unload and of an S3 inventory, a list of names, lines, and a CSV with other marks."""
    stated = read(raw, form)

    assert {part.key: part.size for part in stated.parts.values()} == parts
    assert form is not CSV or stated.amount == Decimal("1234.50")


@pytest.mark.parametrize(
    ("raw", "form"),
    [
        ("rows=4\namount = 390.00\nfiles=1\nby=batch=7\n", CONTROL),
        ('{"files": 1, "rows": 4, "amount": 390.00}', ManifestForm("json", whole=CONTROL.whole)),
        ("files,rows,amount\n1,4,390.00\n", ManifestForm("csv", whole=CONTROL.whole)),
    ],
    ids=["pairs", "json", "csv"],
)
def test_control_file_states_the_whole_and_names_nothing(raw, form):
    """Counts and a sum."""
    stated = read(raw, form)

    assert (stated.parts, stated.count, stated.rows, str(stated.amount)) == (None, 1, 4, "390.00")


@pytest.mark.parametrize(
    "name",
    ["../2026-03.csv", "a/../../2026-03.csv", "./a.csv", "/etc/passwd", "s3://drops/in/2026-03.csv", "a\x00.csv",
     "a\nb.csv", "\x1b[2J.csv", "\ud800.csv", "", " a.csv", "x" * 1_000_000 + ".csv", "a.exe", "\u0085.csv"],
)  # fmt: skip
def test_no_name_leads_out_of_the_drop(name):
    """Nor a million letters, nor control characters, into anything that people or machines read."""
    assert "part 1" in refused(json.dumps([name]))


@pytest.mark.parametrize(
    "name", ["in/2026-02.csv", "other/2026-03.csv", "s3://else/in/2026-03.csv", "in/../x/2026-03.csv"]
)
def test_no_whole_key_leads_out_of_the_drop(name):
    """Another month, another prefix, another bucket, dots."""
    assert repr(name) in refused(json.dumps([name]), ManifestForm("json", PartWords(), names="whole-keys"))


@pytest.mark.parametrize(
    ("raw", "form", "says"),
    [
        (b"", NAMES, "it is empty"),
        (b"\xff\xfe[", NAMES, "no UTF-8: byte 0"),
        ("{", NAMES, "no JSON"),
        ("[" * 200_000, NAMES, "nested too deeply"),
        ("[NaN]", NAMES, "NaN is no number"),
        ("[]", NAMES, "it names no part"),
        ("[1]", NAMES, "part 1 is no name"),
        ('{"a": 1}', NAMES, "no list of parts"),
        ('["a.csv", "b.csv", "a.csv"]', NAMES, "part 3 names 'in/2026-03/a.csv' a second time"),
        ('{"delivery": {"rows": 1, "rows": 2}}', FULL, "'rows' stands in one object twice"),
        (full(rows=6), FULL, "states 6 as rows of the whole, and its parts come to 5"),
        (full(count=3), FULL, "states 3 as parts of the whole, and its parts come to 2"),
        (full(total="30.11"), FULL, "states 30.11 as amount of the whole"),
        (full(rows=-5), FULL, "'-5' under 'delivery.rows', which is no count"),
        (full(rows=True), FULL, "which is no count"),
        (full(total="1e999"), FULL, "which is no amount"),
        (full(total="30,10"), FULL, "which is no amount"),
        (full(month=None), FULL, "states nothing under 'delivery.month'"),
        (full().replace("A" * 64, "xyz"), FULL, "which is no digest of 64"),
        (full(rows=7).replace("7", "7" * 5000), FULL, "which is no count"),
        ("file;lines;sum\n2026-03.csv;2\n", CSV, "line 2 has 2 fields, the header has 3"),
        ("file;file;sum\n", CSV, "two of its columns have one name"),
        ('file;lines;sum\n"2026-03.csv', CSV, "cannot be read"),
        ("file;lines;sum\n2026-03.csv;2;1,234,50\n", CSV, "which is no amount"),
        ("rows 4", CONTROL, "line 1 has no '='"),
        ("rows=4\nrows=5", CONTROL, "line 2 states 'rows' a second time"),
        ("rows=4\n", CONTROL, "states nothing under 'files'"),
        ("files,rows,amount\n1,1,1\n2,2,2\n", ManifestForm("csv", whole=CONTROL.whole), "has more"),
        ("files,rows,amount\n", ManifestForm("csv", whole=CONTROL.whole), "has none"),
        ("\n".join(f"2026-03-{n}.csv" for n in range(MOST_PARTS + 1)), LINES, "names more than 50,000 parts"),
        ("\n" * MOST_BYTES + "x", LINES, "has more than 8,388,608 bytes"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_as_declared_is_refused_in_words(raw, form, says):
    """Each with what is wrong and where; nothing is guessed, and nothing is left out."""
    assert says in refused(raw, form)


@pytest.mark.parametrize(
    "wrong",
    [
        {"format": "json"},
        {"format": "pairs", "part": PartWords()},
        {"format": "lines", "part": PartWords("key")},
        {"format": "csv", "part": PartWords()},
        {"format": "json", "part": PartWords(size="n")},
        {"format": "csv", "part": PartWords("file"), "whole": WholeWords(rows="n")},
        {"format": "csv", "part": PartWords("file"), "delimiter": ";;"},
        {"format": "csv", "part": PartWords("file"), "thousands": "."},
    ],
)
def test_form_that_could_never_be_met_is_no_form(wrong):
    """Said where the task is written, not by a run."""
    with pytest.raises(ValueError, match="manifest"):
        ManifestForm(**wrong)
