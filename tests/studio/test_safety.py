"""Nobody but the page itself reaches the studio: neither other users or machines nor other pages of the browser."""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from starlette.routing import WebSocketRoute
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import ssptool
from ssptool.studio import access
from ssptool.studio.access import PageAccess
from ssptool.studio.server import Studio
from ssptool.studio.session import EditSession
from tests.cli.browser import browser
from tests.studio.conftest import COOKIES, SYSTEMS
from tests.waiting import PATIENCE, until

SYSTEM = SYSTEMS / "dual_mass_oscillator"


@pytest.fixture(scope="module")
def address(shared_studio):
    return urlsplit(shared_studio(SYSTEM, "--read-only"))


def answer(address, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    client = http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)
    client.request(method, path, headers={name.capitalize(): value for name, value in headers.items()})
    return client.getresponse()


def status(address, path: str, method: str = "GET", **headers: str) -> int:
    """With the cookie of the page, unless the headers have another one."""
    return answer(address, path, method, **{"cookie": COOKIES[address.geturl()], **headers}).status


def test_the_address_has_a_secret_and_others_are_refused(address):
    assert len(address.path.strip("/")) >= 32
    assert status(address, address.path) == 200
    for path in ("/", "/page/main.js", "/wrong/", address.path[:-3] + "/", "/files?name=x", "/open", "/open?code=x"):
        assert status(address, path) == 403, path


def test_no_route_answers_without_the_cookie(address, tmp_path):
    routes = Studio(EditSession(SYSTEM), tmp_path).app("folder").routes[0].routes
    own, origin = COOKIES[address.geturl()], f"http://{address.netloc}"
    name, value = own.split("=", 1)
    assert len(routes) >= 5
    for wrong in ("", f"{name}=", f"{name}=x", f"other={value}", f"{name}={value[:-1]}"):
        for route in routes:
            path = address.path + route.path.lstrip("/").replace("{name}", "main.js")
            if isinstance(route, WebSocketRoute):
                with pytest.raises(InvalidStatus) as refused:
                    connect(f"ws://{address.netloc}{path}", origin=origin, additional_headers={"Cookie": wrong})
                assert refused.value.response.status_code == 403
            else:
                for method in route.methods:
                    assert status(address, path, method, origin=origin, cookie=wrong) == 403, (path, method)


def test_other_hosts_and_origins_are_refused(address):
    assert status(address, address.path, host="evil.example") == 403
    assert status(address, address.path, host=f"evil.example:{address.port}") == 403
    assert status(address, address.path, origin="http://evil.example") == 403
    assert status(address, address.path, origin=f"http://{address.netloc}") == 200
    assert status(address, address.path + "files?name=x.fmu", "POST", origin="http://evil.example") == 403
    assert status(address, address.path + "files?name=x.fmu", "POST") == 403


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
def test_calls_come_from_the_own_page_only(address, origin):
    calls, cookie = f"ws://{address.netloc}{address.path}calls", {"Cookie": COOKIES[address.geturl()]}
    with pytest.raises(InvalidStatus) as refused:
        connect(calls, origin=origin, additional_headers=cookie)
    assert refused.value.response.status_code == 403
    with connect(calls, origin=f"http://{address.netloc}", additional_headers=cookie) as own:
        own.send('{"id": 1, "call": "save"}')
        assert "cannot be changed here: the server was started with --read-only" in own.recv()


# -- how a page gets its cookie

LOOK = """import json, os, pathlib, sys, urllib.parse
page = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path))
seen = {"arguments": sys.argv, "modes": [page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777],
        "content": page.read_text()}
pathlib.Path(__file__).with_name("part").write_text(json.dumps(seen))
pathlib.Path(__file__).with_name("part").rename(pathlib.Path(__file__).with_name("seen"))
"""
"""A browser that only writes down how it was started."""


class Started:
    """A studio whose terminal and browser are pipes and files."""

    def __init__(self, folder: Path) -> None:
        (folder / "look.py").write_text(LOOK, encoding="utf-8")
        self._seen = folder / "seen"
        environment = {**os.environ, "BROWSER": f"{sys.executable} {folder / 'look.py'} %s"}
        command = [sys.executable, "-m", "ssptool", "studio", str(SYSTEM), "--read-only"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, bufsize=1
        )

    def printed(self):
        return urlsplit(re.search(r"http://\S+", self.process.stdout.readline())[0])

    def browser(self):
        until(lambda: self._seen.exists() or self.process.poll() is not None)
        return json.loads(self._seen.read_text(encoding="utf-8"))

    def enter(self):
        self.process.stdin.write("\n")


@pytest.fixture
def started(tmp_path):
    one = Started(tmp_path)
    yield one
    one.process.terminate()
    one.process.communicate(timeout=PATIENCE)


def code_of(address) -> str:
    return parse_qs(address.query)["code"][0]


