"""What is wrong with a request gets a code and a hint, one JSON document, and an exit code; never a stack trace."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from assets.demo.world import DemoWorld
from assets.vendor_reconciliation.binding import VENDOR_RECONCILIATION
from dagster_planexec.cli.main import main
from dagster_planexec.definitions.partitions import just_closed
from tests.support.planexec import PROJECT, Answer, planexec

TASK = "vendor_reconciliation"
PARTS = ("plan", "status", "code", "hint", "findings", "steps", "reconciliation", "credits", "report")


def run(world: DemoWorld, partition: str = "2026-03") -> Answer:
    """Run the flagship in a world."""
    return planexec("run", TASK, "--partition", partition, "--home", world.home)


def refused(answer: Answer, code: str, *, exit_code: int = 1) -> Any:
    """The document of a refusal, complete, with the code and a hint."""
    document = answer.document

    assert (document["code"], answer.exit_code) == (code, exit_code), document["text"]
    assert document["hint"]
    assert set(PARTS) <= set(document)
    assert document["credits"]["issued_count"] == 0
    return document


@pytest.mark.parametrize(
    "partition", ["2026-13", "march", "2026-03-02", "2025-12", "9999-12", "2026-03'); drop table x;--", "0000-01", ""]
)
def test_an_unknown_partition(world: DemoWorld, partition: str) -> None:
    """Malformed, before the first, or a day inside a month: UNKNOWN_PARTITION."""
    document = refused(run(world, partition), "UNKNOWN_PARTITION")

    assert "status" in document["hint"] or "partition" in document["text"]


def test_a_month_that_has_not_ended(world: DemoWorld) -> None:
    """The running month has no invoice yet."""
    refused(run(world, "2999-01"), "UNKNOWN_PARTITION")


def test_a_bucket_that_is_gone(world: DemoWorld) -> None:
    """BUCKET_GONE names the bucket."""
    for key in [o["Key"] for o in world.s3.list_objects_v2(Bucket=world.bucket)["Contents"]]:
        world.remove(key)
    world.s3.delete_bucket(Bucket=world.bucket)

    assert world.bucket in refused(run(world), "BUCKET_GONE")["text"]


def test_credentials_that_are_not_there(world: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """AUTH_FAILED says which variables to look at, and shows no secret."""
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(variable)

    document = refused(run(world), "AUTH_FAILED")

    assert "AWS_ACCESS_KEY_ID" in document["hint"]


def test_a_store_that_does_not_answer(world: DemoWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens: UNAVAILABLE."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    refused(run(world), "UNAVAILABLE")


def test_a_warehouse_held_by_another_process(world: DemoWorld) -> None:
    """LOCKED names the process that holds the file, and so does the demo that would seed it."""
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(world.warehouse)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        try:
            answer = planexec("demo", "--home", world.home)
        finally:
            holder.terminate()

    document = refused(answer, "LOCKED")
    assert str(holder.pid) in document["text"]


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    """HOME_UNWRITABLE, for a run and for the demo."""
    (tmp_path / "home").write_text("a file")

    refused(planexec("demo", "--home", tmp_path / "home" / "below"), "HOME_UNWRITABLE")
    refused(planexec("run", TASK, "--partition", "2026-03", "--home", tmp_path / "home" / "below"), "HOME_UNWRITABLE")


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """PORT_IN_USE before anything is started."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        document = refused(planexec("demo", "--ui", "--port", str(port), "--home", tmp_path / "home"), "PORT_IN_USE")

    assert str(port) in document["text"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("formats", "formatz", "formatz"),
        ("type: decimal", "type: float", "type"),
        ("key:", "keys:", "key"),
        ("name:", "{{", "yaml"),
    ],
    ids=["unknown field", "unknown type", "no key", "not yaml"],
)
def test_a_contract_that_does_not_say_what_it_must(tmp_path: Path, old: str, new: str, says: str) -> None:
    """BAD_CONTRACT names the file and the field, from a fresh process, as one document on standard output."""
    project = tmp_path / "project"
    for name in ("assets", "sensors", "definitions.py", "workspace.yaml", "pyproject.toml"):
        source = PROJECT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, _made(project) / name)
    contract = project / "assets" / "vendor_reconciliation" / "contracts" / "vendor_invoice.yaml"
    contract.write_text(contract.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")

    answer = in_a_process("--project", project, "run", TASK, "--partition", "2026-03", "--home", tmp_path / "home")

    document = refused(answer, "BAD_CONTRACT")
    assert "vendor_invoice.yaml" in document["text"]
    assert says in document["text"].lower()


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def in_a_process(*arguments: str | Path) -> Answer:
    """The installed command in a process of its own."""
    command = [sys.executable, "-m", "dagster_planexec.cli.main", *map(str, arguments), "--json"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("PLANEXEC", "DAGSTER", "AWS"))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ, cwd=PROJECT)
    return Answer(done.returncode, json.loads(done.stdout), done.stderr)


def test_standard_output_of_a_real_process_is_one_document(tmp_path: Path) -> None:
    """Nothing else is on it: no warning, no log, no progress."""
    answer = in_a_process("demo", "--fault", "empty-export", "--home", tmp_path / "home")

    assert (answer.exit_code, answer.document["code"]) == (5, "EMPTY_EXTRACT")


