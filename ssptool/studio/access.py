"""Access to the studio: one-time codes that open a page, and the cookie that identifies requests of the page.

Every user of the machine can read the arguments of programs, such as the address in the command of a browser. Therefore
the browser gets the name of a file that only its owner can read, and the file contains an address that works once.
"""

import os
import secrets
import time
from pathlib import Path

from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ssptool.foreign_text import html_text

LOOPBACK = "127.0.0.1"
OPENING = "/open"
CODE_SECONDS = 60.0
"""Lifetime of an unused code [s]."""

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
_REDIRECTION = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>ssptool studio</title>
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}"></head>
<body><a href="{address}">Open the studio</a></body></html>
"""
_REFUSAL = (
    f"This address has been used, or is older than {CODE_SECONDS:g} s. Press Enter in the terminal in which ssptool "
    "studio runs: it prints another one.\n"
)


class PageAccess:
    """Secrets of a server on a port.

    Attributes
    ----------
    folder
        First part of the addresses of all pages, which cannot be guessed. A browser sends cookies to all ports of a
        host; because the cookie is limited to this folder, no other server on this machine receives it.
    cookie
        Name of the cookie, whose value all requests of pages must contain.
    """

    def __init__(self, port: int) -> None:
        self.folder = secrets.token_urlsafe(24)
        self.cookie = f"ssptool-studio-{port}"
        self._port = port
        self._value = secrets.token_urlsafe(24)
        self._codes: dict[str, float] = {}

    def new_address(self) -> str:
        """An address that opens the studio once, within `CODE_SECONDS`; may be called from any thread."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = time.monotonic() + CODE_SECONDS
        return f"http://{LOOPBACK}:{self._port}{OPENING}?code={code}"

    def page_for_browser(self, folder: Path) -> Path:
        """A file in `folder`, readable only by its owner, that directs a browser to a new address."""
        page = folder / "open.html"
        descriptor = os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_REDIRECTION.format(address=html_text(self.new_address())))
        return page

    def opened(self, code: str) -> Response:
        """Response to a code: the cookie and the link to the page, or a rejection."""
        if self._codes.pop(code, 0.0) <= time.monotonic():
            return Response(_REFUSAL, status_code=403, headers=HEADERS, media_type="text/plain")
        # Strict cookies are not sent after a redirection that another page started, so this page starts one itself.
        answer = HTMLResponse(_REDIRECTION.format(address=f"/{self.folder}/"), headers=HEADERS)
        answer.set_cookie(self.cookie, self._value, path=f"/{self.folder}/", httponly=True, samesite="strict")
        return answer

    def known(self, connection: HTTPConnection) -> bool:
        """True if a request comes from a page that was opened with a code."""
        folder = connection.scope["path"].lstrip("/").partition("/")[0]
        given = folder + "/" + connection.cookies.get(self.cookie, "")
        return secrets.compare_digest(given.encode(), f"{self.folder}/{self._value}".encode())


class Guard:
    """Accepts only requests of our own page: from our host, from our origin, and with our cookie."""

    def __init__(self, app: ASGIApp, access: PageAccess, port: int) -> None:
        self._app = app
        self._access = access
        self._hosts = {f"{name}:{port}" for name in (LOOPBACK, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        own = self._is_own(connection)
        if own and self._access.known(connection):
            await self._app(scope, receive, send)
        elif own and scope.get("method") == "GET" and scope["path"] == OPENING:
            await self._access.opened(connection.query_params.get("code", ""))(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 4403, "reason": "refused"})
        else:
            await Response("refused\n", status_code=403, headers=HEADERS)(scope, receive, send)

    def _is_own(self, connection: HTTPConnection) -> bool:
        """True if host and origin are ours. A request that changes something must state its origin."""
        host, origin = connection.headers.get("host", ""), connection.headers.get("origin")
        sends = connection.scope["type"] == "websocket" or connection.scope.get("method") not in ("GET", "HEAD")
        return host in self._hosts and (origin == f"http://{host}" or (origin is None and not sends))
