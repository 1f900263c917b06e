"""Names that lead out of a root, and things that are put where a file is expected: links, pipes, devices.

For every root: SQL files, files of the task, landing, quarantine, reports. What lies outside is neither read nor written,
nothing hangs, and a file that is replaced between the look and the opening is refused where it is opened.
"""  # noqa: E501

from __future__ import annotations

import hashlib
import json
import os
import threading
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from dagster_planexec.errors import PlanexecError, PortError
from dagster_planexec.execute.admit import hash_sql, read_sql
from dagster_planexec.tools.report.files import write_whole
from dagster_planexec.tools.write_report import WriteReportArgs
from dagster_planexec.world.ingest import FileFormat
from dagster_planexec.world.local import regular
from dagster_planexec.world.local.readable import digests_under, read_file
from dagster_planexec.world.local.regular import open_below, open_named
from dagster_planexec.world.ports import Ports, Roots
from dagster_planexec.world.probes.delivery.figures.extract import CountExtract
from dagster_planexec.world.probes.delivery.landed import HashLanded
from dagster_planexec.world.probes.result.report import FiguresOfReport, HashReport
from dagster_planexec.world.sides import sql_file
from tests.support.planexec import planexec
from tests.support.reconciling import WallClock

SECRET = b"select 'nobody may read this'"
SHA = hashlib.sha256(SECRET).hexdigest()
NAMES = (
    "..", "../outside.sql", "a/../../outside.sql", "/etc/passwd", "//etc/passwd", "a//b.sql", "./../outside.sql",
    "..\\outside.sql", "a\x00.sql", "outside.sql\x00.sql", "\u2024\u2024/outside.sql", "\uff0e\uff0e/outside.sql",
    "..\u2215outside.sql", "..%2foutside.sql", "%2e%2e/outside.sql", "....//outside.sql", "~/outside.sql",
    "a" * 5_000 + ".sql", "a/" * 2_000 + "b.sql", "Q.SQL", "q.sql.", "q.sql ", " q.sql", "q.sql/", "", ".", "/", "\n",
    "-rf", "$HOME/x.sql", "\u202eqls.q", "q\u200b.sql", "file:///etc/passwd", "con.sql/../../outside.sql",
)  # fmt: skip


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    """Every root with one good file, and beside them what nobody may read."""
    (tmp_path / "outside.sql").write_bytes(SECRET)
    made = Roots(tmp_path / "sql", tmp_path / "reports", tmp_path / "landing", tmp_path / "files")
    for folder in (made.sql, made.reports, made.landing, made.files, made.quarantine):
        assert folder is not None
        folder.mkdir(exist_ok=True)
        (folder / "q.sql").write_text("select 1 as a from ledger")
    return made


def ports(roots: Roots) -> Ports:
    return Ports(None, None, None, WallClock(), roots)  # type: ignore[arg-type]


