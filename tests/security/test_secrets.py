"""Secrets of the worker: after whole runs, good and bad, they stand in nothing that was stored, shown, sent or printed.

Servers echo what they were sent, planners put into a plan what they cannot know, code raises with a secret in its words.
"""  # noqa: E501

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from assets.demo import saturday
from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec import planexec_definitions
from dagster_planexec.contract.outcome import Done, Failed, Outcome
from dagster_planexec.contract.tool import Model, ToolRegistry
from dagster_planexec.errors import PortError
from dagster_planexec.journal.results import tools_done
from dagster_planexec.planner.openai.openai_planner import OpenAIPlanner
from tests.support.bench import CopyArgs, TableTool
from tests.support.canaries import CANARIES, dagster_says, found_in, leaks, postgres_says
from tests.support.chat_server import answers, chat_server, fails
from tests.support.flagship import TASK, Month, materialise, world_of
from tests.support.planexec import PROJECT, planexec
from tests.support.postgres import PASSWORD, Postgres
from tests.support.settled import Place, ScriptedPlanner, make, plan_of

RECORDING = PROJECT / "assets" / TASK / "plans" / "recorded_export_csv.json"
ECHO = " ".join(CANARIES.values())


@pytest.fixture
def canaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in the environment of the worker."""
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def world(tmp_path: Path, seeded: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[DemoWorld]:
    """A seeded month of the flagship, with the canaries in the environment."""
    with world_of(seeded, tmp_path / "home", endpoint) as found:
        for name, value in CANARIES.items():
            monkeypatch.setenv(name, value)
        yield found


@contextmanager
def ran(world: DemoWorld) -> Iterator[Month]:
    """A month in Dagster whose home, compute logs included, lies in the project's."""
    overrides = {"telemetry": {"enabled": False}}
    with dg.DagsterInstance.local_temp(str(world.home / "dagster"), overrides=overrides) as instance:
        yield materialise(instance, world)


@contextmanager
def echoing_server() -> Iterator[str]:
    """Answers every request with an error that quotes all secrets, in the body and in the headers."""

    class Handler(BaseHTTPRequestHandler):
        def do(self) -> None:
            body = f"<Error><Code>AccessDenied</Code><Message>{ECHO}</Message><Secret>{ECHO}</Secret></Error>".encode()
            self.send_response(403)
            self.send_header("x-amz-error", ECHO)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_PUT = do_POST = do  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def nothing_leaks(month: Month, printed: Any, *, without: tuple[str, ...] = ()) -> None:
    """Not in a file, not in Dagster, not on a screen."""
    assert leaks(month.world.home, without=without) == []
    assert found_in(dagster_says(month.instance)) == []
    captured = printed.readouterr()
    assert found_in(captured.out) == []
    assert found_in(captured.err) == []


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    """A search that finds nothing anywhere proves nothing."""
    import sqlite3

    (tmp_path / "a.log").write_text(f"x {CANARIES['OPENAI_API_KEY']} y")
    with sqlite3.connect(tmp_path / "b.db") as db:
        db.execute("create table t (v text)")
        db.execute("insert into t values (?)", ["y" * 9_000 + CANARIES["PLANEXEC_CREDIT_TOKEN"] + "z" * 9_000])
    db.close()

    assert leaks(tmp_path) == ["a.log: OPENAI_API_KEY", "b.db: PLANEXEC_CREDIT_TOKEN"]


def test_a_good_month_holds_none(world: DemoWorld, capfd: pytest.CaptureFixture[str]) -> None:
    """Journal, event log, reports, landing, warehouse, run config, tags, metadata, output."""
    with ran(world) as month:
        assert month.task_run.status is dg.DagsterRunStatus.SUCCESS
        nothing_leaks(month, capfd)


