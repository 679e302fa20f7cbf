"""Draw docs/images/studio*.png: pages of the studio in headless Chromium (SSPTOOL_CHROMIUM names one)."""

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent
SYSTEM = ROOT / "systems" / "dual_mass_oscillator"
IMAGES = ROOT / "docs" / "images"
CHROMIUM = os.environ.get("SSPTOOL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
SIZE = {"width": 1280, "height": 720}


@contextmanager
def studio(system: Path) -> Iterator[tuple[str, str]]:
    """A studio of the system: the address of its page, and the cookie that its requests need, as `name=value`."""
    command = [sys.executable, "-m", "ssptool", "studio", str(system), "--no-browser"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = re.search(r"http://\S+", process.stdout.readline())
        assert printed is not None
        parts = urlsplit(printed[0])
        client = http.client.HTTPConnection(parts.netloc)
        client.request("GET", f"{parts.path}?{parts.query}")
        answer = client.getresponse()
        page = re.search(r'href="([^"]+)"', answer.read().decode())
        assert page is not None
        yield f"http://{parts.netloc}{page[1]}", answer.headers["Set-Cookie"].partition(";")[0]
        process.send_signal(signal.SIGINT)


def opened(browser: Any, address: str, cookie: str) -> Any:
    page = browser.new_page(viewport=SIZE)
    name, value = cookie.split("=", 1)
    page.context.add_cookies([{"name": name, "value": value, "url": address}])
    page.goto(address)
    page.locator("ssp-diagram svg").wait_for()
    return page


def save(page: Any, name: str) -> None:
    page.wait_for_timeout(500)  # transitions of the page
    page.screenshot(path=IMAGES / name)
    print(IMAGES / name)


def explored(page: Any) -> None:
    """A system with the values of an element, and their origins."""
    page.locator(".wire.loop").first.wait_for(state="attached")
    page.locator(".block[data-of=System1] .frame").click()
    page.locator("summary", has_text="System1.m1 = 1 kg").click()
    save(page, "studio.png")


def run(page: Any) -> None:
    """The curves of a run, with its accuracy."""
    page.set_viewport_size({**SIZE, "height": 960})
    page.keyboard.press("Escape")
    page.get_by_role("tab", name="Run").click()
    page.get_by_label("Stop time").fill("5")
    page.locator("#run").click()
    page.locator(".runs li", has_text="completed").wait_for()
    page.wait_for_function("() => document.querySelector('.accuracy')?.textContent.includes('of the range of')")
    save(page, "studio_run.png")


def main() -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as engines:
        folder = Path(name) / SYSTEM.name
        shutil.copytree(SYSTEM, folder)
        browser = engines.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        with studio(folder) as (address, cookie):
            page = opened(browser, address, cookie)
            explored(page)
            run(page)
        browser.close()


if __name__ == "__main__":
    main()