READERS: dict[str, Callable[[Roots, str], Any]] = {
    "SQL file": lambda roots, name: sql_file.read_sql(roots.sql, name, SHA),
    "file of the task": lambda roots, name: read_file(roots.files, name),
    "folder of the task": lambda roots, name: digests_under(roots.files, name),
    "report": lambda roots, name: FiguresOfReport(name, "md").observe(ports(roots)),
    "landed copy": lambda roots, name: HashLanded(roots.landed_path(name), "a digest").observe(ports(roots)),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_name_that_leads_out_reads_nothing(roots: Roots, reader: str) -> None:
    """Refused with a code, or nothing is there; never the bytes that lie outside."""
    for name in NAMES:
        answer = None
        with suppress(PortError, ValueError):
            answer = READERS[reader](roots, name)
        said = str(answer)
        assert SECRET.decode() not in said, name
        assert SHA not in said, name
        assert "root:" not in said, name


@given(st.text(alphabet="./\\\x00 ab\u2024\uff0e\u2215~%-", max_size=60))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_name_a_report_is_written_below_its_root(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    """The names that are taken are one plain component; nothing else is made anywhere."""
    top = tmp_path_factory.mktemp("r")
    with suppress(PortError):
        write_whole(top / "reports", {name: "x"})
    made = [path for path in top.rglob("*") if path.is_file()]
    assert made in ([], [top / "reports" / name])
    with suppress(ValidationError):
        taken = WriteReportArgs(source="recon.x", name=name).name
        assert "/" not in taken
        assert unicodedata.normalize("NFKC", taken) == taken
        assert not taken.startswith(".")


# ------------------------------------------------------------------------------------------- what is no file


def pipe(place: Path, outside: Path) -> None:
    """A pipe into which nobody writes."""
    os.mkfifo(place)


def link(place: Path, outside: Path) -> None:
    """A link to what lies outside."""
    place.symlink_to(outside)


def dangling(place: Path, outside: Path) -> None:
    """A link to nothing, through which a writer would make a file."""
    place.symlink_to(outside.with_name("made-through-a-link"))


def loop(place: Path, outside: Path) -> None:
    """A link to itself."""
    place.symlink_to(place.name)


def folder(place: Path, outside: Path) -> None:
    """A folder of that name."""
    place.mkdir()


def zeros(place: Path, outside: Path) -> None:
    """A device without an end."""
    place.symlink_to("/dev/zero")


KINDS = (pipe, link, dangling, loop, folder, zeros)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("root", ["sql", "files", "reports", "landing"])
def test_what_stands_in_the_place_of_a_file_is_not_read(roots: Roots, root: str, kind: Any) -> None:
    """In every root: no bytes from outside, no hang, and a code or an absence that says so."""
    outside = roots.sql.parent / "outside.sql"
    match root:
        case "sql":
            kind(roots.sql / "x.sql", outside)
            with pytest.raises(PortError, match=r"x\.sql"):
                sql_file.read_sql(roots.sql, "x.sql", SHA)
            assert "x.sql" not in read_sql(roots.sql)
            assert "x.sql" not in hash_sql(roots.sql)
        case "files":
            assert roots.files is not None
            kind(roots.files / "x.sql", outside)
            with pytest.raises(PortError):
                read_file(roots.files, "x.sql")
            assert SHA not in str(digests_under(roots.files, "x.sql") if kind is folder else digests_of(roots.files))
        case "reports":
            for suffix in ("md", "html", "json"):
                kind(roots.reports / f"x.{suffix}", outside)
            assert FiguresOfReport("x", "md").observe(ports(roots)).state == "absent"
            assert HashReport("x").observe(ports(roots)).state == "absent"
            with pytest.raises(PortError, match="not a file"):
                write_whole(roots.reports, {"x.md": "new"})
            assert not outside.with_name("made-through-a-link").exists()
        case _:
            place = roots.landed_path(SHA)
            place.parent.mkdir()
            kind(place, outside)
            with suppress(PortError):
                assert HashLanded(place, SHA).observe(ports(roots)).state == "absent"
            seen = None
            with suppress(PortError, OSError):
                seen = CountExtract(place, FileFormat()).observe(ports(roots))
            assert seen is None or seen.state == "absent"
    assert outside.read_bytes() == SECRET


def digests_of(root: Path) -> Any:
    """Of a folder inside, as the root itself is no name."""
    inner = root / "inner"
    inner.mkdir()
    for entry in root.glob("x.sql"):
        entry.rename(inner / entry.name)
    return digests_under(root, "inner")


def test_a_link_in_the_middle_of_a_path(roots: Roots, tmp_path: Path) -> None:
    """A folder that is a link leads out as a file would."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "x.sql").write_bytes(SECRET)
    assert roots.files is not None
    for root in (roots.sql, roots.files):
        (root / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PortError):
        sql_file.read_sql(roots.sql, "sub/x.sql", SHA)
    with pytest.raises(PortError):
        read_file(roots.files, "sub/x.sql")
    assert read_sql(roots.sql).keys() == {"q.sql"}
    with pytest.raises(OSError, match=r".*"):
        open_below(roots.sql, ("sub", "x.sql"))


@pytest.mark.parametrize("swapped", ["file", "folder"])
def test_replaced_between_the_look_and_the_opening(roots: Roots, tmp_path: Path, swapped: str) -> None:
    """Somebody swaps file and link all the time: whatever is read, it is never what lies outside."""
    assert roots.files is not None
    inner, elsewhere = roots.files / "inner", tmp_path / "elsewhere"
    for made in (inner, elsewhere):
        made.mkdir()
    (inner / "x").write_text("good")
    (elsewhere / "x").write_bytes(SECRET)
    aside, over = tmp_path / "aside", threading.Event()
    place, target = (inner / "x", elsewhere / "x") if swapped == "file" else (inner, elsewhere)

    def swap() -> None:
        while not over.is_set():
            place.rename(aside)
            place.symlink_to(target)
            place.unlink()
            aside.rename(place)

    attacker = threading.Thread(target=swap)
    attacker.start()
    try:
        read = set()
        for _ in range(3_000):
            with suppress(PortError):
                read.add(read_file(roots.files, "inner/x"))
    finally:
        over.set()
        attacker.join()
    assert read <= {b"good"}


def test_a_hard_link_is_written_beside_and_never_through(roots: Roots) -> None:
    """A report takes the place of the name; the file that had the name too keeps its bytes."""
    outside = roots.sql.parent / "outside.sql"
    os.link(outside, roots.reports / "x.md")
    write_whole(roots.reports, {"x.md": "new"})
    assert outside.read_bytes() == SECRET
    assert (roots.reports / "x.md").read_text() == "new"


def test_a_report_root_that_others_may_write(roots: Roots) -> None:
    """What somebody else put there before is no obstacle and no way out: parts have names nobody can know."""
    roots.reports.chmod(0o777)
    (roots.reports / ".x.md.part").symlink_to(roots.sql.parent / "outside.sql")
    write_whole(roots.reports, {"x.md": "new"})
    assert (roots.sql.parent / "outside.sql").read_bytes() == SECRET
    assert not (roots.reports / "x.md").is_symlink()


def test_a_sql_file_that_cannot_be_read_is_said(roots: Roots) -> None:
    """What it is decides what a plan may name, so nothing is left out in silence."""
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (roots.sql / "x.sql").write_text("select 1")
    (roots.sql / "x.sql").chmod(0)
    with pytest.raises(PlanexecError) as caught:
        hash_sql(roots.sql)
    assert caught.value.code == "BAD_CONTRACT"


# ------------------------------------------------------------------------------------------- the command line


CATALOGUE = {"tool": "t", "description": "", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize("which", ["plans", "catalogue"])
@pytest.mark.parametrize("kind", ["zero", "silent pipe", "folder", "socket"])
def test_files_named_on_the_command_line_come_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, which: str, kind: str
) -> None:
    """A device without an end, a pipe into which nobody writes: one document, a code, and soon."""
    monkeypatch.setattr(regular, "MOST_OF_A_STREAM", 3_000_000)  # the bound itself is a matter of seconds
    good = tmp_path / "catalogue.jsonl"
    good.write_text(json.dumps(CATALOGUE))
    place = tmp_path / "x"
    match kind:
        case "zero":
            place = Path("/dev/zero")
        case "silent pipe":
            os.mkfifo(place)
        case "folder":
            place.mkdir()
        case _:
            place = Path("/dev/full")
    plans, catalogue = (place, good) if which == "plans" else (good, place)
    answer = planexec("check", plans, "--catalogue", catalogue)
    assert answer.exit_code in {1, 5}
    assert answer.document["code"] in {"VALIDATION_ERROR", "BAD_CONTRACT"}


def test_a_pipe_that_is_written_to_is_read(tmp_path: Path) -> None:
    """As a shell's `<(...)`: also one whose writer takes its time."""
    os.mkfifo(tmp_path / "pipe")
    begun = threading.Event()

    def write() -> None:
        with (tmp_path / "pipe").open("wb") as out:
            begun.wait(20)
            out.write(b"good")

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    with open_named(tmp_path / "pipe", patience_s=20) as stream:
        begun.set()
        assert stream.read(100) == b"good"
    writer.join(5)


def test_a_pipe_into_which_nobody_writes_is_given_up(tmp_path: Path) -> None:
    """It would be waited for until somebody ends the process."""
    os.mkfifo(tmp_path / "pipe")
    with open_named(tmp_path / "pipe", patience_s=0.05) as stream, pytest.raises(OSError, match="nothing came"):
        stream.read(1)
