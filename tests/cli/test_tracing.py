"""`planexec trace`: every event of a run in order, with what each call got and gave, how long it took, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assets.demo.world import DemoWorld
from dagster_planexec.cli.main import main
from dagster_planexec.cli.printing import MOST_LINES
from dagster_planexec.cli.verbs.tracing import MOST_EVENTS
from dagster_planexec.journal.journal import Journal, NewEvent
from tests.support.planexec import PROJECT, planexec

TASK, PERIOD = "vendor_reconciliation", "2026-02"
EXPORT = f"vendor/exports/{PERIOD}-invoice.csv"


def shell(*arguments: object) -> str:
    """What people are shown."""
    result = CliRunner().invoke(main, ["--project", str(PROJECT), *map(str, arguments)])
    assert result.exception is None, result.output
    return result.stdout


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any, Any]]:
    """A stopped month, and the same month again when the vendor has delivered anew: (home, first, second)."""
    from assets.demo.local_s3 import LocalS3
    from assets.stage import environment, settings_of

    with LocalS3() as s3:
        world = DemoWorld(tmp_path_factory.mktemp("traced") / "home", s3.endpoint)
        world.seed()
        with environment(settings_of(world, None)):
            drop = world.s3
            export = drop.get_object(Bucket=world.bucket, Key=EXPORT)["Body"].read()
            header, *_ = export.splitlines(keepends=True)
            drop.put_object(Bucket=world.bucket, Key=EXPORT, Body=header)
            first = planexec("run", TASK, "--partition", PERIOD, "--home", world.home).document
            again = planexec("run", TASK, "--partition", PERIOD, "--home", world.home).document
            yield world.home, first, again


def trace(home: Path, *reference: object) -> Any:
    """The document of a trace."""
    answer = planexec("trace", *map(str, reference), "--home", home)
    assert answer.exit_code == 0
    return answer.document


def of(document: Any, kind: str, step: str | None = None) -> list[Any]:
    """The events of a kind."""
    return [e for e in document["events"] if e["kind"] == kind and (step is None or e["step"] == step)]


def test_a_run_is_told_from_its_beginning_to_its_end(ran) -> None:
    """In order of time, each kind that belongs to it, the end with its code."""
    home, first, _ = ran
    document = trace(home, first["task_run_id"])
    kinds = [event["kind"] for event in document["events"]]
    times = [datetime.fromisoformat(event["at"]) for event in document["events"]]

    assert (document["task_run_id"], document["plan_run_id"]) == (first["task_run_id"], first["plan_run_id"])
    assert (document["has_ended"], document["status"], document["code"]) == (True, "stopped", "EMPTY_EXTRACT")
    assert times == sorted(times)
    assert [e["seq"] for e in document["events"]] == sorted(e["seq"] for e in document["events"])
    assert kinds[:6] == ["attempt-opened", "run-begun", "proposed", "plan-adopted", "checked", "admitted"]
    assert kinds[-1] == "run-ended"
    assert {"step-started", "judged", "calling", "called", "decided", "stopped", "step-ended", "step-done"} <= set(
        kinds
    )


def test_who_proposed_and_whether_a_model_was_called_is_told(ran) -> None:
    """Provenance is part of the trace."""
    home, first, _ = ran
    (proposed,) = of(trace(home, first["task_run_id"]), "proposed")

    assert (proposed["planner"], proposed["model_called"]) == ("recorded", False)
    assert "by hand" in proposed["author"]


def test_every_call_has_its_inputs_its_output_and_its_latency(ran) -> None:
    """Resolved arguments: no reference is left in them. What stood between the two events is the call's time."""
    home, first, _ = ran
    document = trace(home, first["task_run_id"])
    calls, answers = of(document, "calling"), of(document, "called")

    assert [c["step"] for c in calls] == [a["step"] for a in answers] == ["scope_ledger", "stage_table", "fetch_export"]
    for call, answer in zip(calls, answers, strict=True):
        took = datetime.fromisoformat(answer["at"]) - datetime.fromisoformat(call["at"])
        assert '"ref"' not in json.dumps(call["args"])
        assert call["args"]
        assert answer["outcome"] == "done"
        assert answer["result"]
        assert 0 <= answer["ms"] <= took.total_seconds() * 1000 + 1


