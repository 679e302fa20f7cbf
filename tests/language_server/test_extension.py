"""The extension for VS Code starts the server that there is, for the documents that it knows."""

import json
from pathlib import Path

import ssptool
from ssptool.cli.app import SUMMARIES
from ssptool.language_server.systems import SUFFIXES

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"


def test_the_extension_has_the_version_the_command_and_the_endings_of_the_server():
    stated = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
    contributed = stated["contributes"]
    command = contributed["configuration"]["properties"]["ssptool.command"]["default"]
    assert stated["version"] == ssptool.__version__
    assert command[0] == "ssptool"
    assert command[1] in SUMMARIES
    assert contributed["languages"][0]["extensions"] == list(SUFFIXES)
