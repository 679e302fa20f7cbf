"""Server of the studio: pages, their calls over a web socket, and files that users drop on them.

It listens on the loopback interface only. `access` recognizes requests of its own pages and rejects other machines,
other users and other pages of the browser.
"""

import asyncio
import errno
import json
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
import webbrowser
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect
from uvicorn.protocols.http.h11_impl import H11Protocol

from ssptool.drawing.plot import dark_style
from ssptool.editing.names import SharedStructure
from ssptool.engine.run.recorder import interrupts_deferred
from ssptool.errors import WrongUsage, is_own
from ssptool.foreign_text import json_text
from ssptool.studio.access import CODE_SECONDS, HEADERS, LOOPBACK, Guard, PageAccess
from ssptool.studio.calls import PageCalls
from ssptool.studio.session import EditSession
from ssptool.tempfiles import TemporaryFolder

DISK_SECONDS = 1.0
"""Interval of checks of the files on disk [s]."""
MOST_UPLOADED = 2 << 30
"""Largest size of a file that a user drops on a page [byte]."""
MOST_CONNECTIONS = 100
"""Largest number of connections at the same time; a page has one permanent connection, and briefly a few others."""
HEADER_SECONDS = 10.0
"""Time in which the head of a request must be complete [s]."""
_FIRST_PORT, _PORTS = 49152, 16384
"""First port and number of ports that are not registered for services."""
TYPES = {".js": "text/javascript", ".css": "text/css"}


