"""Words that stand where a value should: placeholders, and prose instead of an identifier."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(
    r"""
    .*<[^<>]{1,60}>.*            # <bucket>
    | .*\{\{?[^{}]{0,60}\}?\}.*  # {period}, {{ period }}: nothing fills it in any more
    | .*\$\{?[A-Za-z_]\w*\}?.*   # $BUCKET, ${BUCKET}
    | \W*(?:tbd|tba|todo|fixme|xxx+|placeholder|unknown|unspecified|to\ be\ (?:defined|decided|determined))\b.*
    | (?:your|my|some|example)[-_\ ](?:bucket|key|file|table|schema|report|name|path|target|source)\b.*
    | \.{2,} | …+ | \?+ | -+ | n/a | none | null
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
_LONGEST_READ = 400
_SENTENCE = 4
"""Words from which a text without any path or name in it is prose."""


def is_placeholder(text: str) -> bool:
    """Whether a text only marks where a value is to come."""
    return _PLACEHOLDER.fullmatch(text[:_LONGEST_READ].strip()) is not None


def is_prose(text: str) -> bool:
    """Whether a text that should be one name is several words."""
    return len(text[:_LONGEST_READ].split()) > 1


def is_sentence(text: str) -> bool:
    """Whether a text is words for a reader rather than a value."""
    return len(text[:_LONGEST_READ].split()) >= _SENTENCE


def is_path_like(text: str) -> bool:
    """Whether a text with spaces may still be a key or a file: it has a folder or a suffix."""
    return "/" in text or re.search(r"\.[A-Za-z0-9]{1,6}\Z", text) is not None
