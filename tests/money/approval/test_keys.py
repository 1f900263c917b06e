"""The key file as people leave it: a folder, a last line without an end; and a variable that is no text."""

from __future__ import annotations

from pathlib import Path

import pytest

from dagster_planexec.errors import PlanexecError
from dagster_planexec.journal.money.approvals.keys import keys_for, new_key


def refused(call) -> tuple[str, str]:
    with pytest.raises(PlanexecError) as raised:
        call()
    return raised.value.code, raised.value.message


def test_a_key_file_that_is_a_folder_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads it and whoever would write into it; no handle of it stays open."""
    folder = tmp_path / "keys"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("PLANEXEC_APPROVAL_KEYS", str(folder))
    before = len([*Path("/proc/self/fd").iterdir()])

    assert refused(lambda: keys_for(("ada",))) == (
        "VALIDATION_ERROR",
        "the key file keys cannot be read: it is no file",
    )
    assert refused(lambda: new_key("grace"))[0] == "VALIDATION_ERROR"
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_key_of_bytes_that_are_no_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the environment; it is not told."""
    monkeypatch.setenv("PLANEXEC_APPROVAL_KEY_ADA", "\udcff" * 40)
    code, text = refused(lambda: keys_for(("ada",)))

    assert (code, "no UTF-8" in text, "\udcff" in text) == ("VALIDATION_ERROR", True, False)


@pytest.mark.parametrize("end", ["", "\n", "\n\n", "\r\n"], ids=["none", "one", "two", "dos"])
def test_a_new_key_begins_a_line_of_its_own(tmp_path: Path, end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also behind a line that somebody wrote without an end."""
    file = tmp_path / "own.keys"
    file.write_bytes(f"hedy {'h' * 40}{end}".encode())
    file.chmod(0o600)
    monkeypatch.setenv("PLANEXEC_APPROVAL_KEYS", str(file))
    key, _ = new_key("edith")
    found = keys_for(("hedy", "edith"))

    assert (found.key("hedy").text, found.key("edith").text) == ("h" * 40, key.text)
    assert file.read_bytes() == f"hedy {'h' * 40}{end or chr(10)}edith {key.text}\n".encode()
