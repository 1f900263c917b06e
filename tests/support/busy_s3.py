"""An S3 endpoint in front of a real one, that at some moment asks for time, refuses a key, or falls silent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

REFUSALS = {
    "slow-down": (503, b"<Error><Code>SlowDown</Code></Error>"),
    "forbidden": (403, b"<Error><Code>AccessDenied</Code></Error>"),
    "failing": (500, b"<Error><Code>InternalError</Code></Error>"),
}
NOT_FORWARDED = {"connection", "transfer-encoding", "content-length", "host"}


@dataclass
class BusyS3:
    """What the endpoint does with reads of objects; everything else is passed on."""

    behind: str
    endpoint: str = ""
    reads: int = 0
    busy_reads: dict[int, dict[str, str]] = field(default_factory=dict)
    """Number of a read, from 1, to the headers of the 503 that it is answered with."""
    silent_reads: set[int] = field(default_factory=set)
    """Reads that are never answered while the server stands."""
    accepted_keys: set[str] | None = None
    """Access key ids that are taken; None takes all."""
    spoil: str | None = None
    """What becomes of every read: `slow-down`, `forbidden`, `failing`, `cut` in the middle, or `silent`."""
    methods: set[str] = field(default_factory=set)
    """Of all requests so far."""
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def is_read(self, method: str, path: str) -> bool:
        """Whether a request reads an object, and does not list or look."""
        split = urlsplit(path)
        return method == "GET" and split.path.strip("/").count("/") > 0 and "list-type" not in split.query


@contextmanager
def busy_s3(behind: str) -> Iterator[BusyS3]:
    """The endpoint, while the block lasts."""
    busy = BusyS3(behind)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            busy.methods.add(self.command)
            if busy.accepted_keys is not None and not self._key_is_known():
                self._answer(403, b"<Error><Code>InvalidAccessKeyId</Code><Message>no</Message></Error>")
                return
            if busy.is_read(self.command, self.path):
                with busy.lock:
                    busy.reads += 1
                    number = busy.reads
                if number in busy.silent_reads or busy.spoil == "silent":
                    busy.over.wait(60)
                    return
                if number in busy.busy_reads:
                    self._answer(503, b"<Error><Code>SlowDown</Code></Error>", busy.busy_reads[number])
                    return
                if busy.spoil in REFUSALS:
                    self._answer(*REFUSALS[busy.spoil])
                    return
            self._forward(body)

        def _key_is_known(self) -> bool:
            said = self.headers.get("authorization") or ""
            return any(f"Credential={key}/" in said for key in busy.accepted_keys or ())

        def _forward(self, body: bytes) -> None:
            to = urlsplit(busy.behind)
            connection = HTTPConnection(to.hostname or "", to.port, timeout=60)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in NOT_FORWARDED}
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            content = answer.read()
            kept = {k: v for k, v in answer.getheaders() if k.lower() not in NOT_FORWARDED}
            length = answer.getheader("content-length") if self.command == "HEAD" else None
            if busy.spoil == "cut" and busy.is_read(self.command, self.path):
                length, content = str(len(content)), content[: len(content) // 2]
                self.close_connection = True
            self._answer(answer.status, content, kept, length=length)
            connection.close()

        def _answer(
            self, status: int, content: bytes, headers: dict[str, str] | None = None, *, length: str | None = None
        ) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("content-length", length or str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do  # noqa: N815 - names of the standard library

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # type: ignore[method-assign] - a reader that has had enough is no news
    threading.Thread(target=server.serve_forever, daemon=True).start()
    busy.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield busy
    finally:
        busy.over.set()
        server.shutdown()
        server.server_close()
