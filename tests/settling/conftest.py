"""The world of the toy task is shared with other rooms' tests."""

from tests.support.settled import place, s3_server

__all__ = ["place", "s3_server"]
