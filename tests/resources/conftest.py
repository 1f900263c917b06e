"""The S3 server is shared with other rooms."""

from tests.support.s3 import s3, s3_server

__all__ = ["s3", "s3_server"]
