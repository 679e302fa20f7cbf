"""A client of the language server as an editor is one, and a system whose documents it opens."""

import asyncio
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities, make_test_lsp_client

from ssptool.language_server.places import uri_of
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]


def client_with_watchers() -> LanguageClient:
    client = make_test_lsp_client()

    @client.feature(types.CLIENT_REGISTER_CAPABILITY)
    def register(params: types.RegistrationParams) -> None:
        """The tests tell of changes on disk themselves."""

    return client


SERVER = ClientServerConfig([sys.executable, "-m", "ssptool", "lsp"], client_factory=client_with_watchers)


class Author:
    """Somebody who types in documents, and sees what the server says of them."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.texts: dict[Path, str] = {}
        self._version = 0

    def open(self, path: Path, text: str | None = None) -> str:
        self.texts[path] = path.read_text(encoding="utf-8") if text is None else text
        document = types.TextDocumentItem(uri_of(path), "xml", self.next_version(), self.texts[path])
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return self.texts[path]

    def type(self, path: Path, old: str, new: str) -> None:
        """Replace a part of a text, as one change of that part."""
        text = self.texts[path]
        at = text.index(old)
        place = types.Range(position(text, at), position(text, at + len(old)))
        self.texts[path] = text[:at] + new + text[at + len(old) :]
        change = types.TextDocumentContentChangePartial(range=place, text=new)
        document = types.VersionedTextDocumentIdentifier(self.next_version(), uri_of(path))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def next_version(self) -> int:
        self._version += 1
        return self._version

    def close(self) -> None:
        for path in self.texts:
            document = types.TextDocumentIdentifier(uri_of(path))
            self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    def shown(self, path: Path) -> list[types.Diagnostic]:
        return list(self.client.diagnostics.get(uri_of(path), ()))

    def faults(self, path: Path) -> list[types.Diagnostic]:
        """Errors and warnings; that the oscillator has an algebraic loop is information."""
        return [one for one in self.shown(path) if one.severity != types.DiagnosticSeverity.Information]

    async def sees(self, path: Path, *codes: str) -> list[types.Diagnostic]:
        """The faults of a file when they have just these codes; the order and how many of each do not matter."""
        async with asyncio.timeout(PATIENCE):
            while uri_of(path) not in self.client.diagnostics or {one.code for one in self.faults(path)} != {*codes}:
                await self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        return self.faults(path)

    async def offered(self, path: Path, at: types.Range, only: str | None = None) -> list[types.CodeAction]:
        context = types.CodeActionContext([], only=None if only is None else [only])
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri_of(path)), at, context)
        found = await self.client.text_document_code_action_async(params)
        return [one for one in found or () if isinstance(one, types.CodeAction)]

    async def resolved(self, action: types.CodeAction) -> types.WorkspaceEdit:
        edit = (await self.client.code_action_resolve_async(action)).edit
        assert edit is not None
        return edit

    def take(self, edit: types.WorkspaceEdit) -> list[str]:
        """Make the changes of an edit as an editor does; gives the texts that it puts in."""
        put = []
        for changed in edit.document_changes or ():
            assert isinstance(changed, types.TextDocumentEdit)
            path = Path(changed.text_document.uri.removeprefix("file://"))
            for one in reversed(changed.edits):
                assert isinstance(one, types.TextEdit)
                text = self.texts.get(path) or path.read_text(encoding="utf-8")
                start, end = offset(text, one.range.start), offset(text, one.range.end)
                self.texts[path] = text[:start] + one.new_text + text[end:]
                put.append(one.new_text)
        return put


def position(text: str, at: int) -> types.Position:
    """The place of a character, in units of UTF-16."""
    line = text.count("\n", 0, at)
    start = text.rfind("\n", 0, at) + 1
    return types.Position(line, len(text[start:at].encode("utf-16-le")) // 2)


def offset(text: str, place: types.Position) -> int:
    start = 0
    for _ in range(place.line):
        start = text.index("\n", start) + 1
    return next(at for at in range(start, len(text) + 1) if position(text, at) == place)


def begin(text: str, part: str, shift: int = 0) -> types.Range:
    """The place at the beginning of a part of a text, so many characters behind it."""
    here = position(text, text.index(part) + shift)
    return types.Range(here, here)


@pytest_lsp.fixture(config=SERVER, scope="module")
async def client(client: LanguageClient) -> Any:
    """The server in a process of its own, one for the tests of a file."""
    params = types.InitializeParams(capabilities=client_capabilities("visual-studio-code"))
    await client.initialize_session(params)
    yield
    await client.shutdown_session()


@pytest.fixture
def author(client: LanguageClient) -> Any:
    author = Author(client)
    yield author
    author.close()


@pytest.fixture
def oscillator(tmp_path: Path) -> Path:
    """The unpacked dual-mass oscillator, without its other variants."""
    folder, source = tmp_path / "oscillator", ROOT / "systems" / "dual_mass_oscillator"
    (folder / "resources").mkdir(parents=True)
    for name in ("SystemStructure.ssd", *(f"resources/{one}" for one in RESOURCES)):
        shutil.copy(source / name, folder / name)
    return folder


RESOURCES = ("System1.fmu", "System2.fmu", "dual_mass_oscillator.ssv")
Spoil = Callable[[Path, str, str], None]
