"""A disk that takes no more: the message names the file, which is as it was before, or not there."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import ssptool
from tests.waiting import PATIENCE

pytestmark = pytest.mark.one_in(3)

SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
MOST = 1000


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("results") / "r.csv"
    ssptool.simulate(SYSTEM, stop_time=0.05, step_size=0.001, output=path)
    return path


def on_a_full_disk(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """The command in a process whose files may not be larger than some bytes."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST, MOST))

    # Compiled modules would be cut short as well, for everybody.
    command = [sys.executable, "-B", "-m", "ssptool", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, preexec_fn=limit, capture_output=True, text=True, timeout=PATIENCE)


COMMANDS = {
    "draw": (["d.svg"], lambda result, file: ["draw", SYSTEM, "--output", file]),
    "plot": (["p.png", "p.svg", "p.html"], lambda result, file: ["plot", result, "--output", file]),
    "compare": (["c.pdf"], lambda result, file: ["compare", result, result, "--plot", file]),
    "report": (["r.html"], lambda result, file: ["report", SYSTEM, result, "--output", file]),
    "validate": (["v.sarif"], lambda result, file: ["validate", SYSTEM, "--format", "sarif", "--output", file]),
    "pack": (["p.ssp"], lambda result, file: ["pack", SYSTEM, file]),
}


@pytest.mark.parametrize(("command", "name"), [(name, file) for name, (files, _) in COMMANDS.items() for file in files])
@pytest.mark.parametrize("earlier", [None, b"earlier"], ids=["new", "there"])
def test_what_cannot_be_written_whole_is_not_written(tmp_path, results, command, name, earlier):
    if earlier is not None:
        (tmp_path / name).write_bytes(earlier)
    done = on_a_full_disk(tmp_path, *COMMANDS[command][1](results, tmp_path / name))
    assert done.returncode == 2, done
    assert f"{name}: file too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ([name] if earlier else [])
    assert earlier is None or (tmp_path / name).read_bytes() == earlier
