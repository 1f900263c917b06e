"""A real S3 server on loopback (moto over HTTP), buckets in it, and a scripted server for what moto never answers."""

from __future__ import annotations

import http.client
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import pytest

from dagster_planexec.resources.s3_object_store import S3ObjectStore, S3ObjectStoreResource
from dagster_planexec.world.ports import Clock, ObjectStore, Ports, Roots

_numbers = itertools.count(1)


class WallClock(Clock):
    """The time it is."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def resource(endpoint: str, **changes: Any) -> S3ObjectStoreResource:
    """The S3 resource for a server on loopback."""
    options: dict[str, Any] = {
        "endpoint_url": endpoint,
        "region_name": "us-east-1",
        "addressing_style": "path",
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
        "connect_timeout_s": 2.0,
        "read_timeout_s": 10.0,
    }
    return S3ObjectStoreResource(**{**options, **changes})


def ports(objects: ObjectStore, folder: Path, clock: Clock | None = None) -> Ports:
    """Ports with an object store, a clock and roots; to use any other is an AttributeError."""
    roots = Roots(sql=folder / "sql", reports=folder / "reports", landing=folder / "landing")
    return Ports(objects=objects, warehouse=None, credits=None, clock=clock or WallClock(), roots=roots)  # type: ignore[arg-type]


@dataclass(frozen=True)
class S3Server:
    """A moto server in a thread of its own; it speaks HTTP and knows nothing of this project."""

    endpoint: str
    client: Any = field(repr=False)
    """One client for all tests: making one takes half a second."""

    def require_credentials(self) -> tuple[str, str]:
        """From now on signatures count. Makes a user who may do all, and gives the user's key and secret."""
        import boto3

        iam = boto3.client(
            "iam",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )
        user = f"user-{next(_numbers)}"
        iam.create_user(UserName=user)
        policy = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}'
        iam.put_user_policy(UserName=user, PolicyName="all", PolicyDocument=policy)
        key = iam.create_access_key(UserName=user)["AccessKey"]
        self._reset_auth("0")
        return key["AccessKeyId"], key["SecretAccessKey"]

    def forget_credentials(self) -> None:
        """Any key will do again."""
        self._reset_auth("inf")

    def _reset_auth(self, after: str) -> None:
        connection = http.client.HTTPConnection(urlsplit(self.endpoint).netloc, timeout=10)
        connection.request("POST", "/moto-api/reset-auth", after, {"Content-Type": "text/plain"})
        assert connection.getresponse().status == 200
        connection.close()


@dataclass(frozen=True)
class S3Bucket:
    """One fresh bucket, and a plain client that acts as the vendor, the lifecycle rule, or anybody who writes."""

    endpoint: str
    name: str
    client: Any = field(repr=False)

    def store(self, **changes: Any) -> S3ObjectStore:
        """The port on this server."""
        return resource(self.endpoint, **changes).port() if changes else S3ObjectStore(self.client)

    def put(self, key: str, body: bytes) -> str:
        """Upload in one piece; gives the ETag."""
        return str(self.client.put_object(Bucket=self.name, Key=key, Body=body)["ETag"]).strip('"')

    def put_in_one_part(self, key: str, body: bytes) -> str:
        """Upload as a multipart upload of one part: the same bytes get another ETag, which is given."""
        upload = self.client.create_multipart_upload(Bucket=self.name, Key=key)["UploadId"]
        part = self.client.upload_part(Bucket=self.name, Key=key, UploadId=upload, PartNumber=1, Body=body)
        done = self.client.complete_multipart_upload(
            Bucket=self.name,
            Key=key,
            UploadId=upload,
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
        )
        return str(done["ETag"]).strip('"')

    def delete(self, key: str) -> None:
        """Delete; in a versioned bucket this puts a delete marker on top."""
        self.client.delete_object(Bucket=self.name, Key=key)

    def keep_versions(self) -> None:
        """Turn versioning on."""
        self.client.put_bucket_versioning(Bucket=self.name, VersioningConfiguration={"Status": "Enabled"})


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One S3 server for all tests of a process."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    client = resource(endpoint).get_client()
    yield S3Server(endpoint, client)
    client.close()
    server.stop()


@pytest.fixture
def s3(s3_server: S3Server) -> S3Bucket:
    """A fresh, unversioned bucket."""
    name = f"bucket-{next(_numbers)}"
    s3_server.client.create_bucket(Bucket=name)
    return S3Bucket(s3_server.endpoint, name, s3_server.client)


@dataclass(frozen=True)
class Answer:
    """What the scripted server says to one request."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    announce: int | None = None
    """Content-Length, if it is to be another one than the body has."""
    pieces: int = 1
    """The body is sent in so many pieces, with `pause_s` before each."""
    pause_s: float = 0.0


def s3_error(status: int, code: str) -> Answer:
    """An error as S3 words it."""
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>secret text of the vendor</Message></Error>"
    return Answer(status, (("Content-Type", "application/xml"),), body.encode())


def an_object(body: bytes = b"a,b\n1,2\n", *, etag: str = "e1", **more: Any) -> Answer:
    """An object as S3 sends it."""
    headers = (("ETag", f'"{etag}"'), ("Last-Modified", "Sat, 07 Mar 2026 09:02:00 GMT"), *more.pop("headers", ()))
    return Answer(200, headers, body, **more)


class ScriptedS3:
    """A tiny HTTP server that answers each request by a function of method and path; it records what was asked."""

    def __init__(self, answer: Callable[[str, str], Answer]) -> None:
        self.requests: list[str] = []
        script = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                script.requests.append(f"{self.command} {self.path}")
                said = answer(self.command, self.path)
                length = len(said.body) if said.announce is None else said.announce
                if said.pieces == 1:
                    time.sleep(said.pause_s)
                try:
                    self.send_response(said.status)
                    for name, value in said.headers:
                        self.send_header(name, value)
                    self.send_header("Content-Length", str(length))
                    self.send_header("Connection", "close")
                    self.end_headers()
                    if self.command != "HEAD":
                        self._send(said)
                except OSError:
                    pass  # the reader has had enough
                self.close_connection = True

            do_HEAD = do_GET  # noqa: N815 - the name that http.server calls

            def _send(self, said: Answer) -> None:
                step = max(1, -(-len(said.body) // said.pieces))
                for start in range(0, len(said.body), step):
                    if said.pieces > 1:
                        time.sleep(said.pause_s)
                    self.wfile.write(said.body[start : start + step])

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
