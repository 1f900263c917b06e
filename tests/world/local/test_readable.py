"""Files below one root: reached by a plain path and through no link, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagster_planexec.errors import PortError
from dagster_planexec.world.local.readable import LINK, digests_under, inside, read_file


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a file in a folder, and a secret beside the root."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "root" / "a" / "b.txt").write_text("b")
    return tmp_path / "root"


def test_a_file_is_read_by_its_path_below_the_root(root: Path) -> None:
    """Folders and file with a slash between them."""
    assert read_file(root, "a/b.txt") == b"b"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("../secret.txt", "VALIDATION_ERROR"), ("a/../../secret.txt", "VALIDATION_ERROR"),
        ("/etc/passwd", "VALIDATION_ERROR"),
        ("", "VALIDATION_ERROR"), (".", "VALIDATION_ERROR"),
        ("a//b.txt", "VALIDATION_ERROR"), ("a\\b", "VALIDATION_ERROR"),
        ("a/b.txt\x00", "VALIDATION_ERROR"), ("a/\n", "VALIDATION_ERROR"), ("a", "VALIDATION_ERROR"),
        ("gone.txt", "FILE_GONE"), ("a/b.txt/c", "FILE_GONE"), ("x" * 5_000, "VALIDATION_ERROR"),
    ],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_refused(root: Path, name: str, code: str) -> None:
    """With a bounded text."""
    with pytest.raises(PortError) as caught:
        read_file(root, name)
    assert caught.value.code in {code, "UNAVAILABLE"}
    assert len(str(caught.value.message)) < 400


@pytest.mark.parametrize("kind", ["file", "folder", "inside"])
def test_no_link_is_followed(root: Path, kind: str) -> None:
    """Neither out of the root nor within it: what a link leads to may be exchanged."""
    target = {"file": root.parent / "secret.txt", "folder": root.parent, "inside": root / "a" / "b.txt"}[kind]
    (root / "link").symlink_to(target)
    name = "link/secret.txt" if kind == "folder" else "link"
    with pytest.raises(PortError) as caught:
        read_file(root, name)
    assert caught.value.code == "FORBIDDEN"
    assert digests_under(root, "a") == {"a/b.txt": digests_under(root, "a")["a/b.txt"]}
    (root / "a" / "link").symlink_to(target)
    assert digests_under(root, "a")["a/link"] == LINK


def test_a_pipe_is_no_file(root: Path) -> None:
    """Reading one would wait for ever."""
    os.mkfifo(root / "pipe")
    with pytest.raises(PortError) as caught:
        read_file(root, "pipe")
    assert caught.value.code == "VALIDATION_ERROR"


def test_more_than_the_most_is_not_read(root: Path) -> None:
    """The bound counts, not what the file says of itself."""
    (root / "big").write_bytes(b"x" * 11)
    assert len(read_file(root, "big", most=11)) == 11
    with pytest.raises(PortError) as caught:
        read_file(root, "big", most=10)
    assert caught.value.code == "VALIDATION_ERROR"


def test_without_a_root_there_are_no_files() -> None:
    """And the hint says what to give."""
    with pytest.raises(PortError) as caught:
        inside(None, "a")
    assert (caught.value.code, "files" in caught.value.hint) == ("BAD_CONTRACT", True)


def test_a_folder_is_a_set_of_digests(root: Path) -> None:
    """Patterns choose by name; a folder that is not there is none, and not an empty one."""
    (root / "a" / "c").mkdir()
    (root / "a" / "c" / "d.json").write_text("{}")
    assert set(digests_under(root, "a") or {}) == {"a/b.txt", "a/c/d.json"}
    assert set(digests_under(root, "a", ("*.json",)) or {}) == {"a/c/d.json"}
    assert digests_under(root, "nowhere") is None


@given(st.text(max_size=40))
def test_whatever_the_name_nothing_outside_is_reached(tmp_path_factory, name: str) -> None:
    """Any text is a path below the root, or refused."""
    root = tmp_path_factory.getbasetemp() / "root"
    root.mkdir(exist_ok=True)
    try:
        found = inside(root, name)
    except PortError:
        return
    assert found.resolve().is_relative_to(root.resolve())
    assert found != root
