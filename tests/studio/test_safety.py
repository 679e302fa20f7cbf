"""Nobody but the page itself reaches the studio: neither other machines nor other pages of the browser."""

import http.client
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import ssptool
from tests.cli.browser import browser
from tests.studio.conftest import SYSTEMS


@pytest.fixture(scope="module")
def address(studio):
    return urlsplit(studio(SYSTEMS / "dual_mass_oscillator", "--read-only"))


def status(address, path: str, method: str = "GET", **headers: str) -> int:
    client = http.client.HTTPConnection(address.hostname, address.port, timeout=10)
    client.request(method, path, headers={name.capitalize(): value for name, value in headers.items()})
    return client.getresponse().status


def test_the_address_has_a_secret_and_others_are_refused(address):
    assert len(address.path.strip("/")) >= 32
    assert status(address, address.path) == 200
    for path in ("/", "/page/main.js", "/wrong/", address.path[:-3] + "/", "/files?name=x"):
        assert status(address, path) == 403, path


def test_other_hosts_and_origins_are_refused(address):
    assert status(address, address.path, host="evil.example") == 403
    assert status(address, address.path, host=f"evil.example:{address.port}") == 403
    assert status(address, address.path, origin="http://evil.example") == 403
    assert status(address, address.path, origin=f"http://{address.netloc}") == 200
    assert status(address, address.path + "files?name=x.fmu", "POST", origin="http://evil.example") == 403
    assert status(address, address.path + "files?name=x.fmu", "POST") == 403


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
def test_calls_come_from_the_own_page_only(address, origin):
    with pytest.raises(InvalidStatus) as refused:
        connect(f"ws://{address.netloc}{address.path}calls", origin=origin)
    assert refused.value.response.status_code == 403
    with connect(f"ws://{address.netloc}{address.path}calls", origin=f"http://{address.netloc}") as calls:
        calls.send('{"id": 1, "call": "save"}')
        assert "cannot be changed here: the server was started with --read-only" in calls.recv()


def test_it_listens_on_the_loopback_interface_only(address):
    own = next((one[4][0] for one in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)), address.hostname)
    if own.startswith("127."):
        pytest.skip("this machine has no other address")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((own, address.port), timeout=5)


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
    assert page.errors == []
