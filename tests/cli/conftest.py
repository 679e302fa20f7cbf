"""The command, called as a user calls it but in this process."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ssptool.cli.app import command

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ssptool(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """Run the command in an empty folder; gives (exit status, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSPTOOL_DEBUG", "")  # which `--debug` sets, restored after the test

    def call(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ssptool", *map(str, arguments)])
        with pytest.raises(SystemExit) as ending:
            command()
        printed = capsys.readouterr()
        return int(ending.value.code or 0), printed.out, printed.err

    return call
