"""The world and the databases are shared with other rooms' tests."""

from tests.support.flagship import endpoint, seeded
from tests.support.journals import backend, fresh, journal, place
from tests.support.postgres import postgres

__all__ = ["backend", "endpoint", "fresh", "journal", "place", "postgres", "seeded"]
