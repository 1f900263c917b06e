"""YAML of contracts and specifications: read to the letter, refused with BAD_CONTRACT, and never without an end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dagster_planexec.cli.trying.sides import load_try_spec
from dagster_planexec.contract.file.reading import MOST_BYTES, read_yaml
from dagster_planexec.contract.file_contract import FileContract, load_contract
from dagster_planexec.contract.reconcile.spec import load_spec
from dagster_planexec.errors import PlanexecError

GOOD = """\
name: c
version: "1"
columns:
  - {name: id, type: text}
  - {name: amount, type: decimal, WORD}
key: [id]
amount: amount
date: null
currency: USD
"""
LAUGHS = ", ".join(f"&a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 8))
COLUMN = {
    "yes is no number": ("minor_units: yes", "columns.1.minor_units: Input should be a valid integer"),
    "on is no number": ("scale: on", "columns.1.scale: Input should be a valid integer"),
    "text is no number": ('scale: "2"', "columns.1.scale: Input should be a valid integer"),
    "a fraction is no integer": ("scale: 2.0", "columns.1.scale: Input should be a valid integer"),
    "text is no truth": ('exponent: "yes"', "columns.1.exponent: Input should be a valid boolean"),
    "a number is no truth": ("exponent: 1", "columns.1.exponent: Input should be a valid boolean"),
    "null is no word": ("nulls: [NULL]", "columns.1.nulls.0: Input should be a valid string"),
    "a number is no word": ("headers: [2026]", "columns.1.headers.0: Input should be a valid string"),
    "one word is no list": ("headers: Amount", "columns.1.headers: Input should be a valid array"),
    "twice, inside": ("scale: 2, scale: 3", "'scale' stands there twice"),
}
WHOLE = {
    "text is no truth": ('header: "off"', "header: Input should be a valid boolean"),
    "octal": ("max_bytes: 0100", "'0100' is no decimal integer"),
    "hexadecimal": ("max_bytes: 0x40", "'0x40' is no decimal integer"),
    "underscores": ("max_bytes: 1_000", "'1_000' is no decimal integer"),
    "base sixty": ("max_bytes: 1:30", "'1:30' is no decimal integer"),
    "five thousand digits": (f"max_bytes: {'9' * 5000}", "is no decimal integer of up to 18 digits"),
    "twice": ("min_rows: 1\nmin_rows: 2", "'min_rows' stands there twice"),
    "no day": ("window: 2026-99-99", "'2026-99-99' is a date; write it in quotes"),
    "a day": ("encoding: 2026-03-01", "'2026-03-01' is a date; write it in quotes"),
    "no timestamp": ("encoding: !!timestamp foo", "'foo' is a date; write it in quotes"),
    "no integer": ("min_rows: !!int foo", "'foo' is no decimal integer"),
    "no fraction": ("min_rows: !!float foo", "'foo' is no number"),
    "no truth": ("header: !!bool foo", "'foo' is neither true nor false"),
    "no null": ("sheet: !!null [a]", "expected a scalar node"),
    "no mapping": ("window: !!map foo", "is no mapping"),
    "a set": ("nulls: !!set {a}", "write it in quotes"),
    "bytes": ("sheet: !!binary YQ==", "write it in quotes"),
    "an object": ("sheet: !!python/object/apply:os.system [ls]", "write it in quotes"),
    "an equals sign": ("delimiter: =", "write it in quotes"),
    "endless": ("min_rows: .inf", "is no number"),
    "half a character": ('sheet: "\\ud800"', "sheet: '\\ud800' holds half a character"),
    "a key that is no text": ("currencies: {NO: 2}", "'NO' before a colon is not text"),
    "a key that is a list": ("? [a]\n: 1", "before a colon is not text"),
    "a merge": ("window: {<<: {days_before: 1}}", "'<<' before a colon is not text"),
    "no character": ('sheet: "\\UFFFFFFFF"', "c.yaml: "),
    "an alias of itself": ("nulls: &a [*a]", "recursive"),
    "laughs": (f"nulls: [&a0 [x], {LAUGHS}]", "its aliases or its nesting"),
    "two documents": ("---\nname: d", "expected a single document"),
    "too long": (f"# {'x' * MOST_BYTES}", "more than 262,144 bytes"),
    "no text": ("\0", "special characters"),
}  # fmt: skip
MISTAKES = [(GOOD.replace("WORD", word), says) for word, says in COLUMN.values()] + [
    (GOOD.replace(", WORD", "") + word, says) for word, says in WHOLE.values()
]


def refused(act, path: Path) -> str:
    """What a file is refused with."""
    with pytest.raises(PlanexecError) as error:
        act(path)
    assert error.value.code == "BAD_CONTRACT"
    assert error.value.message.startswith(f"{path.name}: ")
    assert len(error.value.message) < 3_000
    return error.value.message


@pytest.mark.parametrize(("text", "says"), MISTAKES, ids=[*COLUMN, *WHOLE])
def test_no_word_is_changed_into_another(tmp_path: Path, text: str, says: str) -> None:
    """BAD_CONTRACT, with file, field and what stands there."""
    path = tmp_path / "c.yaml"
    path.write_text(text, encoding="utf-8")

    assert says in refused(load_contract, path)


def test_what_the_mistakes_are_made_of_is_right(tmp_path: Path) -> None:
    """Anchors as well, as long as nothing is said twice."""
    path = tmp_path / "c.yaml"
    path.write_text(
        GOOD.replace("WORD", "scale: 3, exponent: true")
        + "nulls: &n [n/a]\nmembers: *n\nmax_bytes: 100\nheader: yes\n",
        encoding="utf-8",
    )
    found = load_contract(path)

    assert (found.columns[1].scale, found.columns[1].exponent, found.members) == (3, True, ("n/a",))


@pytest.mark.parametrize(
    ("load", "text", "says"),
    [
        (load_spec, "tolerance: {last_digit: yes}", "tolerance.last_digit: Input should be a valid integer"),
        (load_spec, "match: multiset\nmatch: one-to-one", "'match' stands there twice"),
        (load_spec, "period: 2026-03-01", "is a date; write it in quotes"),
        (load_try_spec, "vendor: 1\nledger: b", "vendor: Input should be a valid string"),
        (load_try_spec, "vendor: a\nvendor: b\nledger: c", "'vendor' stands there twice"),
        (load_try_spec, "[]", "spec: Input should be an object"),
        (load_try_spec, "vendor: !!timestamp foo\nledger: b", "is a date; write it in quotes"),
    ],
)
def test_specifications_are_read_alike(tmp_path: Path, load, text: str, says: str) -> None:
    """By the same reader."""
    path = tmp_path / "spec.yaml"
    path.write_text(text)

    assert says in refused(load, path)


def test_a_pipe_that_says_nothing_is_no_contract(tmp_path: Path) -> None:
    """It ends, and so does a folder."""
    os.mkfifo(tmp_path / "pipe.yaml")

    def read(path: Path) -> FileContract:
        return read_yaml(path, FileContract, whole="contract", page="docs/contracts.md", patience_s=0.05)

    assert "nothing came through it" in refused(read, tmp_path / "pipe.yaml")
    assert "Is a directory" in refused(load_contract, tmp_path)
