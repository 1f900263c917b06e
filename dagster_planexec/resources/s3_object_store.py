"""Objects behind any endpoint that speaks S3: the port on a boto3 client, and the Dagster resource for it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import boto3
import botocore.session
from botocore import UNSIGNED
from botocore.config import Config
from botocore.exceptions import ClientError
from botocore.loaders import Loader, create_loader
from dagster_aws.s3 import S3Resource
from pydantic import Field

from dagster_planexec.errors import PortError
from dagster_planexec.resources.s3_errors import FOREIGN, HINTS, code_of, port_error, status_of, translated
from dagster_planexec.world.ports import ObjectFacts, ObjectStore, ObjectStream

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client
    from mypy_boto3_s3.type_defs import GetObjectOutputTypeDef, HeadObjectOutputTypeDef, ObjectVersionTypeDef

_CHUNK = 1 << 18
_VERSIONS_LOOKED_AT = 20
_BODYLESS = frozenset({400, 401, 403})
"""Statuses of a HEAD that hide whether the credentials or a permission is at fault."""
_TOLD_BY_A_BODY = frozenset({"AUTH_FAILED", "BUCKET_GONE"})
_EXPIRATION = re.compile(r'expiry-date="([A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)"')
_SECRET: dict[str, Any] = {"dagster__is_secret": True}


class S3ObjectStore(ObjectStore):
    """The object port on a boto3 client. The client must not retry: that is decided elsewhere.

    Args:
        client: An S3 client whose deadlines are set, e.g. of `S3ObjectStoreResource.get_client`.
        page_size: Keys asked for in one LIST call.
        again: Makes another client, from what the environment and the credential chain hold by then.
    """

    def __init__(self, client: S3Client, *, page_size: int = 1000, again: Callable[[], S3Client] | None = None) -> None:
        self._client = client
        self._page_size = page_size
        self._again = again

    @property
    def can_refresh(self) -> bool:
        """Whether it knows how to make another client."""
        return self._again is not None

    def refresh_credentials(self) -> None:
        """Make another client: a boto3 session keeps what it has read of profiles and of the environment."""
        if self._again is not None:
            self._client = self._again()

    def remade_by(self, again: Callable[[], ObjectStore]) -> None:
        """Take the client of a store that was set up anew, with every `EnvVar` read again."""

        def client() -> S3Client:
            fresh = again()
            return fresh._client if isinstance(fresh, S3ObjectStore) else self._client  # noqa: SLF001 - its own class

        self._again = client

    def head(self, bucket: str, key: str) -> ObjectFacts | None:
        """The newest version, or None. Where there is none, a second call tells an absent bucket from a key."""
        doing = self._doing("HEAD", bucket, key)
        try:
            found = self._client.head_object(Bucket=bucket, Key=key)
        except FOREIGN as error:
            if code_of(error) == "OBJECT_GONE":
                self._require_bucket(bucket)
                return None
            raise self._with_body(error, bucket, key, doing) from None
        return _facts(bucket, key, found)

    def list(self, bucket: str, prefix: str) -> Iterator[ObjectFacts]:
        """Every object under a prefix. botocore has keys URL-encoded and decodes them: any key survives XML."""
        return self.list_after(bucket, prefix, "")

    def list_after(self, bucket: str, prefix: str, after: str) -> Iterator[ObjectFacts]:
        """`list` from the first key behind `after` on; the store itself begins there."""
        begin = {"StartAfter": after} if after else {}
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=bucket,
            Prefix=prefix,
            PaginationConfig={"PageSize": self._page_size},
            **begin,  # type: ignore[arg-type]
        )
        doing = self._doing("LIST", bucket, f"{prefix}*")
        with translated(doing):
            for page in pages:
                if "IsTruncated" not in page:
                    # As of a proxy that asks for a login: botocore reads any XML as a listing of nothing.
                    raise PortError("UNAVAILABLE", f"{doing}: the answer is no listing", hint=HINTS["UNAVAILABLE"])
                for found in page.get("Contents", ()):
                    yield ObjectFacts(
                        bucket, found["Key"], found["Size"], found["ETag"].strip('"'), found["LastModified"]
                    )

    def open(self, bucket: str, key: str, *, if_match: str | None = None) -> ObjectStream:
        """Start reading. The entity tag travels with the request: check and use are one instant."""
        doing = self._doing("GET", bucket, key)
        condition = {} if if_match is None else {"IfMatch": f'"{if_match}"'}
        try:
            found = self._client.get_object(Bucket=bucket, Key=key, **condition)  # type: ignore[arg-type]
        except FOREIGN as error:
            code = code_of(error)
            if code == "OBJECT_GONE":
                older = self.older_version(bucket, key)
                raise PortError(
                    code,
                    f"{doing}: there is no such object" + (f"; an older version is kept: {older}" if older else ""),
                    hint="ask the vendor to deliver it again" + (", or restore the older version" if older else ""),
                ) from None
            if code == "OBJECT_CHANGED":
                raise PortError(code, f"{doing}: expected ETag {if_match}, and the object has another one") from None
            raise port_error(error, doing) from None
        return _S3Stream(_facts(bucket, key, found), found, doing)

    def older_version(self, bucket: str, key: str) -> str | None:
        """The newest version below a delete marker. None if there is none, or if asking is not permitted."""
        return next((str(found["VersionId"]) for found in self._history(bucket, key)), None)

    def versions(self, bucket: str, key: str) -> tuple[ObjectFacts, ...]:
        """The newest versions. None in a bucket that keeps none: there the one that lies there has the id `null`."""
        found = self._history(bucket, key)
        if not found or found[0]["VersionId"] == "null":
            return ()
        return tuple(
            ObjectFacts(bucket, key, v["Size"], v["ETag"].strip('"'), v["LastModified"], v["VersionId"]) for v in found
        )

    def _history(self, bucket: str, key: str) -> Sequence[ObjectVersionTypeDef]:
        try:
            found = self._client.list_object_versions(Bucket=bucket, Prefix=key, MaxKeys=_VERSIONS_LOOKED_AT)
        except FOREIGN:
            return ()  # it only helps a person, and asking may not be permitted
        # Versions come newest first, and a key comes before the keys it is a prefix of. One from before
        # versioning was turned on has the id `null`, and can be restored by it.
        return [version for version in found.get("Versions", ()) if version["Key"] == key]

    def _require_bucket(self, bucket: str) -> None:
        doing = self._doing("HEAD", bucket)
        try:
            self._client.head_bucket(Bucket=bucket)
        except FOREIGN as error:
            if isinstance(error, ClientError) and status_of(error) == 403:  # noqa: PLR2004 - it exists, and that was asked
                return
            if code_of(error) == "OBJECT_GONE":
                raise PortError(
                    "BUCKET_GONE",
                    f"{doing}: there is no such bucket",
                    hint="check the bucket's name, the endpoint and the region",
                ) from None
            raise port_error(error, doing) from None

    def _with_body(self, error: Exception, bucket: str, key: str, doing: str) -> PortError:
        """The error of a HEAD, which has no body, asked again as a LIST, which has one."""
        if isinstance(error, ClientError) and status_of(error) in _BODYLESS:
            try:
                self._client.list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1)
            except FOREIGN as second:
                if code_of(second) in _TOLD_BY_A_BODY:
                    return port_error(second, doing)
        return port_error(error, doing)

    def _doing(self, verb: str, bucket: str, key: str | None = None) -> str:
        at = urlsplit(self._client.meta.endpoint_url)  # without user and password, should somebody have put them there
        where = f"{at.hostname}:{at.port}" if at.port else f"{at.hostname}"
        name = bucket[:80] if key is None else f"{bucket[:80]}/{key[:160]}"
        return f"{verb} {name!r} at {where}"


class _S3Stream(ObjectStream):
    """A GET on its way. A chunk is what has arrived: a slow sender does not hold up a deadline."""

    def __init__(self, facts: ObjectFacts, found: GetObjectOutputTypeDef, doing: str) -> None:
        self.facts = facts
        # The response below botocore's wrapper, which it hands out for `with`: only that one can say
        # what has arrived (`read1`) instead of waiting until so many bytes have.
        self._raw: Any = found["Body"].__enter__()
        self._doing = doing

    def __iter__(self) -> Iterator[bytes]:
        received = 0
        with translated(self._doing):
            while chunk := self._raw.read1(_CHUNK):
                received += len(chunk)
                yield chunk
        if received != self.facts.size:
            raise PortError(
                "TRUNCATED_STREAM",
                f"{self._doing}: expected {self.facts.size} bytes (Content-Length), saw {received}",
                hint="run again; if it recurs, ask the vendor to deliver the file again",
            )

    def __exit__(self, *_: object) -> None:
        self._raw.close()


class S3ObjectStoreResource(S3Resource):
    """`dagster_aws.s3.S3Resource` with deadlines and without retries.

    Credentials come from the worker's environment, or from `EnvVar`s given here; their values never show.
    """

    # Retries are decided by rules and written down; a client that retries would hide them.
    max_attempts: int = Field(default=1, ge=1, description="Calls of the client in all, the first included.")
    connect_timeout_s: float = Field(default=5.0, gt=0, description="Seconds until a connection must stand.")
    read_timeout_s: float = Field(default=30.0, gt=0, description="Seconds of silence until a call has timed out.")
    addressing_style: Literal["auto", "path", "virtual"] = Field(
        default="auto", description="`path` for servers that do not answer to `<bucket>.<host>`."
    )
    aws_access_key_id: str | None = Field(
        default=None, description="Access key id; give an EnvVar.", json_schema_extra=_SECRET
    )
    aws_secret_access_key: str | None = Field(
        default=None, description="Secret access key; give an EnvVar.", json_schema_extra=_SECRET
    )
    aws_session_token: str | None = Field(
        default=None, description="Session token; give an EnvVar.", json_schema_extra=_SECRET
    )

    def get_client(self) -> S3Client:
        """A boto3 client. The parent's Config has room for neither deadlines nor an addressing style."""
        config = Config(
            connect_timeout=self.connect_timeout_s,
            read_timeout=self.read_timeout_s,
            retries={"total_max_attempts": self.max_attempts, "mode": "standard"},
            s3={"addressing_style": self.addressing_style},
            signature_version=UNSIGNED if self.use_unsigned_session else None,
            # Objects are read through SHA-256 here; botocore's own check sees only whole reads.
            response_checksum_validation="when_required",
        )
        try:
            core = botocore.session.Session(profile=self.profile_name)
            core.register_component("data_loader", _models(core.get_config_variable("data_path")))
            client: S3Client = boto3.session.Session(botocore_session=core).client(
                "s3",
                region_name=self.region_name,
                endpoint_url=self.endpoint_url,
                use_ssl=self.use_ssl,
                verify=self.verify,
                aws_access_key_id=self.aws_access_key_id,
                aws_secret_access_key=self.aws_secret_access_key,
                aws_session_token=self.aws_session_token,
                config=config,
            )
            return client
        except FOREIGN as error:
            raise port_error(error, "setting up the S3 client") from None
        except ValueError:
            # botocore quotes the URL, in which somebody may have put a password.
            raise PortError(
                "VALIDATION_ERROR",
                "setting up the S3 client: endpoint_url is not a URL",
                hint="give it as https://host or http://host:port",
            ) from None

    def port(self) -> S3ObjectStore:
        """The object port on a new client, which it can replace by another that knows newer credentials."""
        return S3ObjectStore(self.get_client(), again=self.get_client)


