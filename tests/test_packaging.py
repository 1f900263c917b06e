"""The wheel holds the plugin, all of it and nothing else."""

import configparser
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "dagster_planexec"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
DIST_INFO = f"dagster_planexec-{VERSION}.dist-info"

# One worker builds the wheel once for all of these.
pytestmark = pytest.mark.xdist_group("packaging")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this tree, built by the installed hatchling, so without network."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    with ZipFile(built) as opened:
        yield opened


def files_of_the_package() -> set[str]:
    """Paths as the wheel names them; byte code and hidden folders are caches, not sources."""
    paths = (path.relative_to(ROOT) for path in PACKAGE.rglob("*") if path.is_file())
    return {
        path.as_posix()
        for path in paths
        if "__pycache__" not in path.parts and not any(part.startswith(".") for part in path.parts)
    }


def test_wheel_holds_only_the_plugin(wheel):
    tops = {name.split("/")[0] for name in wheel.namelist()}

    assert tops == {"dagster_planexec", DIST_INFO}


def test_wheel_holds_every_file_of_the_plugin(wheel):
    left_out = files_of_the_package() - set(wheel.namelist())

    assert left_out == set(), f"left out of the wheel (a pattern in .gitignore?): {sorted(left_out)}"


def test_wheel_holds_the_data_files(wheel):
    data = {name for name in files_of_the_package() if name.endswith((".j2", ".json", ".yaml"))}

    assert data, "the package is expected to ship dagster.yaml and report templates"
    assert data <= set(wheel.namelist())


def test_wheel_holds_the_licence(wheel):
    assert wheel.read(f"{DIST_INFO}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()


def test_planexec_command_can_be_loaded(wheel):
    declared = configparser.ConfigParser()
    declared.read_string(wheel.read(f"{DIST_INFO}/entry_points.txt").decode())
    value = declared["console_scripts"]["planexec"]

    assert callable(EntryPoint("planexec", value, "console_scripts").load())
