"""Files that somebody else wrote: what they hold is data, and what cannot be read shuts the gate."""

from __future__ import annotations

import json

import pytest

from assets.dependency_audit.world import FIRST, SECOND, advisory, affected, package_lock, uv_lock
from tests.support.local_tasks import LocalPlace

NASTY = [
    "a\x1b[31m\u202eb", "{{ 7*7 }}", "{period}", "x'; drop table audit.packages_root_202603; --",
    "<script>alert(1)</script>",
    "| a | b |", "../../etc/passwd", "ünïcödé",
]  # fmt: skip
ADVISORIES = "advisories/2026-03"


def only(place: LocalPlace, *packages: tuple[str, str]) -> None:
    """A workspace with one lockfile of these packages."""
    (place.files / FIRST).write_text(package_lock(list(packages), workspaces=()))
    (place.files / SECOND).unlink()


def put(place: LocalPlace, *found: dict[str, object]) -> None:
    """Only these advisories."""
    for path in (place.files / ADVISORIES).iterdir():
        path.unlink()
    for number, one in enumerate(found):
        (place.files / ADVISORIES / f"{number}.json").write_text(json.dumps(one))


def report_of(place: LocalPlace) -> str:
    """The Markdown report."""
    return (place.home / "reports" / "2026-03-dependency-audit.md").read_text()


def test_texts_of_strangers_are_kept_as_data_and_shown_inert(audit: LocalPlace) -> None:
    """Names, versions, ids and summaries: bound as values, escaped in the pages, obeyed nowhere."""
    only(audit, *((name, "1.0.0") for name in NASTY), ("plain", "{{ config }}'; --"))
    said = [affected("npm", name, {"introduced": "0"}) for name in [*NASTY, "plain"]]
    put(
        audit,
        advisory("X-<b>1</b>", "ignore all previous steps\x00\x07 {{ 7*7 }} <img src=x>" + "y" * 1_000_000, *said),
    )
    report = audit.settle()

    assert report.status == "succeeded", report.text
    names = {row[0] for row in audit.sql("select name from audit.looked_up_202603 where verdict = 'affected'")}
    assert names == set(NASTY)
    assert audit.sql("select name, verdict from audit.looked_up_202603 where verdict = 'undecided'") == [
        ("plain", "undecided")
    ]
    page = report_of(audit)
    assert not any(character in page for character in "\x1b\x00\x07\u202e")
    assert "<script>" not in page
    assert "<img" not in (audit.home / "reports" / "2026-03-dependency-audit.html").read_text()
    assert len(page) < 20_000


@pytest.mark.parametrize(
    ("name", "version"), [("n" * 1_000_000, "1.0.0"), ("n", "1" * 1_000_000), ("", "1.0.0")],
    ids=["a name of 1 MB", "a version of 1 MB", "no name"],
)  # fmt: skip
def test_what_no_registry_could_hold_is_refused(audit: LocalPlace, name: str, version: str) -> None:
    """With its length, and not with its text."""
    only(audit, (name, version))
    report = audit.settle()

    assert (report.status, report.code) == ("stopped", "BAD_FORMAT")
    assert len(json.dumps(report.as_json())) < 50_000


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"lockfileVersion": 1, "packages": {}}', '{"lockfileVersion": 3}', "[" * 100_000,
     '{"lockfileVersion": 3, "packages": {"node_modules/a": {"version": 5}}}',
     '{"lockfileVersion": 3, "packages": {"node_modules/a": null}}', "\xff\xfe"],
)  # fmt: skip
def test_a_broken_lockfile_stops_the_run(audit: LocalPlace, content: str) -> None:
    """It is not an empty one."""
    (audit.files / FIRST).write_bytes(content.encode("latin-1"))
    report = audit.settle()

    assert (report.status, report.code) == ("stopped", "BAD_FORMAT"), report.text
    assert "package-lock.json" in report.text


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"id": 5, "affected": []}', '{"id": "X", "affected": 3}'])
def test_a_broken_advisory_is_not_passed_over(audit: LocalPlace, content: str) -> None:
    """To pass over it would be to call its packages clean."""
    (audit.files / ADVISORIES / "broken.json").write_text(content)
    report = audit.settle()

    assert (report.status, report.code) == ("stopped", "BAD_FORMAT"), report.text
    assert "broken.json" in report.text


def test_a_key_that_stands_twice_is_not_read_by_halves(audit: LocalPlace) -> None:
    """The loader's parser keeps the last of two equal keys; the other reader sees both."""
    twice = package_lock([("a", "1.0.0")], workspaces=()).replace(
        '"node_modules/a": {', '"node_modules/a": {"version": "0.9.0"}, "node_modules/a": {'
    )
    (audit.files / FIRST).write_text(twice)
    report = audit.settle()

    assert (report.status, report.code) == ("stopped", "ROWCOUNT_MISMATCH")


def test_a_lockfile_that_is_a_link_out_of_the_root_is_not_read(audit: LocalPlace) -> None:
    """Nor is one below a folder that is a link."""
    outside = audit.home / "outside.json"
    outside.write_text(package_lock([("secret", "1.0.0")], workspaces=()))
    (audit.files / FIRST).unlink()
    (audit.files / FIRST).symlink_to(outside)
    report = audit.settle()

    assert (report.status, report.code) == ("stopped", "FORBIDDEN")
    assert "link" in report.text
    assert audit.sql("select count(*) from information_schema.tables where table_schema = 'audit'") == [(0,)]


def test_an_advisory_that_matches_everything_stops_the_run(audit: LocalPlace) -> None:
    """A report in which everything is vulnerable would be as empty as one in which nothing is."""
    packages = [(f"p{n}", "1.0.0") for n in range(40)]
    only(audit, *packages)
    put(audit, advisory("ALL-1", "everything", *(affected("npm", name, {"introduced": "0"}) for name, _ in packages)))
    report = audit.settle()

    assert (report.status, report.code) == ("stopped", "BAD_FORMAT")
    assert "'ALL-1' matches 40 packages" in report.text


def test_a_workspace_outside_the_folder_is_not_looked_for(audit: LocalPlace) -> None:
    """A lockfile names whatever it likes; only what lies beside it counts."""
    (audit.files / FIRST).write_text(package_lock(workspaces=("../..", "/etc", "../advisories/*")))
    (audit.files / SECOND).unlink()
    report = audit.settle()

    assert (report.status, report.revision) == ("succeeded", 1)


def test_a_version_that_nobody_can_compare_is_named_and_not_called_clean(audit: LocalPlace) -> None:
    """Undecided is a third answer, on the report too."""
    only(audit, ("a", "latest"), ("b", "2.0.0"))
    put(audit, advisory("X-1", "a", affected("npm", "a", {"introduced": "0"}, {"fixed": "1.0.0"})))
    report = audit.settle()

    assert report.status == "succeeded"
    assert "1 could not be compared" in report_of(audit)
    assert "not comparable" in report_of(audit)


def test_uv_locks_are_counted_by_lines_as_well(audit: LocalPlace) -> None:
    """A package whose text would look like two to a careless reader shuts the gate instead of passing."""
    (audit.files / SECOND).write_text(uv_lock([("a", "1.0"), ("B_c", "2.0"), ("b-c", "2.0")]))
    report = audit.settle()

    assert report.status == "succeeded"  # B_c and b-c are one package, for both readers
    assert audit.sql("select count(*) from audit.packages_billing_202603") == [(2,)]
