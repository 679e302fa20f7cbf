"""The shell completes names of the system that the command line names."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

OSCILLATOR = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"


def completed(line: str) -> list[str]:
    """Proposals for the last word of a line, as bash asks for them."""
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1), "_SSPTOOL_COMPLETE": "complete_bash"}
    program = "import sys; sys.argv = ['ssptool']; from ssptool.cli.app import command; command()"
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("explain s System1.x", {"System1.x1", "System1.x1_start"}),
        ("connect s System1.F System2.F", {"System2.F", "System2.F_spring2"}),
        ("set s System2.k", {"System2.k2=", "System2.k3="}),
        ("run s --set System2.k", {"System2.k2=", "System2.k3="}),
        ("run s --stop-time 1 --record System2.v", {"System2.v2", "System2.v1"}),
        ("sweep s System1.m", {"System1.m1="}),
        ("info s Sys", {"System1", "System2"}),
        ("explain nothing Sys", set()),
    ],
)
def test_names_of_the_system_are_offered(tmp_path, monkeypatch, line, offered):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(OSCILLATOR, "s")
    assert set(completed(f"ssptool {line}")) == offered