def test_every_verdict_and_the_decision_with_its_reason_are_told(ran) -> None:
    """Both sides of what shut the gate, the rule that decided, and the one sentence."""
    home, first, _ = ran
    document = trace(home, first["task_run_id"])
    shut = [v for e in of(document, "judged") for v in e["verdicts"] if v["status"] == "failed"]
    (decided,) = [e for e in of(document, "decided") if e["decision"] == "stop"]

    assert [(v["check"], v["code"]) for v in shut] == [("extract_has_rows", "EMPTY_EXTRACT")]
    assert shut[0]["expected"]["source"]["system"] == "contract"
    assert (decided["step"], decided["rule"], decided["reason"]) == (
        "load_staging", "stop_on_everything_else", first["text"],
    )  # fmt: skip


def test_a_plan_run_is_the_same_trace(ran) -> None:
    """Whichever of the two ids a person has at hand."""
    home, first, _ = ran

    assert trace(home, first["plan_run_id"]) == trace(home, first["task_run_id"])


def test_two_runs_of_one_attempt_are_told_apart_and_together(ran) -> None:
    """Each run by its id; both by the attempt, or by the task and its period."""
    home, first, again = ran
    documents = [trace(home, run["task_run_id"]) for run in (first, again)]
    whole = trace(home, documents[0]["attempt"])
    seqs = [{e["seq"] for e in document["events"]} for document in documents]

    assert documents[0]["attempt"] == documents[1]["attempt"]
    assert not seqs[0] & seqs[1]
    assert {e["seq"] for e in whole["events"]} == seqs[0] | seqs[1]
    assert trace(home, TASK, "--partition", PERIOD)["events"] == trace(home, TASK)["events"] == whole["events"]
    assert [e["state"] for e in of(documents[1], "step-ended")][:3] == ["reused"] * 3
    assert of(documents[1], "calling") == []


def test_people_read_steps_with_their_events_below(ran) -> None:
    """Indented, with times; no JSON of verdicts; the end in one sentence."""
    home, first, _ = ran
    shown = shell("trace", first["task_run_id"], "--home", home)
    lines = shown.splitlines()

    assert first["text"] in shown
    assert any(re.fullmatch(r"\d\d:\d\d:\d\d\.\d{3} fetch_export, try 1", line) for line in lines)
    assert any(re.match(r"\d\d:\d\d:\d\d\.\d{3}   calls s3\.get \{", line) for line in lines)
    assert any(re.search(r"^\d\d:\d\d:\d\d\.\d{3}   answers .* in \d+ ms", line) for line in lines)
    assert any("failed EMPTY_EXTRACT extract_has_rows" in line for line in lines)
    assert any("stop EMPTY_EXTRACT, by stop_on_everything_else" in line for line in lines)
    assert max(map(len, lines)) < 640


def test_show_tells_an_attempt_the_same_way(ran) -> None:
    """`show att_...` is for people what `trace att_...` is; its JSON keeps everything."""
    home, first, _ = ran
    attempt = trace(home, first["task_run_id"])["attempt"]

    assert shell("show", attempt, "--home", home) == shell("trace", attempt, "--home", home)
    assert len(planexec("show", attempt, "--home", home).document["events"]) > 40


def test_the_trace_of_an_attempt_begins_with_its_day_and_ends_with_its_sentence(ran) -> None:
    """By task, by attempt and by run alike: date and UTC above, code, both sides and what to do below."""
    home, first, again = ran
    attempt = trace(home, first["task_run_id"])["attempt"]
    day = trace(home, attempt)["events"][0]["at"][:10]

    for reference, run in ((TASK, again), (attempt, again), (first["task_run_id"], first)):
        lines = shell("trace", reference, "--home", home).splitlines()
        assert lines[0].startswith(f"{TASK} {PERIOD} ")
        assert lines[0].endswith(f", {day} UTC")
        assert lines[-2] == f"STOPPED {run['text'].removesuffix('; ' + run['hint'])}"
        assert lines[-1] == f"hint: {run['hint']}"
        assert not [line for line in lines if line.endswith(" ")]