class Studio:
    """The open pages, and their calls."""

    def __init__(self, session: EditSession, scratch: Path) -> None:
        self._pages: dict[WebSocket, asyncio.Queue[dict[str, Any]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scratch = scratch
        self._numbers = count(1)
        self.calls = PageCalls(session, self.tell)

    def app(self, folder: str) -> Starlette:
        routes = [
            Route("/", self._page),
            Route("/page/{name}", _resource),
            Route("/plotly.js", _plotly),
            Route("/files", self._upload, methods=["POST"]),
            WebSocketRoute("/calls", self._serve),
        ]
        return Starlette(routes=[Mount(f"/{folder}", routes=routes)], lifespan=self._lifespan)

    def tell(self, event: dict[str, Any]) -> None:
        """Send an event to all pages; may be called from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._tell, event)

    def _tell(self, event: dict[str, Any]) -> None:
        for queue in self._pages.values():
            queue.put_nowait(event)

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        tasks = [asyncio.create_task(self._watch()), asyncio.create_task(run_in_threadpool(self.calls.prepare))]
        yield
        for task in tasks:
            task.cancel()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(DISK_SECONDS)
            if self._pages:
                await run_in_threadpool(self.calls.look_at_disk)
            with suppress(OSError):  # said at the end, if it is so then
                await run_in_threadpool(self.calls.keep)

    async def _page(self, request: Request) -> Response:
        if not request.url.path.endswith("/"):
            return Response(status_code=404)
        return HTMLResponse(_text("index.html"), headers=HEADERS)

    async def _upload(self, request: Request) -> Response:
        """Receive a file that was dropped on a page; the response is its path, which edits refer to."""
        name = Path(request.query_params.get("name", "")).name
        if not name or name.startswith("."):
            return JSONResponse({"error": "a file needs a name"}, status_code=400, headers=HEADERS)
        folder = self._scratch / str(next(self._numbers))
        folder.mkdir()
        size = 0
        try:
            with (folder / name).open("wb") as file:
                async for part in request.stream():
                    size += len(part)
                    if size > MOST_UPLOADED:
                        raise WrongUsage(f"{name} has more than {MOST_UPLOADED >> 20} MiB: put it beside the system")
                    file.write(part)
        except (OSError, ValueError, WrongUsage) as problem:
            shutil.rmtree(folder)
            return JSONResponse({"error": str(problem)}, status_code=400, headers=HEADERS)
        return JSONResponse({"path": str(folder / name)}, headers=HEADERS)

    async def _serve(self, socket: WebSocket) -> None:
        await socket.accept()
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._pages[socket] = queue
        sender = asyncio.create_task(_send_all(socket, queue))
        running: set[asyncio.Task[None]] = set()
        try:
            while True:
                task = asyncio.create_task(self._answer(await socket.receive_text(), queue))
                running.add(task)
                task.add_done_callback(running.discard)
        except WebSocketDisconnect:
            pass
        finally:
            del self._pages[socket]
            sender.cancel()

    async def _answer(self, message: str, queue: "asyncio.Queue[dict[str, Any]]") -> None:
        """Do a call in a thread; the page gets each error as a sentence."""
        try:
            stated = json.loads(message)
            number, name, arguments = stated["id"], stated["call"], stated.get("arguments", {})
        except (ValueError, KeyError, TypeError, RecursionError):
            return
        try:
            answer = await run_in_threadpool(partial(self.calls.call, name, arguments))
            queue.put_nowait({"id": number, "answer": answer})
        except Exception as problem:
            shared = isinstance(problem, SharedStructure)
            queue.put_nowait({"id": number, "error": sentence(problem), "shared": shared})


class PromptProtocol(H11Protocol):
    """HTTP that closes connections on which no complete head of a request arrives in time."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait()

    def handle_websocket_upgrade(self, event: Any) -> None:
        self._stop_waiting()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


async def _send_all(socket: WebSocket, queue: "asyncio.Queue[dict[str, Any]]") -> None:
    while True:
        await socket.send_text(json_text(await queue.get(), separators=(",", ":")))


def sentence(problem: Exception) -> str:
    """Text of an error for the user of a page, without references to command-line options."""
    if is_own(problem) or isinstance(problem, OSError | ValueError):
        return str(problem.args[0]) if isinstance(problem, KeyError) and problem.args else str(problem)
    return f"internal error: {type(problem).__name__}: {problem}. This is a bug of ssptool, please report it"


async def _resource(request: Request) -> Response:
    """A script or style sheet of the page."""
    name = request.path_params["name"]
    if re.fullmatch(r"[a-z_]+\.(js|css)", name) is None or not (_folder() / name).is_file():
        return Response(status_code=404, headers=HEADERS)
    text = _text(name) + (dark_style() if name == "style.css" else "")
    return Response(text, media_type=TYPES[Path(name).suffix], headers=HEADERS)


async def _plotly(_request: Request) -> Response:
    """The plotting library, from its package; it does not change while the server runs."""
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped, unused-ignore]  # heavy

    return Response(get_plotlyjs(), media_type=TYPES[".js"], headers={**HEADERS, "Cache-Control": "max-age=86400"})


def _folder() -> Any:
    return files("ssptool.studio") / "page"


def _text(name: str) -> str:
    text: str = (_folder() / name).read_text(encoding="utf-8")
    return text


def serve(session: EditSession, *, port: int, say: Callable[[str], None], browser: bool) -> None:
    """Serve pages until the program is interrupted. `say` receives the addresses. Raises OSError if the port is in
    use.
    """
    with _listening(port, session.path) as listening, TemporaryFolder() as scratch:
        port = listening.getsockname()[1]
        access, studio = PageAccess(port), Studio(session, Path(scratch))
        config = uvicorn.Config(
            Guard(studio.app(access.folder), access, port),
            log_level="error",
            access_log=False,
            http=PromptProtocol,
            ws="websockets-sansio",
            ws_per_message_deflate=False,  # no gain on the same machine
            lifespan="on",
            timeout_graceful_shutdown=1,
            limit_concurrency=MOST_CONNECTIONS,
        )
        say(f"{access.new_address()} (works once, within {CODE_SECONDS:g} s; press Enter for another address)")
        if browser:
            webbrowser.open(access.page_for_browser(Path(scratch)).as_uri())
        if sys.platform != "win32":
            # In the background, a read fails instead of stopping the process.
            signal.signal(signal.SIGTTIN, signal.SIG_IGN)
        threading.Thread(target=_say_addresses, args=(access, say), daemon=True).start()
        with suppress(KeyboardInterrupt), closing(studio.calls):
            try:
                with _ended_by_hangup():
                    uvicorn.Server(config).run(sockets=[listening])
            finally:
                with interrupts_deferred():
                    studio.calls.keep()


@contextmanager
def _ended_by_hangup() -> Iterator[None]:
    """Context in which closing the terminal ends the server like SIGTERM."""
    number = getattr(signal, "SIGHUP", None)
    if number is None or signal.getsignal(number) is signal.SIG_IGN:  # started with nohup
        yield
        return
    before = signal.signal(number, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(number, before)


def _listening(port: int, system: Path) -> socket.socket:
    """A socket on a port of this machine; 0: the port of the last time for this system if it is free, otherwise any
    port.

    Pages of a server that has ended look for the next server on their own port.
    """
    if port == 0:
        usual = _FIRST_PORT + zlib.crc32(os.fsencode(system.absolute())) % _PORTS
        with suppress(OSError):
            return socket.create_server((LOOPBACK, usual))
    return socket.create_server((LOOPBACK, port))


_STDIN, _BACKGROUND_SECONDS = 0, 1.0


def _say_addresses(access: PageAccess, say: Callable[[str], None]) -> None:
    """Print a new address for each Enter on standard input, until standard input ends."""
    while True:
        try:
            # not via `sys.stdin`, whose lock the interpreter needs at its end
            if not os.read(_STDIN, 1024):
                return
        except OSError as problem:
            if problem.errno != errno.EIO:
                return
            time.sleep(_BACKGROUND_SECONDS)
            continue
        say(access.new_address())
