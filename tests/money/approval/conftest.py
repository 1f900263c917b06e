"""A month that waits, and the people who decide about it."""

from tests.support.approvals import office
from tests.support.flagship import endpoint, seeded

__all__ = ["endpoint", "office", "seeded"]
