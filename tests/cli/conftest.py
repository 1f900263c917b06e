"""The world is shared with other rooms' tests."""

from tests.support.worlds import world

__all__ = ["world"]
