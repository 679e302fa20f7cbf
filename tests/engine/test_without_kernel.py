"""An installation without a compiler checks, explains and plans systems, and says what running them needs."""

import subprocess
import sys
from pathlib import Path

import pytest

SYSTEM = str(Path(__file__).parents[2] / "systems/dual_mass_oscillator")
WITHOUT = """
import sys

class NotBuilt:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("ssptool.") and name.rpartition(".")[2] in ("_kernel", "_messages"):
            raise ImportError(name)

sys.meta_path.insert(0, NotBuilt())
from ssptool.cli.main import main
main()
"""


def called(*arguments):
    return subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["validate", "plan", "graph"])
def test_nothing_is_missing_where_nothing_runs(command):
    done = called(command, SYSTEM)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert done.stdout


@pytest.mark.parametrize("place", [(), ("--in-process",)], ids=["child", "here"])
def test_a_run_is_refused_with_what_it_needs(tmp_path, place):
    output = tmp_path / "r.csv"
    done = called("run", SYSTEM, "-o", str(output), *place)
    assert done.returncode != 0
    assert "without a compiler: install a wheel" in done.stderr and "Traceback" not in done.stderr
    assert not output.exists()
