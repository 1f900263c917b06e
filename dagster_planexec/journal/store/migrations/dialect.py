"""Column types that mean the same in every database a journal can be in."""

from __future__ import annotations

import sqlalchemy as sa

TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
"""Text without a length, compared by its bytes: SQLite knows nothing else, Postgres has to be told."""
SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""Numbers that the database gives out. SQLite does so for `INTEGER` alone, which holds 64 bits there."""