def test_reused_steps_show_the_checks_they_passed(ran) -> None:
    """As they were judged when the step was done, by name."""
    home, _, again = ran
    document = trace(home, again["task_run_id"])
    lines = shell("trace", again["task_run_id"], "--home", home).splitlines()

    for ended in [e for e in of(document, "step-ended") if e["state"] == "reused"]:
        at = next(n for n, line in enumerate(lines) if line[13:].startswith(f"{ended['step']}: reused"))
        assert ended["verdicts"]
        assert lines[at + 1].strip() == "as it was judged when it was done"
        for line, verdict in zip(lines[at + 2 :], ended["verdicts"], strict=False):
            assert line.strip().startswith(f"{verdict['status']} {verdict['check']}: ")


def test_a_day_that_begins_meanwhile_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times without their day would seem to run backwards."""
    home = tmp_path / "home"
    monkeypatch.setenv("PLANEXEC_HOME", str(home))
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))
    journal = Journal()
    attempt, _ = journal.open_attempt(task=TASK, version="1", period=PERIOD, inputs_digest="a", admission={})
    with journal.engine.begin() as db:
        db.exec_driver_sql("drop trigger planexec_events_never_change")  # or no event could be made older
        db.exec_driver_sql("update planexec_events set at = '2026-03-07T23:59:59.900000+00:00'")
    journal.close_run(attempt.id, None, "settled", None)
    journal.close()

    lines = shell("trace", attempt.id, "--home", home).splitlines()

    assert lines[0].endswith(", 2026-03-07 UTC")
    assert lines[1].startswith("23:59:59.900 attempt opened")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d UTC", lines[2])
    assert lines[-1] == "SETTLED"


def test_a_run_that_goes_on_is_told_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the id of the task run, before anything was reported of it; and that the end is missing is said."""
    home = tmp_path / "home"
    monkeypatch.setenv("PLANEXEC_HOME", str(home))
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))
    journal = Journal()
    attempt, _ = journal.open_attempt(task=TASK, version="1", period=PERIOD, inputs_digest="a", admission={})
    journal.append(attempt.id, None, [NewEvent("run-begun", None, {"task_run": "run-1", "replan": False})])
    journal.append(attempt.id, "plan-1", [NewEvent("step-started", "scope_ledger", {"try": 1})])
    journal.close()

    for reference in ("run-1", "plan-1", attempt.id):
        document = trace(home, reference)
        assert (document["has_ended"], document["status"]) == (False, None)
        assert [e["kind"] for e in document["events"]] == ["attempt-opened", "run-begun", "step-started"]
        assert "still going" in shell("trace", reference, "--home", home)


def test_a_run_that_could_not_be_tried_has_an_end_and_no_events(
    world: DemoWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was admitted: the trace says how it ended all the same."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    run = planexec("run", TASK, "--partition", PERIOD, "--home", world.home).document

    document = trace(world.home, run["task_run_id"])

    assert (document["events"], document["attempt"]) == ([], None)
    assert (document["status"], document["code"]) == ("error", "UNAVAILABLE")
    assert "ERROR UNAVAILABLE" in shell("trace", run["task_run_id"], "--home", world.home)
    by_period = shell("trace", TASK, "--partition", PERIOD, "--home", world.home)
    assert (
        by_period
        == shell("trace", run["task_run_id"], "--home", world.home)
        == shell("trace", TASK, "--home", world.home)
    )
    ended = datetime.fromisoformat(run["ended_at"])
    assert by_period.splitlines()[0] == f"{TASK} {PERIOD} task run {run['task_run_id']}, {ended:%Y-%m-%d} UTC"
    assert by_period.splitlines()[-1] == f"hint: {run['hint']}"
    shown = shell("show", TASK, "--home", world.home).splitlines()
    assert shown[0] == f"{TASK} {PERIOD}-01 no plan"
    assert shown[-1] == f"runs: task {run['task_run_id']}, plan none, ended {ended:%Y-%m-%d %H:%M:%S} UTC"


def test_a_later_run_that_could_not_be_tried_is_told_with_its_period(ran, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest attempt is not the newest run: what came after it is said below, with its time."""
    home, _, again = ran
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    late = planexec("run", TASK, "--partition", PERIOD, "--home", home).document

    document = trace(home, TASK, "--partition", PERIOD)
    shown = shell("trace", TASK, "--partition", PERIOD, "--home", home)

    assert (document["code"], document["later"]) == (again["code"], late)
    assert re.search(r"^later at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: ERROR UNAVAILABLE ", shown, re.MULTILINE)
    assert shown.splitlines()[-1] == f"hint: {late['hint']}"


def test_what_people_see_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of events, a megabyte in one of them, arguments without end: bounded for people, whole in JSON."""
    home = tmp_path / "home"
    monkeypatch.setenv("PLANEXEC_HOME", str(home))
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))
    journal = Journal()
    attempt, _ = journal.open_attempt(task=TASK, version="1", period=PERIOD, inputs_digest="a", admission={})
    long, short = (NewEvent("calling", "s", {"tool": "s3.get", "args": {"key": "k\n" * n}}) for n in (50_000, 1))
    journal.append(attempt.id, "p", [long] * 5 + [short] * 1490 + [long] * 5)  # both ends of what is shown
    journal.append(attempt.id, "p", [NewEvent("called", "s", {"outcome": "done", "ms": 1, "result": "x" * 300_000})])
    journal.close()

    shown = shell("trace", attempt.id, "--home", home).splitlines()

    assert len(shown) == MOST_EVENTS + 3
    assert max(map(len, shown)) < 400
    assert f"{1502 - MOST_EVENTS} more events; --json has them" in "\n".join(shown)
    assert len(trace(home, attempt.id)["events"]) == 1502


