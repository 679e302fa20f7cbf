"""The server: tools by name with their schemas, one call at a time, with the error messages of the command line."""

import json
import logging
import os
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Annotated, Any, NamedTuple, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel, Field, ValidationError

import ssptool
from ssptool.cli.app import explained
from ssptool.cli.mcp_server.answers import ANSWERS
from ssptool.cli.mcp_server.arguments import check_sizes, model_of, schema_of, wrong_arguments
from ssptool.cli.mcp_server.edits import EditTools
from ssptool.cli.mcp_server.folder import Folder
from ssptool.cli.mcp_server.jobs import JobTools
from ssptool.cli.mcp_server.pages import LEAST_BYTES, MOST_BYTES, PAGE_BYTES, Answer, FailedAnswer, Pages
from ssptool.cli.mcp_server.pictures import PictureTools, PngAnswer
from ssptool.cli.mcp_server.prompts import listed, prompt
from ssptool.cli.mcp_server.resources import Resources
from ssptool.cli.mcp_server.results import ResultTools
from ssptool.cli.mcp_server.tools import Tools
from ssptool.cli.mcp_server.words import in_protocol_words
from ssptool.confinement import confine, require_inside
from ssptool.errors import WrongUsage, similar_names
from ssptool.foreign_text import indented, readable
from ssptool.option_words import Boxing

T = TypeVar("T")

INSTRUCTIONS = """\
Systems of FMUs in the SSP format (SSP 1.0 and 2.0, FMI 1.0 to 3.0): check, understand, run, edit. All paths are \
relative to the folder of this server. Full names are such as Plant.System1.x1. Begin with info. Long answers come in \
pages: more reads on."""

_VERBATIM = ("new", "edit", "fix")
"""Tools whose answers have text of documents, which stays as it is."""


def _no_such_tool(name: str, known: list[str]) -> WrongUsage:
    """No tool of this name."""
    near = similar_names(name, known)
    hint = f"did you mean {' or '.join(near)}?" if near else f"tools are {', '.join(known)}"
    return WrongUsage(f"there is no tool {name!r}; {hint}")


class ServedTool(NamedTuple):
    """A method with the model of its arguments; `changes`: it may write files."""

    method: Callable[..., Answer | PngAnswer | FailedAnswer | str]
    model: type[BaseModel]
    changes: bool

    def description(self) -> mcp_types.Tool:
        name, text = self.method.__name__, self.method.__doc__ or ""
        schema = schema_of(self.model)
        schema["properties"]["page_bytes"] = {
            "type": "integer",
            "minimum": LEAST_BYTES,
            "maximum": MOST_BYTES,
            "description": f"Size of a page of the answer; default: {PAGE_BYTES}.",
        }
        hints = mcp_types.ToolAnnotations(read_only_hint=not self.changes, open_world_hint=False)
        answer = ANSWERS.get(name)
        return mcp_types.Tool(
            name=name,
            description=" ".join(text.split()),
            input_schema=schema,
            output_schema=None if answer is None else schema_of(answer, limits=False),
            annotations=hints,
        )


class Desk:
    """Takes calls of tools, one at a time, and answers with pages of text."""

    def __init__(self, folder: Folder) -> None:
        reading, results, edits = Tools(folder), ResultTools(folder), EditTools(folder)
        pictures, jobs = PictureTools(folder), JobTools(folder)
        methods: list[Callable[..., Answer | PngAnswer | FailedAnswer]] = [
            *(reading.info, reading.validate, reading.rule, reading.explain, reading.graph, reading.plan, reading.run),
            *(results.results, results.compare, pictures.draw, pictures.plot, edits.new, edits.edit, edits.fix),
            *(jobs.study, jobs.export, jobs.report),
        ]
        changing = {
            **dict.fromkeys(("run", "study", "export", "report"), folder.results is not None),
            **dict.fromkeys(("new", "edit", "fix"), folder.allow_edits),
        }
        self.tools = {
            one.__name__: ServedTool(one, model_of(one), changing.get(one.__name__, False)) for one in methods
        }
        self._folder, self._pages = folder, Pages()
        self._one_at_a_time = Lock()
        self.resources = Resources(folder)

    def descriptions(self) -> list[mcp_types.Tool]:
        more = ServedTool(self.more, model_of(self.more), False)
        return [one.description() for one in (*self.tools.values(), more)]

    def more(self, cursor: Annotated[str, Field(description="The cursor that the page before names.")]) -> Answer:
        """Read the next page of an answer."""
        return self._pages.next(cursor, PAGE_BYTES)

    def call(
        self, name: str, arguments: Mapping[str, Any], cancelled: Event, tell: Callable[[float], None]
    ) -> mcp_types.CallToolResult:
        """Report every error to the client as a sentence."""
        with self._one_at_a_time:
            self._folder.cancelled, self._folder.tell = cancelled, tell
            return self._call(name, arguments)

    def reading(self, what: Callable[[], T]) -> T:
        """The answer of a request about resources or prompts. Raises MCPError with a sentence."""
        with self._one_at_a_time:
            try:
                return what()
            except Exception as problem:
                raise MCPError(mcp_types.INVALID_PARAMS, readable(explained(problem).message)) from None

    def _call(self, name: str, arguments: Mapping[str, Any]) -> mcp_types.CallToolResult:
        size = PAGE_BYTES
        try:
            size, given = _page_size(name, arguments)
            answer = self._answer(name, given, size)
            if isinstance(answer, PngAnswer):
                return _with_picture(answer)
            if isinstance(answer, FailedAnswer):
                return _answered(self._pages.first(self._worded(name, answer.text), size), failed=True)
            return _answered(answer, failed=False)
        except Exception as problem:
            trouble = explained(problem)
            message = trouble.message if trouble.rendered else indented(trouble.message)
            text = self._worded(name, readable(f"error: {message}"))
            return _answered(self._pages.first(text, size), failed=True)

    def _worded(self, name: str, text: str) -> str:
        """A text of a tool in the words of the protocol."""
        if name in _VERBATIM or name not in self.tools:
            return text
        return in_protocol_words(text, self.tools[name].model.model_fields, self.tools)

    def _answer(self, name: str, given: Mapping[str, Any], size: int) -> str | PngAnswer | FailedAnswer:
        if name == "more":
            return self._pages.next(_checked(name, model_of(self.more), given)["cursor"], size)
        if name not in self.tools:
            raise _no_such_tool(name, [*self.tools, "more"])
        tool = self.tools[name]
        answer = tool.method(**_checked(name, tool.model, given))
        if isinstance(answer, PngAnswer | FailedAnswer):
            return answer
        return self._pages.first(self._worded(name, answer) if isinstance(answer, str) else answer, size)


