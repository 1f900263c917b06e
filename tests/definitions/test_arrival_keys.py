"""Keys of any kind, and buckets that keep versions: a real S3 server, asked as the sensor asks it."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest

from dagster_planexec.contract.task import Drop
from tests.support.drops import SetClock, Watch, instance_in, planned_for
from tests.support.s3 import Answer, ScriptedS3, resource

KEY = "in/2026-02.csv"


@pytest.fixture(scope="module")
def instance(tmp_path_factory) -> Iterator[dg.DagsterInstance]:
    with instance_in(tmp_path_factory.mktemp("dagster")) as found:
        yield found


@pytest.fixture
def watch(s3, tmp_path, monkeypatch, instance) -> Watch:
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    clock = SetClock(ahead_s=3600)
    drop = Drop(s3.name, "in/", r"(?s:{period}.*\.csv)", input="vendor")
    name = f"keys_{s3.name.replace('-', '_')}"
    return Watch(planned_for(drop, s3.store(), clock, name=name), instance, clock)


@pytest.mark.parametrize(
    "key",
    [
        "in/2026-02 with spaces  .csv",
        "in/2026-02+plus&and=equals.csv",
        "in/2026-02%2Fpercent%20.csv",
        "in/2026-02-\u00e9t\u00e9.csv",
        "in/2026-02-e\u0301te\u0301.csv",
        "in/2026-02-\U0001f9fe.csv",
        "in/2026-02-\"double\"-'single'.csv",
        "in/2026-02-tab\tand\r.csv",
        "in/2026-02-back\\slash.csv",
        "in/2026-02-<xml>&amp;.csv",
        "in/2026-02-" + "x" * 1005 + ".csv",
        "in/2026-02-'; delete from planexec_drop;--.csv",
        "in/2026-02-%(name)s-:k-{period}.csv",
    ],
    ids=["spaces", "plus", "percent", "nfc", "nfd", "astral", "quotes", "tab", "backslash", "xml", "longest",
         "sql", "templates"],
)  # fmt: skip
def test_key_goes_into_the_journal_exactly_as_it_is(s3, watch, key):
    """Over HTTP, XML and URL-encoding, and back; asked for once."""
    s3.put(key, b"a,b\n1,2\n")

    assert [watch.asked(), watch.asked()] == [["2026-02-01"], []]
    assert [seen.key for seen in watch.seen("2026-02")] == [key]


def test_keys_that_only_look_alike_are_two_objects(s3, watch):
    """Composed and decomposed, plus and space, percent and what it stands for: three deliveries' worth, six objects."""
    pairs = ("in/2026-02-\u00e9.csv", "in/2026-02-e\u0301.csv", "in/2026-02-a b.csv", "in/2026-02-a+b.csv",
             "in/2026-02-a%20b.csv", "in/2026-02-A b.csv")  # fmt: skip
    for key in pairs:
        s3.put(key, b"a,b\n1,2\n")

    assert [r.tags["planexec/objects"] for r in watch.tick().run_requests] == ["6"]
    assert {seen.key for seen in watch.seen("2026-02")} == set(pairs)


LISTING = """<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix>in/</Prefix>
<KeyCount>1</KeyCount><MaxKeys>1000</MaxKeys><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>
<Contents><Key>in/2026-02-line%0Abreak%07%2B.csv</Key><LastModified>2026-03-01T09:00:00.000Z</LastModified>
<ETag>&quot;e1&quot;</ETag><Size>9</Size><StorageClass>STANDARD</StorageClass></Contents></ListBucketResult>"""


@pytest.mark.parametrize(
    ("pattern", "keys"),
    [(r"(?s:{period}.*\.csv)", ["in/2026-02-line\nbreak\x07+.csv"]), (r"{period}.*\.csv", [])],
    ids=["a-dot-that-matches-line-breaks", "a-dot-that-does-not"],
)
def test_key_with_a_line_break_is_sorted_as_the_run_would_read_it(watch, instance, pattern, keys):
    """XML 1.0 cannot carry such a key, so it is asked for URL-encoded, as S3 answers (moto cannot store one)."""
    with ScriptedS3(lambda _m, _p: Answer(200, (("Content-Type", "application/xml"),), LISTING.encode())) as scripted:
        drop = Drop("b", "in/", pattern, input="vendor")
        store = resource(scripted.endpoint).port()
        odd = Watch(planned_for(drop, store, watch.clock, name=watch.binding.task.name), instance, watch.clock)
        odd.tick()

    assert "encoding-type=url" in scripted.requests[0]
    assert [seen.key for seen in odd.seen("2026-02")] == keys


