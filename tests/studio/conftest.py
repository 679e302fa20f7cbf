"""A studio in a process of its own, and a page of headless Chromium that shows it."""

import http.client
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.cli.browser import CHROMIUM
from tests.waiting import PATIENCE

SYSTEMS = Path(__file__).parents[2] / "systems"


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders that other studios have used are not those of a test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def copy_of(name: str, folder: Path) -> Path:
    """One of the example systems, to be edited."""
    return Path(shutil.copytree(SYSTEMS / name, folder / name))


COOKIES: dict[str, str] = {}
"""Address of a studio → the cookie that its requests need, as `name=value`."""


def opened(address: str) -> str:
    """Use a printed address; gives that of the page, whose cookie is in `COOKIES`."""
    parts = urlsplit(address)
    client = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
    client.request("GET", f"{parts.path}?{parts.query}")
    answer = client.getresponse()
    found = re.search(r'href="([^"]+)"', answer.read().decode())
    assert found is not None
    page = f"http://{parts.netloc}{found[1]}"
    COOKIES[page] = answer.headers["Set-Cookie"].partition(";")[0]
    return page


def _studios() -> Iterator[Callable[..., str]]:
    """Start `ssptool studio` with arguments; gives the address of its page."""
    started: list[subprocess.Popen[str]] = []
    state = TemporaryDirectory()  # studios of other tests have used other folders
    names = os.environ | {"XDG_STATE_HOME": state.name}

    def start(*arguments: object, cwd: Path | None = None) -> str:
        command = [sys.executable, "-m", "ssptool", "studio", *map(str, arguments), "--no-browser"]
        pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
        started.append(subprocess.Popen(command, stdin=nothing, stdout=pipe, text=True, cwd=cwd, env=names))
        assert started[-1].stdout is not None
        found = re.search(r"http://\S+", started[-1].stdout.readline())
        assert found is not None
        return opened(found[0])

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    state.cleanup()


studio = pytest.fixture(_studios)
"""For one test, which may edit."""
shared_studio = pytest.fixture(scope="module")(_studios)
"""For tests that leave the system as it is."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    """Headless Chromium; only one can run in a process."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engines:
        browser = engines.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def chromium(engine: Any) -> Iterator[Any]:
    """Opens pages at an address for one test; no script of theirs fails, and they request nothing from elsewhere."""
    pages: list[Any] = []

    def shown(address: str) -> Any:
        page: Any = engine.new_page(viewport={"width": 1280, "height": 720})
        pages.append(page)
        name, value = COOKIES[address].split("=", 1)
        page.context.add_cookies([{"name": name, "value": value, "url": address}])
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("request", lambda one: address in one.url or page.errors.append(one.url))
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(address)
        page.locator("ssp-diagram svg").wait_for()
        return page

    yield shown
    assert [page.errors for page in pages] == [[] for _ in pages]
    for page in pages:
        page.close()


def box_of(page: Any, selector: str, scroll: bool = False) -> dict[str, float]:
    """Where an element is on the screen, if need be after scrolling, whether or not it is drawn anew meanwhile."""
    found = page.wait_for_function(
        """([selector, scroll]) => {
            const element = document.querySelector(selector);
            if (element && scroll) element.scrollIntoView({block: 'nearest'});
            return element?.getBoundingClientRect().toJSON();
        }""",
        arg=[selector, scroll],
    )
    return dict(found.json_value())


def connector_at(page: Any, element: str, name: str) -> tuple[float, float]:
    """The middle of a connector on the screen."""
    found = box_of(page, f".block[data-of='{element}'] .connector[data-pins='[\"{name}\"]'] .pin")
    return found["x"] + found["width"] / 2, found["y"] + found["height"] / 2


def drag(page: Any, start: tuple[float, float], end: tuple[float, float], lit: str = "") -> None:
    """Press, move and release the mouse; `lit` is what has to be there before the end."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=2)
    if lit:
        page.locator(lit).first.wait_for(state="attached")
    page.mouse.move(*end, steps=2)
    page.mouse.up()
