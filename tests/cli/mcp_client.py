"""The official client of the Model Context Protocol, which starts `ssptool mcp` as its users do."""

import json
import os
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, ImageContent, Prompt, TextContent, TextResourceContents, Tool

COMMAND = Path(sys.executable).with_name("ssptool")
PAGE_BYTES = 2_000


class McpClient:
    """A client that waits for each answer. `calls` counts them."""

    def __init__(self, portal: BlockingPortal, session: ClientSession) -> None:
        self._portal, self._session = portal, session
        self.calls = 0

    def tools(self) -> dict[str, Tool]:
        return {one.name: one for one in self._portal.call(self._session.list_tools).tools}

    def ask(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        """The text of an answer, and whether it is an error. Without a wish for another size, it fits a short page."""
        self.calls += 1
        result = self._portal.call(self._session.call_tool, tool, arguments)
        assert isinstance(result, CallToolResult)
        (content,) = result.content
        assert isinstance(content, TextContent)
        assert len(content.text.encode()) <= max(500, arguments.get("page_bytes", PAGE_BYTES))
        assert "Traceback" not in content.text
        if not result.is_error and result.structured_content is not None:
            assert json.loads(content.text) == result.structured_content, "the client has checked it with the schema"
        return content.text, bool(result.is_error)

    def resources(self) -> dict[str, str | None]:
        """The addresses of resources with their descriptions."""
        return {one.uri: one.description for one in self._portal.call(self._session.list_resources).resources}

    def read(self, uri: str) -> str:
        (content,) = self._portal.call(self._session.read_resource, uri).contents
        assert isinstance(content, TextResourceContents)
        return content.text

    def prompts(self) -> dict[str, Prompt]:
        return {one.name: one for one in self._portal.call(self._session.list_prompts).prompts}

    def prompt(self, name: str, **arguments: str) -> str:
        (message,) = self._portal.call(self._session.get_prompt, name, arguments).messages
        assert isinstance(message.content, TextContent)
        return message.content.text

    def picture(self, tool: str, **arguments: Any) -> tuple[str, bytes]:
        """The text and the picture of an answer."""
        self.calls += 1
        result = self._portal.call(self._session.call_tool, tool, arguments)
        assert not result.is_error, result
        text, picture = result.content
        assert isinstance(text, TextContent)
        assert isinstance(picture, ImageContent)
        assert picture.mime_type == "image/png"
        return text.text, b64decode(picture.data)

    def answer(self, tool: str, **arguments: Any) -> str:
        """All that an answer holds, whatever it is."""
        self.calls += 1
        return str(self._portal.call(self._session.call_tool, tool, arguments))

    def call(self, tool: str, **arguments: Any) -> str:
        text, failed = self.ask(tool, **arguments)
        assert not failed, text
        return text

    def refused(self, tool: str, **arguments: Any) -> str:
        text, failed = self.ask(tool, **arguments)
        assert failed, text
        return text

    def give_up(self, seconds: float, tool: str, **arguments: Any) -> None:
        """Cancel a call that has no answer after some time."""

        async def waiting() -> bool:
            with anyio.move_on_after(seconds) as scope:
                await self._session.call_tool(tool, arguments)
            return scope.cancelled_caught

        assert self._portal.call(waiting)

    def progress(self, tool: str, **arguments: Any) -> list[float]:
        """What a call tells of its progress."""
        told: list[float] = []

        async def note(done: float, total: float | None, message: str | None) -> None:
            told.append(done)

        async def calling() -> None:
            result = await self._session.call_tool(tool, arguments, progress_callback=note)
            assert not result.is_error, result
            await self._session.send_ping()  # what was told before has arrived then

        self._portal.call(calling)
        return told

    def facts(self, tool: str, **arguments: Any) -> Any:
        return json.loads(self.call(tool, **arguments))

    def signal(self, run: str, name: str) -> dict[str, Any]:
        """Statistics of one signal."""
        (found,) = self.facts("results", run=run, signals=[name])["signals"]
        return dict(found)


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[McpClient]:
    """A client of a server that was started elsewhere than in its folder."""
    arguments = ["mcp", str(folder), *options]
    server = StdioServerParameters(command=str(COMMAND), args=arguments, env=dict(os.environ), cwd=folder.parent)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(stdio_client(server)) as (reading, writing),
        portal.wrap_async_context_manager(ClientSession(reading, writing)) as session,
    ):
        portal.call(session.initialize)
        yield McpClient(portal, session)


def run_name(answer: str) -> str:
    """The name of the run that an answer of `run` ends with."""
    return answer.split()[-1]
