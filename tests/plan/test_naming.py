"""Names of ops: which words can be one, and what the others become."""

from __future__ import annotations

import keyword

import pytest
from dagster._core.definitions.utils import DISALLOWED_NAMES, VALID_NAME_REGEX
from hypothesis import given
from hypothesis import strategies as st

from dagster_planexec.plan.naming import LONGEST, RESERVED, names_apart, problem_of, suggestion


def test_reserved_words_are_those_of_dagster() -> None:
    """What Dagster refuses beside keywords, neither more nor less."""
    assert {word for word in DISALLOWED_NAMES if not keyword.iskeyword(word)} == RESERVED


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("fetch_export", "fetch_export"),
        ("9", "9"),
        ("step 1", "step_1"),
        ("a.b", "a_b"),
        ("Text-to-Speech", "Text_to_Speech"),
        ("class", "class_step"),
        ("type", "type_step"),
        ("", "step"),
        ("日本", "step"),
        ("é" * 300, "step"),
    ],
)
def test_a_word_becomes_the_nearest_name(word: str, name: str) -> None:
    """What can be a name stays as it is."""
    assert names_apart([word]) == {word: name}


def test_a_word_that_is_a_name_keeps_it_whatever_comes_before() -> None:
    """`step 1` makes room for `step_1`, and both for `step_1_2`."""
    words = ["step 1", "step-1", "step_1_2", "step_1", "step 1"]
    assert names_apart(words) == {
        "step 1": "step_1_3",
        "step-1": "step_1_4",
        "step_1_2": "step_1_2",
        "step_1": "step_1",
    }


def test_thousands_of_words_without_a_letter_get_names() -> None:
    """Each its own, in no more than a moment."""
    names = names_apart(["?" * n for n in range(1, 5001)], "tool")
    assert len(set(names.values())) == 5000
    assert names["?"] == "tool"


@given(
    st.lists(st.text(max_size=120) | st.sampled_from(["a b", "a_b", "a.b", "a_b_2", "class", "class_step", "step", ""]))
)
def test_names_are_apart_and_dagster_takes_them(words: list[str]) -> None:
    """One name for one word, no name for two, all of them accepted; the same words give the same names."""
    names = names_apart(words)

    assert set(names) == set(words)
    assert len(set(names.values())) == len(names)
    assert names == names_apart(list(words))
    for word, name in names.items():
        assert VALID_NAME_REGEX.match(name)
        assert name not in DISALLOWED_NAMES
        assert len(name) <= LONGEST
        assert problem_of(name) is None
        assert (name == word) is (problem_of(word) is None)
        assert problem_of(suggestion(word, "tool")) is None
