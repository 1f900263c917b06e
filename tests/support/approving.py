"""Approvers with keys, for as long as a block lasts."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator

import pytest

from dagster_planexec.journal.money.approvals.keys import variable_of


@contextlib.contextmanager
def with_keys(*names: str) -> Iterator[dict[str, str]]:
    """Each has a key in the environment; the keys by name."""
    keys = {name: secrets.token_hex(32) for name in names}
    with pytest.MonkeyPatch.context() as patch:
        for name, key in keys.items():
            patch.setenv(variable_of(name), key)
        yield keys