def test_a_plan_of_any_size_is_shown_in_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`show DIGEST` for people; --json has every step."""
    from tests.support.toolbox import flagship_json

    home = tmp_path / "home"
    monkeypatch.setenv("PLANEXEC_HOME", str(home))
    monkeypatch.setenv("DAGSTER_HOME", str(home / "dagster"))
    from dagster_planexec.plan.model import Plan

    data = flagship_json()
    data["steps"] = [{**data["steps"][0], "id": f"s{n}", "rationale": "why " * 500} for n in range(300)]
    journal = Journal()
    digest = journal.save_plan(Plan.model_validate(data))
    journal.close()

    shown = shell("show", digest[:12], "--home", home).splitlines()

    assert len(shown) <= MOST_LINES + 1
    assert max(map(len, shown)) < 300
    assert "--json has everything" in shown[-1]
    assert len(planexec("show", digest[:12], "--home", home).document["plan"]["steps"]) == 300


def test_what_was_done_about_a_failure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The menu and what was taken off it, who was asked and what they said, credentials read anew, and waits."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path))
    journal = Journal()
    attempt, _ = journal.open_attempt(task=TASK, version="1", period=PERIOD, inputs_digest="x", admission={})
    shown = {"menu": [{"strategy": "retry", "does": "."}, {"strategy": "stop", "does": "."}]}
    decided = {"decision": "retry", "rule": "retry_what_is_transient", "code": "TIMEOUT", "after_s": 0.5,
               "viable": ["retry", "stop"],
               "removed": [{"strategy": "skip", "rule": "only_what_nothing_needs_is_skipped"}]}  # fmt: skip
    journal.append(attempt.id, "r", [
        NewEvent("chosen", "s", {"shown": shown, "chooser": "openai", "answered": "pay", "used": False,
                                 "overruled": "the answer is not on the menu"}),
        NewEvent("chosen", "s", {"shown": shown, "chooser": "openai", "why_not": "no answer within 30 s"}),
        NewEvent("decided", "s", decided),
        NewEvent("credentials-refreshed", "s", {"ok": False, "message": "BAD_CONTRACT: not set"}),
        NewEvent("waiting", "s", {"code": "THROTTLED", "until": "2026-03-07T11:12:00+00:00", "backfill": None}),
    ])  # fmt: skip
    journal.close()
    text = shell("trace", attempt.id, "--home", tmp_path)

    for line in (
        "asked to choose among retry, stop: openai answered pay; the answer is not on the menu",
        "asked to choose among retry, stop: no answer: no answer within 30 s; the rules decide by themselves",
        "could be done: retry, stop; not skip: only_what_nothing_needs_is_skipped",
        "credentials are read anew: that failed, BAD_CONTRACT: not set",
        "waits until 2026-03-07 11:12:00 UTC",
    ):
        assert line in text