def used(address) -> http.client.HTTPResponse:
    return answer(address, f"{address.path}?{address.query}")


@pytest.mark.skipif(sys.platform == "win32", reason="BROWSER has no effect")
def test_the_browser_gets_a_private_file_and_no_secret(started):
    printed, seen = started.printed(), started.browser()
    inside = urlsplit(re.search(r'href="([^"]*)"', seen["content"])[1])
    assert seen["modes"] == [0o600, 0o700]
    running = Path(f"/proc/{started.process.pid}/cmdline")
    arguments = " ".join(seen["arguments"]) + (running.read_text(encoding="utf-8") if running.exists() else "")
    opened = used(inside)
    assert opened.status == 200 and code_of(inside) != code_of(printed)
    cookie = SimpleCookie(opened.headers["Set-Cookie"])[f"ssptool-studio-{printed.port}"]
    for secret in (code_of(printed), code_of(inside), cookie.value, cookie["path"].strip("/")):
        assert len(secret) >= 32 and secret not in arguments


def test_a_code_works_once_and_enter_prints_another_one(started):
    printed = started.printed()
    assert answer(printed, f"{printed.path}?{printed.query}", "HEAD").status == 403  # looked at, not used
    assert used(printed).status == 200
    again = used(printed)
    assert again.status == 403 and b"Press Enter" in again.read() and "Set-Cookie" not in again.headers
    started.enter()
    other = started.printed()
    assert code_of(other) != code_of(printed) and used(other).status == 200


def test_a_code_is_of_our_host_and_no_foreign_page(started):
    printed = started.printed()
    path = f"{printed.path}?{printed.query}"
    assert answer(printed, path, host=f"evil.example:{printed.port}").status == 403
    assert answer(printed, path, origin="http://evil.example").status == 403
    assert used(printed).status == 200


def test_a_code_is_refused_after_its_time(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(access.time, "monotonic", lambda: now[0])
    own = PageAccess(4711)
    early, late = (urlsplit(own.new_address()) for _ in range(2))
    now[0] += access.CODE_SECONDS - 1
    assert own.opened(code_of(early)).status_code == 200
    now[0] += 1
    assert own.opened(code_of(late)).status_code == 403


def test_the_cookie_is_for_this_server_and_not_for_scripts():
    own = PageAccess(4711)
    cookie = SimpleCookie(own.opened(code_of(urlsplit(own.new_address()))).headers["Set-Cookie"])["ssptool-studio-4711"]
    assert cookie["httponly"] and cookie["samesite"].lower() == "strict" and not cookie["domain"]
    # Another port of this host gets it only if it knows the folder.
    assert cookie["path"] == f"/{own.folder}/" and len(own.folder) >= 32 and own.folder != cookie.value


@browser
@pytest.mark.parametrize("by", ["file", "address"])
def test_a_real_browser_is_led_to_the_page(started, engine, by, tmp_path):
    printed, seen = started.printed(), started.browser()
    (tmp_path / "copy.html").write_text(seen["content"], encoding="utf-8")
    page = engine.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto((tmp_path / "copy.html").as_uri() if by == "file" else printed.geturl())
    page.locator("ssp-diagram svg").wait_for()
    assert "code=" not in page.url and page.evaluate("document.cookie") == ""
    page.reload()
    page.locator("ssp-diagram svg").wait_for()
    page.close()


def test_it_listens_on_the_loopback_interface_only(address):
    own = next((one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), address.hostname)
    if own.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((own, address.port), timeout=PATIENCE)


def test_no_file_but_those_of_the_page_is_served(address):
    for path in ("page/../server.py", "page/%2e%2e/server.py", "page/index.html", "page/nothere.js"):
        assert status(address, address.path + path) in (403, 404), path
    assert status(address, address.path + "page/main.js") == 200


def test_without_the_extra_the_command_says_how_to_install_it():
    code = (
        "import sys; sys.modules['starlette.applications'] = None; sys.argv = ['ssptool', 'studio']; "
        "from ssptool.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: the studio needs starlette: pip install 'ssptool[studio]'\n"


@browser
def test_names_and_texts_of_files_are_shown_as_text(studio, chromium, tmp_path):
    evil = "<img src=x onerror=\"document.title='caught'\">"
    with ssptool.new(
        tmp_path / "evil", SYSTEMS / "dual_mass_oscillator" / "resources" / "System1.fmu", name=evil
    ) as editor:
        editor.rename("System1", evil).add_system("inner").system.elements[0].description = f"</title>{evil}"
    page = chromium(studio(tmp_path / "evil"))
    page.get_by_role("complementary", name="Systems").get_by_role("button", name=evil).nth(1).click()
    page.get_by_role("heading", name=evil).nth(1).wait_for()
    page.get_by_role("tab", name="Parameters").click()
    page.get_by_role("button", name=f"{evil}.m1").wait_for()
    assert evil in page.title()
    assert page.locator("img").count() == 0