@cache
def _models(folder: str | None) -> Loader:
    """What botocore reads of an installation, and parses: 60 ms for S3. Credentials and settings are the session's."""
    return _Models(create_loader(folder).search_paths, include_default_search_paths=False)


class _Models(Loader):
    """A loader that several sessions share."""

    @property
    def search_paths(self) -> list[str]:
        """The caller's own list: every boto3 session adds one folder to it, which S3 has no use for."""
        return list(super().search_paths)


def _facts(bucket: str, key: str, found: HeadObjectOutputTypeDef | GetObjectOutputTypeDef) -> ObjectFacts:
    version = found.get("VersionId")
    return ObjectFacts(
        bucket,
        key,
        found["ContentLength"],
        found["ETag"].strip('"'),
        found["LastModified"],
        None if version in (None, "null") else version,
        parse_expiration(found.get("Expiration")),
    )


def parse_expiration(header: str | None) -> datetime | None:
    """The date in `x-amz-expiration: expiry-date="Fri, 23 Dec 2026 00:00:00 GMT", rule-id="..."`.

    Raises:
        PortError: INTERNAL if there is such a header and it does not announce a date in that form.
    """
    if not header:
        return None
    found = _EXPIRATION.search(header)
    try:
        if found is None:
            raise ValueError  # noqa: TRY301 - one message for both
        return parsedate_to_datetime(found[1])
    except ValueError:
        raise PortError(
            "INTERNAL",
            f"the store announces an expiry that cannot be read: {header[:80]!r}",
            hint='expected expiry-date="Fri, 25 Dec 2026 00:00:00 GMT" in x-amz-expiration',
        ) from None
