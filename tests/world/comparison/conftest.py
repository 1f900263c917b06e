"""A real Postgres beside DuckDB."""

from tests.support.postgres import postgres

__all__ = ["postgres"]
