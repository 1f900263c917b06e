"""What an S3 store can answer, as the project's codes: one table, and the sentence that goes with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import MappingProxyType

from botocore import exceptions as boto
from botocore.parsers import ResponseParserError
from urllib3 import exceptions as urllib3

from dagster_planexec.errors import PortError

Answer = str | int | type[Exception]

ANSWERS: Mapping[Answer, str] = MappingProxyType(
    {
        # The store's own error code says most.
        "NoSuchKey": "OBJECT_GONE",
        "NoSuchVersion": "OBJECT_GONE",
        "NoSuchBucket": "BUCKET_GONE",
        "PermanentRedirect": "BUCKET_GONE",  # it lives in another region, behind another endpoint
        "PreconditionFailed": "OBJECT_CHANGED",
        "InvalidAccessKeyId": "AUTH_FAILED",
        "SignatureDoesNotMatch": "AUTH_FAILED",
        "ExpiredToken": "AUTH_FAILED",
        "InvalidToken": "AUTH_FAILED",
        "TokenRefreshRequired": "AUTH_FAILED",
        "RequestTimeTooSkewed": "AUTH_FAILED",
        "AuthorizationHeaderMalformed": "AUTH_FAILED",
        "AccessDenied": "FORBIDDEN",
        "AllAccessDisabled": "FORBIDDEN",
        "InvalidObjectState": "OBJECT_ARCHIVED",  # a HEAD answers, a GET does not
        "SlowDown": "THROTTLED",
        "RequestLimitExceeded": "THROTTLED",
        "Throttling": "THROTTLED",
        "ThrottlingException": "THROTTLED",
        "TooManyRequests": "THROTTLED",
        "RequestTimeout": "TIMEOUT",
        "InvalidBucketName": "VALIDATION_ERROR",
        "KeyTooLongError": "VALIDATION_ERROR",
        # A HEAD has no body, so only the status is left; so does a proxy in between.
        401: "AUTH_FAILED",
        403: "FORBIDDEN",
        404: "OBJECT_GONE",
        408: "TIMEOUT",
        412: "OBJECT_CHANGED",
        429: "THROTTLED",
        # No answer at all. The nearest class of an exception's ancestry decides.
        boto.NoCredentialsError: "AUTH_FAILED",
        boto.PartialCredentialsError: "AUTH_FAILED",
        boto.CredentialRetrievalError: "AUTH_FAILED",
        boto.TokenRetrievalError: "AUTH_FAILED",
        boto.UnauthorizedSSOTokenError: "AUTH_FAILED",
        boto.ParamValidationError: "VALIDATION_ERROR",
        boto.ConnectTimeoutError: "TIMEOUT",
        boto.ReadTimeoutError: "TIMEOUT",
        boto.IncompleteReadError: "TRUNCATED_STREAM",
        boto.HTTPClientError: "UNAVAILABLE",  # refused, reset, unknown host, TLS
        boto.ConnectionError: "UNAVAILABLE",
        ResponseParserError: "UNAVAILABLE",  # an answer that is not S3's, as of a proxy
        urllib3.TimeoutError: "TIMEOUT",
        urllib3.IncompleteRead: "TRUNCATED_STREAM",
        urllib3.HTTPError: "UNAVAILABLE",
    }
)

FOREIGN: tuple[type[Exception], ...] = (
    boto.ClientError,
    boto.BotoCoreError,
    ResponseParserError,
    urllib3.HTTPError,
)
"""All that the client raises. Nothing else is caught: a fault of this project is not one of the store."""

HINTS: Mapping[str, str] = MappingProxyType(
    {
        "BUCKET_GONE": "check the bucket's name, the endpoint and the region",
        "AUTH_FAILED": "check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN "
        "in the worker's environment, and its clock",
        "FORBIDDEN": "allow s3:GetObject on the object and s3:ListBucket on the bucket; "
        "without the latter an absent object also answers 403",
        "OBJECT_ARCHIVED": "restore the object from its archive (s3:RestoreObject), or ask the vendor to deliver "
        "it again; then run the period again",
        "UNAVAILABLE": "check that the endpoint is up and can be reached from the worker",
        "TIMEOUT": "look at the endpoint; the S3 resource sets connect_timeout_s and read_timeout_s",
        "TRUNCATED_STREAM": "run again; if it recurs, ask the vendor to deliver the file again",
    }
)

_SERVER_ERROR = 500


def code_of(error: Exception) -> str:
    """The project's code for what the client raised; INTERNAL for what nobody foresaw."""
    if isinstance(error, boto.ClientError):
        status = status_of(error)
        return (
            ANSWERS.get(vendor_code_of(error))
            or ANSWERS.get(status)
            or ("UNAVAILABLE" if status >= _SERVER_ERROR else "INTERNAL")
        )
    return next((ANSWERS[kind] for kind in type(error).__mro__ if kind in ANSWERS), "INTERNAL")


def vendor_code_of(error: boto.ClientError) -> str:
    """`NoSuchKey`, `SlowDown`, ...; for an answer without a body the status as text."""
    return str(error.response.get("Error", {}).get("Code", ""))[:60]


def status_of(error: boto.ClientError) -> int:
    """The HTTP status of an answer; 0 if the client does not say."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def port_error(error: Exception, doing: str) -> PortError:
    """The error as this project says it. The vendor's own text is left out: it may quote what was sent."""
    code = code_of(error)
    if isinstance(error, boto.ClientError):
        seen = f"the store answered {status_of(error)} {vendor_code_of(error)!r}"
    else:
        seen = f"no answer ({type(error).__name__})"
    return PortError(code, f"{doing}: {seen}", hint=HINTS.get(code, ""), retry_after_s=_stated_delay(error))


def _stated_delay(error: Exception) -> float | None:
    """What the answer's `Retry-After` says, as seconds from now; None if it says nothing that can be read."""
    if not isinstance(error, boto.ClientError):
        return None
    headers = error.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return parse_retry_after(headers.get("retry-after"), datetime.now(UTC))


def parse_retry_after(header: str | None, now: datetime) -> float | None:
    """`Retry-After: 120` or `Retry-After: Fri, 25 Dec 2026 00:00:00 GMT` as seconds from now, never below 0."""
    text = (header or "").strip()[:40]
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, (at - now).total_seconds()) if at.tzinfo is not None else None


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what the client raises inside the block into a PortError that says what was being done."""
    try:
        yield
    except FOREIGN as error:
        raise port_error(error, doing) from None  # the cause would carry headers and URLs into logs
