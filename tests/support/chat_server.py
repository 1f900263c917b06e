"""A real HTTP server on loopback that speaks the wire format of chat completions, well or badly."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[["Handler"], None]


@dataclass
class ChatServer:
    """Answers in the order of `script`, the last one for ever; keeps what arrived."""

    script: list[Respond]
    arrived: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    stopping: threading.Event = field(default_factory=threading.Event)

    def next(self) -> Respond:
        """What comes next."""
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]


class Handler(BaseHTTPRequestHandler):
    """One request."""

    chat: ChatServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.chat.arrived.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
        self.chat.next()(self)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""

    def send(self, status: int, body: bytes, **headers: str) -> None:
        """A whole response."""
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def chat_server(*script: Respond) -> Iterator[ChatServer]:
    """A running server."""
    chat = ChatServer(list(script))
    handler = type("Bound", (Handler,), {"chat": chat})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.block_on_close = False
    chat.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield chat
    finally:
        chat.stopping.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


def completion(content: Any, *, finish: str = "stop", refusal: str | None = None, **more: Any) -> dict[str, Any]:
    """A completion as the service writes it."""
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "model-x-2026-01-01",
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {"prompt_tokens": 1_000, "completion_tokens": 200, "total_tokens": 1_200}, **more,
    }  # fmt: skip


def says(body: Any, *, status: int = 200, **headers: str) -> Respond:
    """A response with this body: JSON, or bytes as they are."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda handler: handler.send(status, raw, **headers)


def answers(content: Any, **more: Any) -> Respond:
    """A completion with this text."""
    return says(completion(content, **more))


def fails(status: int, message: str = "it failed", *, code: str | None = None, **headers: str) -> Respond:
    """An error as the service writes it."""
    return says({"error": {"message": message, "type": "x", "code": code}}, status=status, **headers)


def never(handler: Handler) -> None:
    """No answer, for as long as anybody waits."""
    handler.chat.stopping.wait(30)


def trickles(handler: Handler) -> None:
    """A byte of the body now and then."""
    handler.send_response(200)
    handler.send_header("content-length", "1000000")
    handler.end_headers()
    _drip(handler, b" ")


def trickles_its_head(handler: Handler) -> None:
    """A byte of a header now and then."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nx-long: ")
    _drip(handler, b"x")


def _drip(handler: Handler, drop: bytes) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until and not handler.chat.stopping.wait(0.05):
        try:
            handler.wfile.write(drop)
            handler.wfile.flush()
        except OSError:
            return


def floods(handler: Handler, *, status: int = 200, megabytes: int = 100) -> None:
    """A body of 100 MB."""
    handler.send_response(status)
    handler.send_header("content-length", str(megabytes * 1_000_000))
    handler.end_headers()
    try:
        for _ in range(megabytes):
            handler.wfile.write(b" " * 1_000_000)
    except OSError:
        handler.close_connection = True


def hangs_up(handler: Handler) -> None:
    """Nothing, and the connection is gone."""
    handler.close_connection = True
    handler.connection.close()


def speaks_otherwise(handler: Handler) -> None:
    """What is no HTTP."""
    handler.wfile.write(b"220 mail.example ESMTP\r\n" * 3)
    handler.close_connection = True
