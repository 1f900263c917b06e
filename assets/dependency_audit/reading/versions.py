"""Versions in the order of their ecosystem, by the library that knows it; what cannot be read has no order."""

from __future__ import annotations

from typing import Any


def rank(ecosystem: str, range_type: str, text: str) -> Any | None:  # noqa: ANN401 - what its library compares
    """Something that compares with the ranks of the same ecosystem; None if the text is no version of it.

    Args:
        ecosystem: As OSV has it: `npm`, `PyPI`.
        range_type: `SEMVER`, or `ECOSYSTEM` for the ecosystem's own order.
        text: A version.
    """
    if range_type == "SEMVER" or (range_type == "ECOSYSTEM" and ecosystem == "npm"):
        return _semantic(text)
    if range_type == "ECOSYSTEM" and ecosystem == "PyPI":
        return _python(text)
    return None


def _semantic(text: str) -> Any | None:  # noqa: ANN401 - as above
    from semver import Version  # noqa: PLC0415 - only an audit needs it

    try:
        return Version.parse(text)
    except (ValueError, TypeError):
        return None


def _python(text: str) -> Any | None:  # noqa: ANN401 - as above
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - as above

    try:
        return Version(text)
    except InvalidVersion:
        return None
