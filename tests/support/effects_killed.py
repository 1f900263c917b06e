"""A run of `issue_credit` whose process is killed at a boundary, then run again: every line once, none lost.

The step runner, the ledger, the targets and the kills are real; only the kill's moment is chosen.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from dagster_planexec.checks.catalogue import BINDERS
from dagster_planexec.contract.layout import live_view
from dagster_planexec.contract.task import Task
from dagster_planexec.contract.tool import Admission, ToolCall, ToolRegistry
from dagster_planexec.execute.step.runner import run_step
from dagster_planexec.execute.work import Run, StepReport, Work
from dagster_planexec.journal.journal import Journal
from dagster_planexec.journal.money.effects import effects_of
from dagster_planexec.plan.digest import full_digest
from dagster_planexec.plan.model import Plan
from dagster_planexec.resources.duckdb_credits import DuckDbCredits
from dagster_planexec.resources.duckdb_warehouse import DuckDbWarehouse
from dagster_planexec.resources.http_credits import HttpCredits
from dagster_planexec.tools.issue_credit import IssueCredit
from dagster_planexec.world.local.absent_ports import NoObjectStore
from dagster_planexec.world.local.system_clock import SystemClock
from dagster_planexec.world.period import Period
from dagster_planexec.world.ports import Credit, CreditApi, Ports, Roots
from dagster_planexec.world.probes.table.evidence import FingerprintOfView
from tests.support.credit_server import TOKEN, CreditServer
from tests.support.toolbox import TASK as FLAGSHIP

BOUNDARIES = ("before intent", "after intent", "during the call", "after the call", "before outcome")
LINES = {f"L{n}": Decimal(n) + Decimal("0.25") for n in range(1, 9)}
PERIOD = Period.parse("2026-03", "month")
_ENDED_S = 60.0
_ODD_MS = 4.0
"""A call to either target takes about as long on loopback."""

MATCHED = 100
"""Charges that the vendor has billed as they are."""
TASK = replace(
    FLAGSHIP, drop=None,
    inputs=tuple(replace(named, source=named.source or "ledger.vendor") for named in FLAGSHIP.inputs[:2]),
)  # fmt: skip
"""Both sides are tables, so that what is issued can be read against them."""

PLAN = Plan.model_validate(
    {"task": TASK.name, "period": "2026-03",
     "steps": [{"id": "issue_credit", "tool": "issue_credit", "args": {"source": "recon.lines"}}]}
)  # fmt: skip


@dataclass(frozen=True)
class Kill:
    """When a process dies: at which boundary of which line, and so much later."""

    boundary: str
    line: int
    later_s: float = 0.0


class Dying(IssueCredit):
    """`issue_credit` in a process that dies at a boundary."""

    def __init__(self, kill: Kill | None) -> None:
        self._kill = kill
        self._sent = 0

    def listed(self, call: ToolCall) -> Sequence[Credit]:
        """What is issued, asked before anything is written."""
        found = super().listed(call)
        self._dies("before intent")
        return found

    def issue(self, credit: Credit, call: ToolCall) -> None:
        """One line."""
        self._sent += 1
        if self._kill is None or self._sent != self._kill.line:
            return super().issue(credit, call)
        self._dies("after intent")
        if self._kill.boundary == "during the call":
            threading.Timer(self._kill.later_s, _die).start()
        super().issue(credit, call)
        self._dies("after the call")
        if self._kill.boundary == "before outcome":
            threading.Timer(self._kill.later_s, _die).start()
        return None

    def _dies(self, boundary: str) -> None:
        if self._kill is not None and self._kill.boundary == boundary:
            _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def seed(home: Path, periods: Sequence[str] = ("2026-03",)) -> None:
    """A warehouse with lines to be credited; the same charges stand in every period."""
    for name in ("sql", "reports", "landing"):
        (home / name).mkdir(parents=True)
    with DuckDbWarehouse(home / "w.duckdb").session() as session:
        for schema in ("ledger", "recon"):
            session.execute(f"create schema {schema}")
        for table in ("charges", "vendor"):
            session.execute(f"create table ledger.{table} (charge_id varchar, charged_on date, amount decimal(18, 2))")
        session.execute(
            "create table recon.lines (charge_id varchar, status varchar, ledger_amount decimal(18, 2),"
            " vendor_amount decimal(18, 2))"
        )
        for key, amount in LINES.items():
            session.execute("insert into recon.lines values (?, 'ledger_only', ?, null)", (key, amount))
        session.execute(f"insert into recon.lines select 'M' || i, 'identical', 1, 1 from range({MATCHED}) t(i)")
        for period in periods:
            day = f"{period}-05"
            session.execute(
                "insert into ledger.charges select charge_id, cast(? as date), ledger_amount from recon.lines", (day,)
            )
            session.execute(
                "insert into ledger.vendor select charge_id, cast(? as date), vendor_amount from recon.lines"
                " where vendor_amount is not null", (day,)
            )  # fmt: skip


def seen_sides(task: Task, period: Period, ports: Ports) -> dict[str, str]:
    """The live fingerprints in scope, as an admission has them."""
    views = {side.name: live_view(task, period, side.name) for side in task.sides}
    return {
        name: str(FingerprintOfView(view).observe(ports)["fingerprint"]) for name, view in views.items() if view
    }  # fmt: skip


def issue(home: Path, url: str | None, kill: Kill | None = None) -> StepReport:
    """One run of the step, in this process."""
    os.environ["PLANEXEC_HOME"] = str(home)
    warehouse, clock = DuckDbWarehouse(home / "w.duckdb"), SystemClock()
    credits_: CreditApi = DuckDbCredits(warehouse, clock) if url is None else HttpCredits(url, TOKEN)
    ports = Ports(NoObjectStore(), warehouse, credits_, clock, Roots(home / "sql", home / "reports", home / "landing"))
    admission = Admission((), seen_sides(TASK, PERIOD, ports), {}, clock.now())
    journal = Journal()
    try:
        attempt, _ = journal.open_attempt(
            task=TASK.name, version="1", period="2026-03", inputs_digest="same", admission={}
        )
        work = Work(TASK, ToolRegistry([Dying(kill)]), ports, journal, BINDERS)
        run = Run(work, attempt.id, PLAN, full_digest(PLAN), PERIOD, admission, f"run-{uuid.uuid4().hex[:8]}")
        return run_step(run, "issue_credit")
    finally:
        journal.close()


def _child(home: str, url: str | None, kill: Kill | None) -> None:
    report = issue(Path(home), url, kill)
    os._exit(0 if report.state in {"done", "reused"} else 10)


def in_a_process(home: Path, url: str | None, kill: Kill | None) -> int | None:
    """The same in a process of its own; its exit code, -9 if it was killed."""
    children = multiprocessing.get_context("forkserver")
    children.set_forkserver_preload(["tests.support.effects_killed"])
    child = children.Process(target=_child, args=(str(home), url, kill))
    child.start()
    child.join(_ENDED_S)
    if child.is_alive():
        child.kill()
        child.join()
    return child.exitcode


def kills(seed_: int) -> list[Kill]:
    """One to three kills of one month, by a seed."""
    chance = random.Random(seed_)
    first = BOUNDARIES[seed_ % len(BOUNDARIES)]
    names = [first, *(chance.choice(BOUNDARIES) for _ in range(chance.randint(0, 2)))]
    return [Kill(name, chance.randint(1, 3), chance.random() * _ODD_MS / 1000) for name in names]


def survived(home: Path, server: CreditServer | None, struck: Sequence[Kill], *, by_server: bool = False) -> list[str]:
    """What is wrong after these kills and one more run that nobody kills; empty if each line was issued once.

    Args:
        home: A fresh folder.
        server: Issues the credits; None: the table does.
        struck: The kills.
        by_server: Kills during the call come from the server: while it holds the request, or after it has issued.
    """
    seed(home)
    url = server.url if server is not None else None
    wrong: list[str] = []
    for kill in struck:
        code = _struck_by(server, home, kill) if by_server and server is not None else in_a_process(home, url, kill)
        may_be_late = kill.boundary in {"during the call", "before outcome"} or kill is not struck[0]
        if code != -signal.SIGKILL and not (code == 0 and may_be_late):
            wrong.append(f"exit code {code} with {kill}")
    code = in_a_process(home, url, None)
    if code != 0:
        wrong.append(f"the last run ended with {code}: a person would be needed")
    held = _held(home, server)
    wrong += [f"{key} issued {count} times" for key, count in Counter(key for key, _ in held).items() if count != 1]
    if dict(held) != LINES:
        wrong.append(f"issued {dict(held)}")
    os.environ["PLANEXEC_HOME"] = str(home)
    journal = Journal()
    left = {f"{e.key} is {e.state}" for e in effects_of(journal, _scope(), "2026-03") if e.state != "issued"}
    journal.close()
    return [*wrong, *sorted(left)]


def _scope() -> str:
    made = TASK.irreversible
    assert made is not None
    assert made.effect_scope is not None
    return made.effect_scope


def _held(home: Path, server: CreditServer | None) -> list[tuple[str, Decimal]]:
    if server is not None:
        return [(key, amount) for key, _, amount in server.held()]
    with DuckDbWarehouse(home / "w.duckdb").session() as session:
        if session.describe("credits.issued") is None:
            return []
        rows = session.rows("select line_key, amount from credits.issued")
    return [(str(key), Decimal(str(amount))) for key, amount in rows]


def _struck_by(server: CreditServer, home: Path, kill: Kill) -> int | None:
    """The server kills whoever asks: before it has issued the n-th credit, or after, before it has answered."""
    children = multiprocessing.get_context("forkserver")
    child = children.Process(target=_child, args=(str(home), server.url, None))
    seen = len(server.posts)

    def dies(number: int) -> None:
        if number - seen == kill.line and child.pid is not None:
            os.kill(child.pid, signal.SIGKILL)

    hooks: dict[str, Callable[[int], None] | None] = {"on_post": None, "after_post": None}
    hooks["on_post" if kill.later_s * 1000 < _ODD_MS / 2 else "after_post"] = dies
    server.on_post, server.after_post = hooks["on_post"], hooks["after_post"]
    child.start()
    child.join(_ENDED_S)
    server.on_post = server.after_post = None
    return child.exitcode


def rounds(folder: Path, count: int, *, told: Callable[[str], None]) -> int:
    """So many months with kills over each target; how many were not survived."""
    failed = 0
    for number in range(count):
        for target in ("table", "http"):
            home = folder / f"{target}{number}"
            struck, began = kills(number), time.monotonic()
            server = CreditServer(folder / f"credits{number}.sqlite") if target == "http" else None
            by_server = target == "http" and number % 2 == 1
            try:
                wrong = survived(home, server, struck, by_server=by_server)
            finally:
                if server is not None:
                    server.close()
            failed += bool(wrong)
            said = ", ".join(f"{kill.boundary} {kill.line}" for kill in struck)
            told(f"{target:5} {said:60} {time.monotonic() - began:5.1f} s  {'; '.join(wrong) or 'ok'}")
    return failed