def _answered(text: str, *, failed: bool) -> mcp_types.CallToolResult:
    """A page as text, and if it is an object of JSON as structured content, too."""
    content: list[mcp_types.ContentBlock] = [mcp_types.TextContent(type="text", text=text)]
    structured = json.loads(text) if text.startswith("{") and not failed else None
    return mcp_types.CallToolResult(content=content, structured_content=structured, is_error=failed)


def _with_picture(answer: PngAnswer) -> mcp_types.CallToolResult:
    data = b64encode(answer.png).decode("ascii")
    picture = mcp_types.ImageContent(type="image", data=data, mime_type="image/png")
    text = mcp_types.TextContent(type="text", text=readable(answer.text))
    return mcp_types.CallToolResult(content=[text, picture], is_error=False)


class _Size(BaseModel):
    page_bytes: Annotated[int, Field(ge=LEAST_BYTES, le=MOST_BYTES)] = PAGE_BYTES


def _page_size(name: str, arguments: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """The size of a page, and the other arguments."""
    own = {key: value for key, value in arguments.items() if key != "page_bytes"}
    try:
        return _Size(**{key: arguments[key] for key in arguments.keys() - own.keys()}).page_bytes, own
    except ValidationError as problem:
        raise wrong_arguments(name, problem, ["page_bytes"]) from None


def _checked(name: str, model: type[BaseModel], given: Mapping[str, Any]) -> dict[str, Any]:
    for argument, value in given.items():
        check_sizes(name, "a name of an argument", argument)
        check_sizes(name, argument, value)
    try:
        checked = model(**given)
    except ValidationError as problem:
        raise wrong_arguments(name, problem, [*model.model_fields, "page_bytes"]) from None
    return {one: getattr(checked, one) for one in checked.model_fields_set}


def serve(folder: Path, *, allow_edits: bool, results: Path | None, sandbox: Boxing) -> None:
    """Answer a client on standard input and output until it closes them.

    The folder becomes the working folder: names in arguments and messages are relative to it.
    """
    written = None if results is None else os.path.relpath(os.path.realpath(results), os.path.realpath(folder))
    os.chdir(folder)
    confine(Path())
    if written is not None:
        require_inside(written)
    desk = Desk(Folder(allow_edits, None if written is None else Path(written), sandbox))
    logging.disable(logging.WARNING)  # libraries tell standard error of each request
    anyio.run(_serve, desk)


TELL_SECONDS = 0.5
"""Time between two notifications of progress."""


def _progress_reporter(context: Any, cancelled: Event) -> Callable[[float], None]:
    """Reports the progress of a call to its client, from the working thread, if the client requests it."""
    told = -TELL_SECONDS

    def tell(done: float) -> None:
        nonlocal told
        now = monotonic()
        if now - told >= TELL_SECONDS and not cancelled.is_set():
            told = now
            anyio.from_thread.run(context.session.report_progress, done, 1.0)

    return tell


async def _serve(desk: Desk) -> None:
    async def list_tools(_context: Any, _params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=desk.descriptions())

    async def call_tool(context: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        cancelled = Event()
        try:
            given = params.name, params.arguments or {}, cancelled, _progress_reporter(context, cancelled)
            return await anyio.to_thread.run_sync(desk.call, *given, abandon_on_cancel=True)
        finally:
            cancelled.set()

    def answered(what: Callable[[], T]) -> Awaitable[T]:
        return anyio.to_thread.run_sync(desk.reading, what, abandon_on_cancel=True)

    async def list_resources(_context: Any, _params: Any) -> mcp_types.ListResourcesResult:
        return mcp_types.ListResourcesResult(resources=await answered(desk.resources.listed))

    async def list_templates(_context: Any, _params: Any) -> mcp_types.ListResourceTemplatesResult:
        return mcp_types.ListResourceTemplatesResult(resource_templates=desk.resources.templates())

    async def read_resource(_context: Any, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
        return mcp_types.ReadResourceResult(contents=[await answered(partial(desk.resources.read, params.uri))])

    async def list_prompts(_context: Any, _params: Any) -> mcp_types.ListPromptsResult:
        return mcp_types.ListPromptsResult(prompts=listed())

    async def get_prompt(_context: Any, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        return await answered(partial(prompt, params.name, params.arguments or {}))

    server: Server[Any] = Server(
        "ssptool",
        version=ssptool.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