def test_a_store_that_echoes_what_it_was_sent(
    world: DemoWorld, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The vendor's words are left out of every message: they may quote a signature or a key."""
    with echoing_server() as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        with ran(world) as month:
            assert month.task_run.tags["planexec/code"] in {"FORBIDDEN", "AUTH_FAILED"}
            nothing_leaks(month, capfd)


def test_a_vendor_who_writes_them_into_the_header(world: DemoWorld, capfd: pytest.CaptureFixture[str]) -> None:
    """What a file says is quoted in verdicts and sentences; a secret in it is not. The file itself is the vendor's."""
    header = ECHO.replace(",", ";") + "x" * 300 + CANARIES["PLANEXEC_CREDIT_TOKEN"]
    world.put(world.export_key, saturday.export_csv(world.pair.vendor, more=[(header, "x")]))
    with ran(world) as month:
        assert month.task_run.tags["planexec/code"] == "UNKNOWN_COLUMN"
        nothing_leaks(month, capfd, without=("landing",))


@pytest.mark.parametrize("where", ["name", "id", "intent"])
def test_a_plan_that_holds_one_is_refused_and_stored_nowhere(
    world: DemoWorld, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path, where: str
) -> None:
    """A planner cannot know it, and guesses: the refusal names the variable, never the value."""
    recording = json.loads(RECORDING.read_text())
    steps, secret = recording["answer"]["steps"], CANARIES["PLANEXEC_CREDIT_TOKEN"]
    report = next(step for step in steps if step["tool"] == "write_report")
    match where:
        case "name":
            report["args"]["name"] = f"{{period}}-{secret}"
        case "intent":
            recording["answer"]["intent"] = secret
        case _:
            report["id"] = secret.replace(".", "_")
            monkeypatch.setenv("PLANEXEC_CREDIT_TOKEN", secret.replace(".", "_"))
    elsewhere = tmp_path / "recording.json"
    elsewhere.write_text(json.dumps(recording))
    monkeypatch.setenv("PLANEXEC_RECORDING", str(elsewhere))
    with ran(world) as month:
        assert month.task_run.tags["planexec/code"] == "PLAN_REJECTED"
        nothing_leaks(month, capfd)
        assert secret.replace(".", "_") not in dagster_says(month.instance)
        said, _ = month.failure(month.task_run)
        assert "PLANEXEC_CREDIT_TOKEN" in said
    answer = planexec("show", TASK, "--partition", world.period.text, "--home", world.home)
    assert found_in(json.dumps(answer.document)) == []


def test_code_that_raises_with_one_in_its_words(world: DemoWorld, capfd: pytest.CaptureFixture[str]) -> None:
    """What nobody foresaw is stored with its traceback: the place stays, the secret and its causes do not."""

    def broken() -> Any:
        try:
            raise ValueError(ECHO)  # noqa: TRY301
        except ValueError as error:
            raise RuntimeError(f"no planner: {ECHO}") from error

    planned = replace(VENDOR_RECONCILIATION, planner=broken)
    job = planexec_definitions(planned, sensors=[]).resolve_job_def(f"{TASK}__task_run")
    overrides = {"telemetry": {"enabled": False}}
    with dg.DagsterInstance.local_temp(str(world.home / "dagster"), overrides=overrides) as instance:
        result = job.execute_in_process(instance=instance, partition_key=world.period.key, raise_on_error=False)
        run = instance.get_run_by_id(result.run_id)
        assert run is not None
        assert run.tags["planexec/code"] == "INTERNAL"
        month = Month(instance, world, run)
        said = dagster_says(instance)
        assert "no planner" in said
        assert "broken" in said  # the function's name: the traceback is still there
        nothing_leaks(month, capfd)


def test_the_password_of_the_journals_database(
    world: DemoWorld, postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A month whose journal is in Postgres, and one whose password is refused: the URL is in no run row and no error."""  # noqa: E501
    database, secrets = postgres.database(), {"PLANEXEC_JOURNAL_DEFAULT": PASSWORD}
    monkeypatch.setenv("PLANEXEC_JOURNAL_DEFAULT", postgres.url(database))
    with ran(world) as month:
        assert month.task_run.status is dg.DagsterRunStatus.SUCCESS
        nothing_leaks(month, capfd)
        assert found_in(dagster_says(month.instance), secrets) == []
        with postgres.admin(database) as db:
            said = postgres_says(db)
        assert "plan-adopted" in said
        assert found_in(said, {**CANARIES, **secrets}) == []
    wrong = "wrong-canary-password"
    monkeypatch.setenv("PLANEXEC_JOURNAL_DEFAULT", postgres.url(database, user="locked", password=wrong))
    with ran(world) as month:
        assert month.task_run.tags["planexec/code"] == "AUTH_FAILED"
        assert found_in(dagster_says(month.instance), {"x": wrong}) == []
        assert leaks(world.home, {"x": wrong}) == []


# ------------------------------------------------------------------------------------------- prompts


@pytest.mark.usefixtures("canaries")
def test_no_prompt_holds_one(place: Place) -> None:
    """A model is told the world, failures and earlier plans; the key is in the header, where it belongs."""
    place.put("p/2026-03-" + CANARIES["PLANEXEC_CREDIT_TOKEN"] + ".csv")
    key = CANARIES["OPENAI_API_KEY"]
    with chat_server(fails(401, f"bad key {ECHO}"), answers(json.dumps({"x": ECHO}))) as chat:
        for _ in range(3):
            planner = OpenAIPlanner(
                "model-x", api_key=key, base_url=chat.url, timeout_s=20, price_in="2", price_out="8"
            )
            report = place.settle(planner)
            assert report.status in {"error", "rejected"}
            assert found_in(json.dumps(report.as_json())) == []
    assert len(chat.arrived) >= 3
    for one in chat.arrived:
        assert found_in(json.dumps(one["body"])) == []
    assert any(key in str(one["headers"]) for one in chat.arrived)


# ------------------------------------------------------------------------------------------- results


class Echoed(Model):
    """A result that quotes what a service said."""

    table: str
    said: str


class EchoTool(TableTool):
    """Makes its table, and returns a secret with it."""

    def __init__(self, calls: list[str], how: str) -> None:
        super().__init__("make", calls)
        self.contract = replace(self.contract, result=Echoed)
        self._how = how

    def call(self, args: Any, call: Any) -> Outcome:
        """The table, or an error; the secret in either."""
        outcome = super().call(args, call)
        assert isinstance(outcome, Done)
        match self._how:
            case "result":
                return Done(Echoed(table=outcome.result.table, said=ECHO))
            case "failed":
                return Failed("VALIDATION_ERROR", f"{'y' * 280}{ECHO}", {"answer": ECHO})
            case "port error":
                raise PortError("UNAVAILABLE", ECHO, hint=ECHO)
            case _:
                raise RuntimeError("z" * 285 + ECHO)


@pytest.mark.usefixtures("canaries")
@pytest.mark.parametrize("how", ["result", "failed", "port error", "raised"])
def test_whatever_a_tool_does_with_one(place: Place, tmp_path: Path, how: str) -> None:
    """Its result, its failure, its exception: stored without the secret, and without half of it where a text is cut."""
    place.work = replace(place.work, tools=ToolRegistry([EchoTool(place.calls, how), *_others(place)]))
    report = place.settle(ScriptedPlanner(lambda _, __: plan_of(make("a", 3))))

    assert report.status == ("succeeded" if how == "result" else "stopped"), report.text
    assert found_in(json.dumps(report.as_json())) == []
    place.work.journal.close()
    assert leaks(tmp_path) == []


def _others(place: Place) -> list[Any]:
    return [TableTool("copy", place.calls, args=CopyArgs), TableTool("pay", place.calls, args=CopyArgs)]


@pytest.mark.usefixtures("canaries")
def test_a_step_whose_result_held_one_is_done_again_and_referred_to_by_nobody(place: Place) -> None:
    """What is left of such a result is not what was seen, so nothing is compared with it and nothing made of it."""
    place.work = replace(place.work, tools=ToolRegistry([EchoTool(place.calls, "result"), *_others(place)]))
    uses = {"id": "b", "tool": "copy", "depends_on": ["a"],
            "args": {"target": "staging.b_202603", "source": {"ref": "a.said"}}}  # fmt: skip
    for calls in (1, 2):
        report = place.settle(ScriptedPlanner(lambda _, __: plan_of(make("a", 3))), replan=calls == 1)
        assert report.status == "succeeded", report.text
        assert place.calls.count("a") == calls
    attempt = place.work.journal.newest_attempt("toy", "2026-03")
    assert attempt is not None
    assert {done.taken_out for done in tools_done(place.work.journal, attempt.id)} == {("result",)}

    report = place.settle(ScriptedPlanner(lambda _, __: plan_of(make("a", 3), uses)), replan=True)
    assert report.status in {"stopped", "rejected"}
    assert "b" not in place.calls
    assert found_in(json.dumps(report.as_json())) == []


def test_what_only_looks_like_a_key_is_kept_to_the_letter(place: Place) -> None:
    """A table's or an object's name may have the shape of a key; what is built upon stays what it was, and is reused."""  # noqa: E501
    name = "staging.sk_abcdefghijklmnopqrstuvwxyz_202603"
    plan = plan_of(make("a", 3, table=name))
    for _ in range(2):
        report = place.settle(ScriptedPlanner(lambda _, __: plan))
        assert report.status == "succeeded", report.text
    assert place.calls == ["a"]
