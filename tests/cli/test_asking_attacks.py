"""Files that are no answers, and answers that are no plans: `planexec plan --answer` says so, soon, in one document."""

from __future__ import annotations

import codecs
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli import test_asking
from tests.cli.test_asking import PERIOD, TASK, judge, strictly
from tests.support.planexec import planexec

plan, world = test_asking.plan, test_asking.world  # fixtures

DEEP = "[" * 10_000 + "]" * 10_000


def with_first_step(plan: Any, **changes: Any) -> Any:
    """The plan with a first step that is different."""
    return {**plan, "steps": [{**plan["steps"][0], **changes}, *plan["steps"][1:]]}


FILES = {
    "zeros": lambda p: b"\0" * 2_000_000,
    "10 MB": lambda p: json.dumps(p).encode() + b" " * 10_000_000,
    "UTF-16": lambda p: json.dumps(p).encode("utf-16"),
    "UTF-32": lambda p: json.dumps(p).encode("utf-32"),
    "empty": lambda p: b"",
    "BOM alone": lambda p: codecs.BOM_UTF8,
    "deep": lambda p: DEEP.encode(),
    "deep argument": lambda p: json.dumps(with_first_step(p, args={"x": None})).replace("null", DEEP, 1).encode(),
    "deep wrapped": lambda p: ('{"plan": ' * 10_000 + "1" + "}" * 10_000).encode(),
    "half character": lambda p: json.dumps({**p, "intent": "\ud800"}).encode(),
    "half character in an id": lambda p: json.dumps(with_first_step(p, id="\ud800x")).encode(),
    "half character in a key": lambda p: json.dumps(with_first_step(p, args={"\udfff": 1})).encode(),
    "half character in a new field": lambda p: json.dumps({**p, "\udfff": 1}).encode(),
    "escapes": lambda p: json.dumps(with_first_step(p, tool="\x1b[31m\x1b]0;x\x07" * 9)).encode(),
    "huge number": lambda p: json.dumps(with_first_step(p, args={"x": 7})).replace("7", "9" * 5_000).encode(),
    "NaN": lambda p: json.dumps(with_first_step(p, args={"x": float("nan")})).encode(),
    "bytes": lambda p: bytes(range(256)) * 100,
    "not UTF-8": lambda p: json.dumps({**p, "intent": "é"}, ensure_ascii=False).encode("latin-1"),
    "a list": lambda p: json.dumps([p]).encode(),
    "5,000 steps": lambda p: json.dumps({**p, "steps": [
        {"id": f"s{n}", "tool": "t", "args": {}} for n in range(5_000)]}).encode(),
    "5,001 steps": lambda p: json.dumps({**p, "steps": [
        {"id": f"s{n}", "tool": "t", "args": {}} for n in range(5_001)]}).encode(),
    "a fence never closed": lambda p: b"```json\n" * 100_000,
    "spaces": lambda p: b" " * 999_999,
    "almost a fence": lambda p: b"```" + b"a" * 900_000,
    "new lines": lambda p: b"```json\n" + b"\n\r\n" * 300_000,
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_no_good_answer_is_refused_soon(
    world: Any,
    plan: Any,
    tmp_path: Path,
    name: str,
) -> None:
    """One document, exit 5, a finding or a code; no traceback and no long wait."""
    began = time.monotonic()
    answer = judge(world, tmp_path / "answer.json", FILES[name](plan))

    assert time.monotonic() - began < 20
    assert answer.exit_code in {0, 5} if name == "not UTF-8" else answer.exit_code == 5, answer
    assert answer.document["status"] in {"rejected", "succeeded"}
    assert len(json.dumps(answer.document)) < 3_000_000
    assert "\x1b" not in json.dumps(answer.document, ensure_ascii=False)


def test_dev_zero_is_read_no_further_than_a_plan(world: Any) -> None:
    """A megabyte of it."""
    answer = planexec("plan", TASK, "--partition", PERIOD, "--home", world.home, "--answer", "/dev/zero")

    assert answer.exit_code == 5
    assert answer.document["code"] in {"ANSWER_INVALID", "PLAN_REJECTED"}


def test_a_byte_order_mark_is_no_fault(world: Any, plan: Any, tmp_path: Path) -> None:
    """Editors write it unasked."""
    answer = judge(world, tmp_path / "answer.json", codecs.BOM_UTF8 + strictly(plan).encode())

    assert answer.exit_code == 0


def test_a_pipe_with_a_name_is_read(world: Any, plan: Any, tmp_path: Path) -> None:
    """As a shell's `<(...)` gives it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(strictly(plan)), daemon=True)
    writer.start()
    answer = planexec("plan", TASK, "--partition", PERIOD, "--home", world.home, "--answer", pipe)
    writer.join(5)

    assert answer.exit_code == 0


@pytest.mark.parametrize("place", ["/", "/proc/self/mem", "/nowhere/at/all", "/dev/full"])
def test_what_cannot_be_read_is_said(world: Any, place: str) -> None:
    """A folder, memory, nothing, a device; each by its name."""
    answer = planexec("plan", TASK, "--partition", PERIOD, "--home", world.home, "--answer", place)

    assert answer.exit_code in {1, 2, 5}
    assert answer.document["code"]
    assert "answer  cannot" not in answer.document["text"]