def test_a_folder_without_a_project(tmp_path: Path) -> None:
    """No workspace.yaml: which folder, and how to name another."""
    document = in_a_process("--project", tmp_path, "status", TASK).document

    assert document["code"] == "BAD_CONTRACT"
    assert "--project" in document["hint"]


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("demo", "--fault", "empty-xport"), "did you mean empty-export? `planexec demo --fault list` shows them all"),
        (("demo", "--fault", "Empty-Export"), "did you mean empty-export? `planexec demo --fault list` shows them all"),
        (("demo", "--fault", "quux"), "there is delete-export-before-plan, "),
        (("demo", "--data", "councl"), "did you mean council?"),
        (("demo", "--data", "moon"), "there is saturday, council"),
        (("run", "vendor_reconcilation", "--partition", "2026-03"), "did you mean vendor_reconciliation?"),
        (("status", "moon"), "there is vendor_reconciliation, council_spend"),
        (("check", "x", "--task", "council"), "did you mean council_spend?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_name_that_does_not_exist_gets_the_one_that_was_meant(
    tmp_path: Path, arguments: tuple[str, ...], hint: str
) -> None:
    """A fault, a data set, a task: the nearest name, or else those there are."""
    at = () if arguments[0] == "check" else ("--home", tmp_path / "home")

    assert refused(planexec(*arguments, *at), "BAD_CONTRACT")["hint"].startswith(hint)


@pytest.mark.parametrize("verb", ["show", "trace"])
def test_a_mistyped_task_is_named_among_what_may_be_looked_up(world: DemoWorld, verb: str) -> None:
    """Any word may be a reference; the nearest task is what was most likely meant."""
    document = refused(planexec(verb, "vendor_reconcilation", "--home", world.home), "UNKNOWN_REFERENCE")

    assert document["hint"].startswith("did you mean vendor_reconciliation?")


@pytest.mark.parametrize("partition", ["2025-12", "2999-01", "march"])
@pytest.mark.parametrize("verb", ["run", "plan", "observe", "trace", "show"])
def test_a_period_outside_names_both_ends(world: DemoWorld, verb: str, partition: str) -> None:
    """The first and the newest partition, so that nobody has to ask for them; plan and trace look at any month."""
    answer = planexec(verb, TASK, "--partition", partition, "--home", world.home)
    if partition == "2999-01" and verb in {"plan", "trace", "show"}:
        assert answer.document["code"] != "UNKNOWN_PARTITION"
        return
    now = VENDOR_RECONCILIATION.binding.resources.clock.now()
    newest = just_closed(VENDOR_RECONCILIATION.binding.task, now).text

    assert f"2026-01 to {newest}" in refused(answer, "UNKNOWN_PARTITION")["text"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("demo", "--fault", "no-such-fault"), "BAD_CONTRACT"),
        (("demo", "--data", "moon"), "BAD_CONTRACT"),
        (("demo", "--partition", "2031-13"), "UNKNOWN_PARTITION"),
        (("demo", "--home", "/dev/null/x"), "HOME_UNWRITABLE"),
        (("run", "no_such_task", "--partition", "2026-03"), "BAD_CONTRACT"),
        (("run", TASK, "--partition", "march"), "UNKNOWN_PARTITION"),
        (("plan", TASK, "--partition", "march"), "UNKNOWN_PARTITION"),
        (("check", "none.json", "--task", TASK), "VALIDATION_ERROR"),
        (("status", "no_such_task"), "BAD_CONTRACT"),
        (("show", "nothing_of_that_name"), "UNKNOWN_REFERENCE"),
        (("trace", "nothing_of_that_name"), "UNKNOWN_REFERENCE"),
        (("trace", TASK, "--partition", "2026-02"), "UNKNOWN_REFERENCE"),
        (("trace", TASK, "--partition", "march"), "UNKNOWN_PARTITION"),
        (("trace", "no_such_task", "--partition", "2026-02"), "BAD_CONTRACT"),
        (("observe", TASK, "--partition", "march"), "UNKNOWN_PARTITION"),
        (("observe", TASK, "--partition", "2999-01"), "UNKNOWN_PARTITION"),
        (("observe", TASK, "--partition", "2026-02"), "UNKNOWN_REFERENCE"),
        (("observe", TASK, "--partition", "2026-02", "--home", "/dev/null/x"), "UNKNOWN_REFERENCE"),
        (("observe", "no_such_task", "--partition", "2026-02"), "BAD_CONTRACT"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_people_get_the_code_the_sentence_and_the_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], code: str
) -> None:
    """The same refusals without --json: words, no stack trace."""
    monkeypatch.setenv("PLANEXEC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home" / "dagster"))

    result = CliRunner().invoke(main, ["--project", str(PROJECT), *arguments])

    assert isinstance(result.exception, SystemExit)
    assert result.exit_code in {1, 5}
    assert code in result.stdout
    assert "hint:" in result.stdout
    assert "Traceback" not in result.output


class _Gone(io.StringIO):
    """A pipe whose reader has gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")


@pytest.mark.parametrize(
    ("where", "says"), [("full", "No space left on device"), ("closed", "it is closed"), ("gone", "")]
)
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_an_answer_that_nobody_can_read_ends_the_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, says: str, as_json: tuple[str, ...]
) -> None:
    """One sentence, none where the reader has gone; no trace, and no second attempt to say it."""
    (tmp_path / "m.csv").write_text("id,amount\na,1.00\n")
    with contextlib.ExitStack() as opened:
        full = opened.enter_context(Path("/dev/full").open("w"))
        opened.enter_context(contextlib.redirect_stdout({"full": full, "closed": None, "gone": _Gone()}[where]))
        with pytest.raises(SystemExit) as ended:
            main(["infer", str(tmp_path / "m.csv"), *as_json], standalone_mode=False)

    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert said == (f"ERROR the answer cannot be written to standard output: {says}\n" if says else "")
