"""Clients that open connections and send no whole request."""

import asyncio
import socket
import threading

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from websockets.sync.client import connect

from ssptool.studio import server
from tests.waiting import PATIENCE, until

SECONDS = 0.3


async def slow(_request):
    await asyncio.sleep(3 * SECONDS)
    return PlainTextResponse("done")


async def echo(page):
    await page.accept()
    await asyncio.sleep(3 * SECONDS)
    await page.send_text("still here")
    await page.close()


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(server, "HEADER_SECONDS", SECONDS)
    listening = socket.create_server(("127.0.0.1", 0))
    app = Starlette(routes=[Route("/", slow), WebSocketRoute("/calls", echo)])
    config = uvicorn.Config(app, http=server.PromptProtocol, ws="websockets-sansio", log_level="error", lifespan="off")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    until(lambda: running.started)
    yield listening.getsockname()[1]
    running.should_exit = True
    thread.join(PATIENCE)


def received(client):
    client.settimeout(PATIENCE)
    found = b""
    while part := client.recv(4096):
        found += part
    return found


@pytest.mark.parametrize(
    "begun", [b"", b"GET ", b"GET / HTTP/1.1\r\nHost: here\r\nX: "], ids=["nothing", "verb", "head"]
)
def test_a_connection_without_a_whole_head_is_closed(port, begun):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(begun)
        assert received(client) == b""


def test_a_head_that_stops_after_a_request_is_closed(port):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
        client.sendall(b"GET / HTTP/1.1\r\nHost: ")
        assert b"HTTP/1.1" not in received(client)


def test_answers_and_pages_may_take_longer(port):
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        assert received(client).endswith(b"done")
    with connect(f"ws://127.0.0.1:{port}/calls") as page:
        assert page.recv(timeout=PATIENCE) == "still here"
