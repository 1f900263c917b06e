"""A real S3 server over HTTP on the loopback interface, in a thread of this process. Its contents live in memory."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager
from threading import Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from dagster_planexec.errors import PlanexecError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

HOST = "127.0.0.1"
REGION = "us-east-1"
ACCESS_KEY = "local-demo"
SECRET_KEY = "local-demo"  # noqa: S105 - the server accepts any
CLIENT_TIMEOUT_S = 10.0


class LocalS3(AbstractContextManager["LocalS3"]):
    """Starts on entering the block and stops on leaving it.

    Buckets belong to the process, not to the server: they end with the process, and a second server in the same
    process shows the same ones.

    Args:
        port: A port to listen on; 0 takes a free one.
    """

    def __init__(self, port: int = 0) -> None:
        self._wanted = port
        self._server: Any = None
        self._thread: Thread | None = None
        self.port = 0

    @property
    def endpoint(self) -> str:
        """The URL that clients are given."""
        return f"http://{HOST}:{self.port}"

    def start(self) -> Self:
        """Listen, and return when the first request would be answered.

        Raises:
            PlanexecError: PORT_IN_USE if another program listens on the wanted port.
        """
        from moto.moto_server.werkzeug_app import (  # noqa: PLC0415 - half a second
            DomainDispatcherApplication,
            create_backend_app,
        )
        from werkzeug.serving import WSGIRequestHandler, make_server  # noqa: PLC0415 - comes with moto

        class Quiet(WSGIRequestHandler):
            """Answers as usual and does not write a line per request."""

            def log(self, *_: object) -> None:
                """Say nothing."""

        # Bound here and handed over: werkzeug ends the whole process if it finds the port taken.
        with _listening(self._wanted) as listening:
            self._server = make_server(
                HOST,
                listening.getsockname()[1],
                DomainDispatcherApplication(create_backend_app),
                threaded=True,
                request_handler=Quiet,
                fd=listening.fileno(),
            )
        self.port = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Stop listening. Stopping twice is stopping once."""
        if self._server is None or self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._server = None

    def __enter__(self) -> Self:
        """Start."""
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self.stop()


def client_for(endpoint: str) -> S3Client:
    """A client for the local server that makes every request once and waits for at most ten seconds."""
    from dagster_planexec.resources.s3_object_store import S3ObjectStoreResource  # noqa: PLC0415 - heavy

    return S3ObjectStoreResource(
        endpoint_url=endpoint,
        region_name=REGION,
        addressing_style="path",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        connect_timeout_s=CLIENT_TIMEOUT_S,
        read_timeout_s=CLIENT_TIMEOUT_S,
    ).get_client()


def _listening(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except (OSError, OverflowError) as error:
        listening.close()
        raise PlanexecError(
            "PORT_IN_USE",
            f"the local S3 server cannot listen on {HOST}:{port}: {error}",
            hint="choose another port, or 0 for any free one",
        ) from error
    return listening
