"""The extension for VS Code starts the server that there is, for the documents that it knows."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ssptool
from ssptool.cli.app import SUMMARIES
from ssptool.language_server.systems import SUFFIXES

NODE = shutil.which("node")
SYSTEM = Path(__file__).parents[2] / "systems" / "dual_mass_oscillator"
FOLDER = Path(__file__).parents[2] / "editors" / "vscode"


def test_the_extension_has_the_version_the_command_and_the_endings_of_the_server():
    stated = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    contributed = stated["contributes"]
    command = contributed["configuration"]["properties"]["ssptool.command"]["default"]
    assert stated["version"] == ssptool.__version__
    assert command[0] == "ssptool"
    assert command[1] in SUMMARIES
    assert contributed["languages"][0]["extensions"] == list(SUFFIXES)


def test_findings_of_the_task_appear_under_problems(tmp_path):
    system = Path(shutil.copytree(SYSTEM, tmp_path / "dual"))
    text = (system / "SystemStructure.ssd").read_text()
    (system / "SystemStructure.ssd").write_text(text.replace('endConnector="x1"', 'endConnector="x9"'))
    (matcher,) = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))["contributes"]["problemMatchers"]
    pattern = matcher["pattern"]
    command = [sys.executable, "-m", "ssptool", "validate", "dual", "--format", "github"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    found = [one for line in printed.splitlines() if (one := re.match(pattern["regexp"], line))]
    assert len(found) == printed.count("::error ") + printed.count("::notice ") > 5
    error = found[0]
    assert error[pattern["severity"]] == "error"
    assert (tmp_path / error[pattern["file"]]).samefile(system / "SystemStructure.ssd")
    line, first, last = (int(error[pattern[name]]) for name in ("line", "column", "endColumn"))
    assert text.splitlines()[line - 1].replace("x1", "x9", 2)[first - 1 : last - 1].endswith('endConnector="x9"')
    assert error[pattern["code"]] == "SSD-CONN-002"


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_parts_of_the_extension():
    assert NODE is not None
    names = {"SSPTOOL": str(Path(sys.executable).with_name("ssptool")), "SYSTEM": str(SYSTEM)}
    done = subprocess.run(
        [NODE, "--test", "test/"], cwd=FOLDER, env=os.environ | names, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    assert "# pass 5" in done.stdout