def test_one_key_per_page_is_one_run(s3, watch, instance):
    """Eleven pages of one key each, and the settled set holds them all."""
    for n in range(11):
        s3.put(f"in/2026-02-{n:02d}.csv", b"a,b\n1,2\n")
    from dagster_planexec.resources.s3_object_store import S3ObjectStore

    store = S3ObjectStore(s3.client, page_size=1)
    paged = Watch(
        planned_for(watch.binding.task.drop, store, watch.clock, name=f"{watch.binding.task.name}_p"),
        instance,
        watch.clock,
    )

    assert [r.tags["planexec/objects"] for r in paged.tick().run_requests] == ["11"]


def test_two_versions_between_two_looks_are_one_run_and_one_record(s3, watch):
    """In a bucket that keeps versions the earlier one is on record as superseded, though no listing showed it."""
    s3.keep_versions()
    tags = [s3.put(KEY, body) for body in (b"a,b\n1,2\n", b"a,b\n1,3\n")]
    (request,) = watch.tick().run_requests
    seen = {s.version.split()[0]: (s.requested, (s.superseded_by or "").split(" ")[0]) for s in watch.seen("2026-02")}

    assert seen == {tags[0]: (None, tags[1]), tags[1]: (request.run_key, "")}
    assert watch.asked() == []


def test_empty_version_between_two_looks_is_no_arrival(s3, watch):
    """The vendor uploaded nothing first, and the file after it."""
    s3.keep_versions()
    s3.put(KEY, b"")
    tag = s3.put(KEY, b"a,b\n1,2\n")
    watch.tick()

    assert [seen.version.split()[0] for seen in watch.seen("2026-02")] == [tag]


def test_bucket_that_keeps_no_versions_is_asked_once(s3, watch):
    """Thirty new objects, one question."""
    for n in range(30):
        s3.put(f"in/2026-02-{n:02d}.csv", b"a,b\n1,2\n")
    asked = []
    s3.client.meta.events.register("before-call.s3.ListObjectVersions", lambda **_: asked.append(1), unique_id="count")
    try:
        watch.tick()
    finally:
        s3.client.meta.events.unregister("before-call.s3.ListObjectVersions", unique_id="count")

    assert asked == [1]


def test_delete_marker_on_top_is_an_absent_object(s3, watch):
    """No request, no error; the version below it is not brought back."""
    s3.keep_versions()
    s3.put(KEY, b"a,b\n1,2\n")
    s3.delete(KEY)

    assert watch.said().startswith("0 objects")


def test_delete_marker_that_is_taken_off_is_no_news(s3, watch):
    """The very version that was run lies there again."""
    s3.keep_versions()
    s3.put(KEY, b"a,b\n1,2\n")
    assert watch.asked() == ["2026-02-01"]
    marker = s3.client.delete_object(Bucket=s3.name, Key=KEY)["VersionId"]
    assert watch.asked() == []
    s3.client.delete_object(Bucket=s3.name, Key=KEY, VersionId=marker)

    assert watch.settle().run_requests == []
    assert watch.said().startswith("1 objects, 0 passed over, 0 new; 0 runs requested")


def test_listing_goes_on_behind_a_key(s3):
    """The store itself begins there: for any kind of key, and with nothing behind it."""
    keys = sorted(["in/a", "in/a b", "in/a%b", "in/a+b", "in/\u00e9", "in/z\tz"])
    for key in keys:
        s3.put(key, b"x")
    store = resource(s3.endpoint).port()

    for at, key in enumerate(keys):
        assert [facts.key for facts in store.list_after(s3.name, "in/", key)] == keys[at + 1 :]
    assert [facts.key for facts in store.list_after(s3.name, "in/", "")] == keys


def test_history_that_may_not_be_asked_for_is_left_out(s3):
    """A bucket that is not there, as one that forbids it: no versions, no error."""
    assert resource(s3.endpoint).port().versions("no-such-bucket-here", KEY) == ()
