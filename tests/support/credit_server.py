"""A small real credit API, as docs/credit-api.md describes it: HTTP on loopback, its state in SQLite, so it survives.

What it does wrong, it does to the n-th request for a credit: it answers late, twice, with 500 after it has issued, or
never; it says that it is still at work; it refuses.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from dagster_planexec.world.ports import Credit

TOKEN = "credit-canary-7f3a91"
PAGE = 100

SCHEMA = """create table if not exists credits (
    id text primary key, scope text, period text, line_key text, ordinal integer, amount text, currency text,
    state text not null, unique (scope, period, line_key, ordinal))"""


class CreditServer:
    """The server, and what is asked of it.

    Args:
        file: Its state.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.faults: dict[int, str] = {}
        """By number of the POST, from 1: what goes wrong with it."""
        self.down = False
        """Everything is answered with 503."""
        self.posts: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.gets: list[str] = []
        self.let = threading.Event()
        """Lets go of whoever waits for an answer that is late."""
        self.on_post: Any = None
        """Called with the number of each POST before anything is done."""
        self.after_post: Any = None
        """Called after a credit is issued, before it is answered."""
        self._lock = threading.Lock()
        with self._db() as db:
            db.execute(SCHEMA)
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: Any) -> None:
                """Quiet."""

            def do_GET(self) -> None:
                server.gets.append(self.path)
                server.get(self)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.post(self, body)

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: Any) -> None:
                """A client that was killed."""

        self._http = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self.let.set()
        self._http.shutdown()
        self._http.server_close()

    @contextmanager
    def _db(self) -> Iterator[sqlite3.Connection]:
        with contextlib.closing(sqlite3.connect(self.file, timeout=30)) as db, db:
            yield db

    def held(self) -> list[tuple[str, int, Decimal]]:
        """(line key, ordinal, amount) of everything that is issued."""
        with self._db() as db:
            rows = db.execute("select line_key, ordinal, amount from credits where state = 'issued' order by 1, 2")
            return [(key, ordinal, Decimal(amount)) for key, ordinal, amount in rows]

    def put(self, credit: Credit, state: str = "issued") -> None:
        """What somebody else issued."""
        with self._lock, self._db() as db:
            values = (credit.idempotency_key, credit.scope, credit.period, credit.key, credit.ordinal,
                      str(credit.amount), credit.currency, state)  # fmt: skip
            db.execute("insert or replace into credits values (?, ?, ?, ?, ?, ?, ?, ?)", values)

    # -- requests ------------------------------------------------------------------------------------------------

    def get(self, to: BaseHTTPRequestHandler) -> None:
        """One credit by its key, or a page of a list."""
        if not self._may(to):
            return
        path = urlsplit(to.path)
        asked = path.path.removeprefix("/v1/credits")
        with self._db() as db:
            db.row_factory = sqlite3.Row
            if asked:
                row = db.execute("select * from credits where id = ?", (asked.strip("/"),)).fetchone()
                answer(to, 200, _as_json(row)) if row else answer(to, 404, {"error": "not_found"})
                return
            query = {name: values[0] for name, values in parse_qs(path.query).items()}
            after = query.get("cursor", "")
            rows = db.execute(
                "select * from credits where scope = ? and period = ? and id > ? order by id limit ?",
                (query["scope"], query["period"], after, PAGE),
            ).fetchall()
        more = rows[-1]["id"] if len(rows) == PAGE else None
        answer(to, 200, {"credits": [_as_json(row) for row in rows], "next": more})

    def post(self, to: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        """Issue one credit, unless something goes wrong."""
        with self._lock:
            self.posts.append(body)
            self.keys.append(to.headers["Idempotency-Key"])
            number = len(self.posts)
        if self.on_post is not None:
            self.on_post(number)
        if not self._may(to):
            return None
        fault = self.faults.get(number, "")
        match fault:
            case "401" | "403" | "422" | "500" | "503":
                return answer(to, int(fault), {"error": "no", "message": "no"})
            case "429":
                return answer(to, 429, {"error": "slow_down"}, {"Retry-After": "1"})
            case "redirect":
                return answer(to, 307, {}, {"Location": self.url + "/elsewhere"})
            case "never":
                self.let.wait(60)
                return None
            case "pending":
                self._issue(to.headers["Idempotency-Key"], body, "pending")
                return answer(to, 202, {"state": "pending"})
        for _ in range(2 if fault == "twice" else 1):
            found = self._issue(to.headers["Idempotency-Key"], body, "issued")
        if self.after_post is not None:
            self.after_post(number)
        if _other(found, body):
            return answer(to, 409, {"error": "amount_differs", "amount": found["amount"]})
        return self._answer_oddly(to, fault, found)

    def _answer_oddly(self, to: BaseHTTPRequestHandler, fault: str, found: Any) -> None:
        """What is said of a credit that is issued."""
        match fault:
            case "500-after-commit":
                return answer(to, 500, {"error": "oops", "message": TOKEN})
            case "late":
                self.let.wait(60)
                return answer(to, 201, _as_json(found))
            case "garbage":
                return answer(to, 200, "ok")
            case "huge":
                return answer(to, 200, {"x": "y" * 6_000_000})
            case "drop":
                to.close_connection = True
                return to.connection.close()
        return answer(to, 201, _as_json(found))

    def _issue(self, key: str, body: Mapping[str, Any], state: str) -> Any:
        with self._lock, self._db() as db:
            db.row_factory = sqlite3.Row
            values = (key, body["scope"], body["period"], body["line_key"], body["ordinal"], body["amount"],
                      body["currency"], state)  # fmt: skip
            db.execute("insert or ignore into credits values (?, ?, ?, ?, ?, ?, ?, ?)", values)
            return db.execute("select * from credits where id = ?", (key,)).fetchone()

    def _may(self, to: BaseHTTPRequestHandler) -> bool:
        if self.down:
            answer(to, 503, {"error": "down"})
        elif to.headers.get("Authorization") != f"Bearer {TOKEN}":
            answer(to, 401, {"error": "who"})
        else:
            return True
        return False


def answer(to: BaseHTTPRequestHandler, status: int, said: Any, headers: Mapping[str, str] | None = None) -> None:
    """Send it; whoever asked may be gone."""
    body = json.dumps(said).encode()
    with contextlib.suppress(OSError):
        to.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            to.send_header(name, value)
        to.end_headers()
        to.wfile.write(body)


def _as_json(row: Any) -> dict[str, Any]:
    names = ("scope", "period", "line_key", "ordinal", "amount", "currency", "state")
    return {name: row[name] for name in names}


def _other(found: Any, body: Mapping[str, Any]) -> bool:
    return (Decimal(found["amount"]), found["currency"]) != (Decimal(body["amount"]), body["currency"])
