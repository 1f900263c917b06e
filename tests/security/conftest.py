"""Worlds that are attacked: a seeded flagship, with and without Dagster."""

from __future__ import annotations

from tests.support.flagship import endpoint, seeded
from tests.support.postgres import postgres
from tests.support.settled import place, s3_server

__all__ = ["endpoint", "place", "postgres", "s3_server", "seeded"]
