"""The bench is shared with other rooms' tests."""

from tests.support.bench import bench

__all__ = ["bench"]
