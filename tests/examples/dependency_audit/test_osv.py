"""What falls under an advisory, by the OSV format's own rules, and what fixes it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.dependency_audit.reading.lockfiles import Package, _npm, _uv
from assets.dependency_audit.reading.osv import _affected, fixed_version, judged
from assets.dependency_audit.reading.second_opinion import _falls_under
from assets.dependency_audit.reading.second_reader import _npm as npm_again
from assets.dependency_audit.reading.second_reader import _uv as uv_again
from assets.dependency_audit.world import affected, package_lock, uv_lock

EVENTS = {"i": "introduced", "f": "fixed", "l": "last_affected", "m": "limit"}


def entry(events: str, *, kind: str = "SEMVER", ecosystem: str = "npm", **more: object) -> dict[str, object]:
    """`i0 f1.2.0` as the package of an advisory."""
    named = [{EVENTS[word[0]]: word[1:]} for word in events.split()]
    return affected(ecosystem, "p", *named, kind=kind, **more)


@pytest.mark.parametrize(
    ("events", "version", "answer"),
    [
        ("i0", "0.0.1", "affected"), ("i0", "99.0.0", "affected"), ("i0 f1.0.0", "0.9.9", "affected"),
        ("i0 f1.0.0", "1.0.0", "clean"), ("i0 f1.0.0", "1.0.0-rc.1", "affected"), ("i1.0.0 f1.2.0", "0.9.0", "clean"),
        ("i1.0.0 f1.2.0", "1.1.9", "affected"), ("i1.0.0 l1.2.0", "1.2.0", "affected"),
        ("i1.0.0 l1.2.0", "1.2.1", "clean"),
        ("i1.0.0 l1.0.0", "1.0.0", "affected"), ("i1.0.0 l1.0.0", "2.0.0", "clean"),
        ("f2.0.0 i0 f1.0.0 i1.5.0", "1.2.0", "clean"), ("f2.0.0 i0 f1.0.0 i1.5.0", "1.6.0", "affected"),
        ("i0 m1.0.0", "0.5.0", "affected"), ("i0 m1.0.0", "1.0.0", "clean"), ("i0 m*", "5.0.0", "affected"),
        ("i0 f1.10.0", "1.9.0", "affected"), ("i0 f1.9.0", "1.10.0", "clean"),
        ("i0 f1.0.0", "latest", "undecided"),
        ("i0 fnext", "1.0.0", "undecided"), ("f1.0.0", "0.1.0", "clean"),
        ("i1.0.0+build.5 f2.0.0", "1.0.0", "affected"),
    ],
)  # fmt: skip
def test_a_version_is_judged_by_the_events_in_their_order(events: str, version: str, answer: str) -> None:
    """Introduced, fixed, the last affected and limits; both readings agree."""
    package = Package("npm", "p", version)
    assert judged(package, [_affected(entry(events))]) == answer
    assert _falls_under(package, entry(events)) is (answer != "clean")


@pytest.mark.parametrize(
    ("events", "version", "answer"),
    [
        ("i0 f1.0", "1.0rc1", "affected"), ("i0 f1.0", "1.0.post1", "clean"), ("i0 f1.0", "1.0", "clean"),
        ("i1.0a1 f1.0b1", "1.0a2", "affected"), ("i0 f2!1.0", "3.0", "affected"), ("i0 f1.0", "0.9.dev3", "affected"),
        ("i0 f1.0", "not a version", "undecided"),
    ],
)  # fmt: skip
def test_python_versions_have_an_order_of_their_own(events: str, version: str, answer: str) -> None:
    """Release candidates before, post releases behind, epochs above everything."""
    package, one = Package("PyPI", "p", version), entry(events, kind="ECOSYSTEM", ecosystem="PyPI")
    assert judged(package, [_affected(one)]) == answer
    assert _falls_under(package, one) is (answer != "clean")


def test_a_listed_version_is_affected_whatever_the_ranges_say() -> None:
    """And where every affected version is listed, a range in commits adds nothing."""
    listed = entry("i0", kind="GIT", versions=["1.0.0"])
    assert judged(Package("npm", "p", "1.0.0"), [_affected(listed)]) == "affected"
    assert judged(Package("npm", "p", "1.0.1"), [_affected(listed)]) == "clean"
    assert judged(Package("npm", "p", "1.0.1"), [_affected(entry("i0", kind="GIT"))]) == "undecided"


@pytest.mark.parametrize(
    ("events", "version", "fix"),
    [
        ("i0 f1.0.0", "0.5.0", "1.0.0"), ("i0", "0.5.0", None), ("i0 l1.0.0", "0.5.0", None),
        ("i0 f1.0.0 i1.0.0 f2.0.0", "0.5.0", "2.0.0"), ("i0 f1.0.0 i1.5.0 f2.0.0", "1.6.0", "2.0.0"),
        ("i0 f1.0.0 i1.5.0 f2.0.0", "0.5.0", "1.0.0"),
    ],
)  # fmt: skip
def test_the_fix_is_the_lowest_release_that_is_free_of_the_advisory(events: str, version: str, fix: str | None) -> None:
    """A fixed version in which it was introduced anew is none; that there is none is an answer."""
    assert fixed_version(Package("npm", "p", version), [_affected(entry(events))]) == fix


VERSIONS = st.tuples(*[st.integers(0, 3)] * 3).map(lambda v: ".".join(map(str, v)))
RANGES = st.lists(st.tuples(st.sampled_from("iflm"), VERSIONS | st.just("0")), min_size=1, max_size=6)


@given(RANGES, VERSIONS)
def test_both_readings_of_an_advisory_agree(events: list[tuple[str, str]], version: str) -> None:
    """Events in any order and number, sensible or not: walked one by one, or paired to stretches."""
    one = entry(" ".join(kind + at for kind, at in events))
    package = Package("npm", "p", version)
    answer = judged(package, [_affected(one)])
    assert _falls_under(package, one) is (answer != "clean")
    fix = fixed_version(package, [_affected(one)])
    if fix is not None:
        assert tuple(map(int, fix.split("."))) > tuple(map(int, version.split(".")))
        assert judged(package._replace(version=fix), [_affected(one)]) == "clean"


TEXTS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=8))
def test_both_readers_of_package_locks_agree(packages: list[tuple[str, str]]) -> None:
    """Whatever stands in them: the standard library's parser, and DuckDB's."""
    text = package_lock(packages)
    assert set(_npm(text).packages) == npm_again(text)


NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)


@given(st.lists(st.tuples(NAMES, TEXTS), max_size=8))
def test_both_readers_of_uv_locks_agree(packages: list[tuple[str, str]]) -> None:
    """TOML, and lines."""
    text = uv_lock(packages)
    assert set(_uv(text).packages) == uv_again(text)


def test_the_example_has_310_packages_and_twelve_advisories() -> None:
    """As the story has it."""
    from assets.dependency_audit.world import advisories, npm_packages, python_packages

    assert (len(npm_packages()), len(python_packages()), len(advisories())) == (214, 96, 12)
    assert len(set(itertools.chain(npm_packages(), python_packages()))) == 310
    assert len(_npm(package_lock()).packages) == 214
