"""The command, called as a user calls it but in this process."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ssptool.cli.app import command
from tests.cli.browser import CHROMIUM

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


@pytest.fixture
def page() -> Iterator[Any]:
    """A page of headless Chromium, which collects errors of scripts in `page.errors`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engines:
        chromium = engines.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page: Any = chromium.new_page(viewport={"width": 1200, "height": 900})
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("request", lambda request: request.url.startswith("http") and page.errors.append(request.url))
        yield page
        chromium.close()
