"""Journals of both kinds are shared with other rooms' tests."""

from tests.support.journals import backend, fresh, journal, place
from tests.support.postgres import postgres

__all__ = ["backend", "fresh", "journal", "place", "postgres"]
