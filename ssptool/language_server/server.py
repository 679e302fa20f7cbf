"""The language server over standard streams: it follows opened, changed and closed documents, and answers requests.

A system is checked in a thread once its texts have not changed for a moment; requests do not wait for checks.
"""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import PositionCodec

from ssptool.documents.archive import DEFAULT_STRUCTURE
from ssptool.documents.diagnostics import InvalidDocument
from ssptool.documents.document import Document, garbage_collection_paused
from ssptool.documents.outside import work_in
from ssptool.editing.changes import text_changes
from ssptool.errors import WrongUsage
from ssptool.language_server.commands import COMMANDS, CommandRunner, SystemCommand, lenses
from ssptool.language_server.completion import completions_in
from ssptool.language_server.findings import (
    Listed,
    diagnostics_by_file,
    is_over_whole,
    judged_files,
    moved,
    settings_finding,
    unread,
)
from ssptool.language_server.fixes import FIX_ALL, edit_of_all, edit_of_fix, quick_fixes
from ssptool.language_server.formatting import formatted
from ssptool.language_server.hints import hints
from ssptool.language_server.navigation import definitions, folding, hover, references, symbols
from ssptool.language_server.places import Places, path_of, uri_of
from ssptool.language_server.renaming import edit_of_renaming, renamed_at
from ssptool.language_server.run_files import (
    ENDINGS,
    RunFile,
    completions_of_run_file,
    hover_of_run_file,
    run_file_findings,
    run_file_of,
)
from ssptool.language_server.snapshot import ShownDescriptions, SystemSnapshot
from ssptool.language_server.systems import Buffers, check_system, is_document, system_of
from ssptool.language_server.tokens import LEGEND, ShownTokens, tokens
from ssptool.rules.kept import Kept
from ssptool.rules.runner import CheckedArchive, over_whole
from ssptool.rules.selection import InvalidSettings
from ssptool.version import __version__

Answer = TypeVar("Answer")

REST = 0.03
"""Seconds without a change before a system is checked."""
WATCHED = "**/*.{ssd,ssv,ssm,ssb,fmu,xml,csv,toml}"


@dataclass(slots=True, eq=False)
class OpenSystem:
    """A system with open documents: what is shown of it, and the pending check."""

    path: Path
    checked: CheckedArchive | None = None
    kept: Kept = field(default_factory=Kept)
    shown: Listed = field(default_factory=dict)
    shown_in: Buffers = field(default_factory=dict)
    settings: Listed = field(default_factory=dict)
    waiting: asyncio.Task[None] | None = None
    changes: int = 0
    snapshot: SystemSnapshot | None = None
    kept_for_snapshots: Kept = field(default_factory=Kept)
    kept_for_completions: Kept = field(default_factory=Kept)
    snapshot_of: int = -1
    outlines: dict[Path, list[types.DocumentSymbol]] = field(default_factory=dict)

    @property
    def main(self) -> Path:
        """The document that shows the findings which belong to no other document."""
        return self.path / DEFAULT_STRUCTURE if self.path.is_dir() else self.path


class SspLanguageServer(LanguageServer):
    """The language server for SSP documents; `rest` is the time [s] without a change before a system is checked."""

    def __init__(self, rest: float = REST) -> None:
        super().__init__("ssptool", __version__, max_workers=2)
        self.rest = rest
        self.systems: dict[Path, OpenSystem] = {}
        self._system_of: dict[Path, Path] = {}
        self._places: dict[Path, Places] = {}
        self.one_check_at_a_time = asyncio.Lock()
        self.one_answer_at_a_time = asyncio.Lock()
        self.shown_descriptions = ShownDescriptions()
        self.shown_tokens = ShownTokens()
        self.command_runner = CommandRunner()
        self._run_file_tasks: dict[Path, asyncio.Task[None]] = {}
        self._run_files_shown: set[Path] = set()

    @property
    def codec(self) -> PositionCodec:
        return self.workspace.position_codec

    def buffers(self) -> Buffers:
        """The texts of all open documents of SSP."""
        opened = ((path_of(uri), document) for uri, document in self.workspace.text_documents.items())
        return {path: document.source for path, document in opened if path is not None and is_document(path)}

    def places(self, path: Path) -> Places:
        """The text of a file, as it is in the editor, or on disk if it is not open."""
        open_document = self.workspace.text_documents.get(uri_of(path))
        if open_document is None:
            return Places(path.read_bytes().decode("utf-8-sig") if path.is_file() else "", self.codec)
        known = self._places.get(path)
        if known is None or known.text != open_document.source:
            known = self._places[path] = Places(open_document.source, self.codec)
        return known

    def forget(self, uri: str) -> None:
        """Drop data of a closed document."""
        self.shown_tokens.forget(uri)
        if (path := path_of(uri)) is not None:
            self._places.pop(path, None)

    def version_of(self, path: Path) -> int | None:
        open_document = self.workspace.text_documents.get(uri_of(path))
        return None if open_document is None else open_document.version

    def system(self, uri: str) -> OpenSystem | None:
        """The system of an open document; it stays the same as long as the document is open."""
        path = path_of(uri)
        if path is None or not is_document(path):
            return None
        if path not in self._system_of:
            self._system_of[path] = system_of(path)
        known = self._system_of[path]
        return self.systems.setdefault(known, OpenSystem(known))

    def changed(self, systems: Iterable[OpenSystem | None]) -> None:
        """Check systems once they have not changed for a moment; a check that is still waiting starts to wait again."""
        for system in systems:
            if system is None:
                continue
            system.changes += 1
            if system.waiting is None or system.waiting.done():
                system.waiting = asyncio.ensure_future(self._check_at_rest(system))

    def typed(self, uri: str) -> None:
        """Check the system or file to which a text belongs that was opened, changed, saved or closed."""
        path = path_of(uri)
        if path is not None and path.suffix in ENDINGS:
            self._run_file_tasks[path] = asyncio.ensure_future(self._check_run_file(path))
        else:
            self.changed([self.system(uri)])

    def run_file(self, uri: str) -> tuple[Path, str, RunFile] | None:
        """An open settings file, study or scenario; None for other documents."""
        path, document = path_of(uri), self.workspace.text_documents.get(uri)
        if path is None or document is None:
            return None
        kind = run_file_of(path, document.source)
        return None if kind is None else (path, document.source, kind)

    async def _check_run_file(self, path: Path) -> None:
        await asyncio.sleep(self.rest)
        if self._run_file_tasks.get(path) is not asyncio.current_task():
            return  # the text has changed again
        uri, version = uri_of(path), self.version_of(path)
        known = self.run_file(uri)
        found = () if known is None else await asyncio.to_thread(run_file_findings, *known, self.buffers())
        if version == self.version_of(path) and (found or path in self._run_files_shown):
            self._run_files_shown.add(path)
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, list(found), version))

    async def _check_at_rest(self, system: OpenSystem) -> None:
        seen = -1
        while seen != system.changes:
            while seen != system.changes:
                seen = system.changes
                await asyncio.sleep(self.rest)
            async with self.one_check_at_a_time:
                await self._check(system, seen)
        for path in self._open_studies():  # these studies refer to what has changed
            self.typed(uri_of(path))

    def _open_studies(self) -> list[Path]:
        opened = [path_of(uri) for uri in self.workspace.text_documents]
        known = [(path, self.run_file(uri_of(path))) for path in opened if path is not None and path.suffix in ENDINGS]
        return [path for path, file in known if file is not None and file[2] is RunFile.STUDY]

    async def _check(self, system: OpenSystem, seen: int) -> None:
        buffers, loop = self.buffers(), asyncio.get_running_loop()

        def early(checked: CheckedArchive) -> bool:
            wanted = seen == system.changes
            if wanted:
                loop.call_soon_threadsafe(self._show_early, system, checked, buffers)
            return wanted

        try:
            checked = await asyncio.to_thread(check_system, system.path, buffers, system.kept, early)
        except InvalidSettings as problem:
            self._show_settings(system, settings_finding(problem))
            return
        except OSError:
            checked = None
        if seen == system.changes:
            self._show_settings(system, {})
            self._show(system, checked, buffers)

    def _show_early(self, system: OpenSystem, checked: CheckedArchive, buffers: Buffers) -> None:
        """Send the findings in files and elements; earlier findings about whole systems are kept for now."""
        if unread(checked.report) or system.checked is None:
            return
        stay_fixes = {one: fix for one, fix in system.checked.fixes.items() if over_whole(one.code)}
        system.checked = CheckedArchive(checked.report, {**stay_fixes, **checked.fixes})
        listed = dict(diagnostics_by_file(checked.report, system.main, buffers, self.codec))
        for file, found in system.shown.items():
            stay = [one for one in found if is_over_whole(one)]
            now, before = buffers.get(file), system.shown_in.get(file)
            in_place = stay if now is None or before is None else moved(stay, before, now)
            listed[file] = (*listed.get(file, ()), *in_place)
        self._publish(system.shown, listed)
        system.shown, system.shown_in = listed, buffers

    def _show(self, system: OpenSystem, checked: CheckedArchive | None, buffers: Buffers) -> None:
        """Send new findings; if a document could not be read, the earlier findings in others are kept."""
        system.checked = checked
        listed: dict[Path, tuple[types.Diagnostic, ...]] = {}
        if checked is not None:
            if unread(checked.report):
                listed.update(system.shown)
            listed.update(dict.fromkeys(judged_files(checked.report), ()))
            listed.update(diagnostics_by_file(checked.report, system.main, buffers, self.codec))
        self._publish(system.shown, listed)
        system.shown, system.shown_in = listed, buffers

    def _show_settings(self, system: OpenSystem, listed: Listed) -> None:
        listed = {file: found for file, found in listed.items() if self.run_file(uri_of(file)) is None}
        self._publish(system.settings, listed)
        system.settings = listed

    def _publish(self, before: Listed, now: Listed) -> None:
        for file in {*before, *now}:
            if before.get(file) != now.get(file):
                self.text_document_publish_diagnostics(
                    types.PublishDiagnosticsParams(uri_of(file), list(now.get(file, ())), self.version_of(file))
                )

    async def ask(self, uri: str, question: Callable[[SystemSnapshot, Document], Answer]) -> Answer | None:
        """The answer to a question about a document in its present state; None if it cannot be read now."""
        system, path = self.system(uri), path_of(uri)
        if system is None or path is None:
            return None
        async with self.one_answer_at_a_time:
            buffers, changes = self.buffers(), system.changes

            @garbage_collection_paused()
            def answer() -> Answer | None:
                snapshot = self._snapshot(system, buffers, changes)
                document = None if snapshot is None else snapshot.document(path)
                return None if snapshot is None or document is None else question(snapshot, document)

            return await asyncio.to_thread(answer)

    def _snapshot(self, system: OpenSystem, buffers: Buffers, changes: int) -> SystemSnapshot | None:
        """The system in its present state; it is read again if anything has changed."""
        if system.snapshot is None or system.snapshot_of != changes:
            if system.snapshot is not None:
                system.snapshot.close()
                system.snapshot = None
            try:
                kept = system.kept_for_snapshots  # not the one of checks, which run in another thread
                system.snapshot = SystemSnapshot(system.path, buffers, self.codec, kept)
                system.snapshot_of = changes
            except (InvalidDocument, InvalidSettings, OSError):
                return None
        return system.snapshot

    async def carry_out(self, verb: SystemCommand, structure: Path) -> None:
        """Run, plan or draw a system, and show the result."""
        system = self.system(uri_of(structure))
        if system is None:
            raise JsonRpcInvalidParams(f"{structure.name} is not a document of SSP")
        unsaved = [path.name for path, text in self.buffers().items() if Places(text, self.codec).text != _saved(path)]
        with self._progress(f"{verb.title} {structure.parent.name}/{structure.name}"):
            made = await self.command_runner.carry_out(verb, system.path, structure)
        if made.file is None:
            self._tell(made.problem, types.MessageType.Error)
            return
        if unsaved:
            self._tell(f"{verb.title}: of the files as they are saved, without changes of {', '.join(unsaved)}")
        window = self.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            page = made.file.suffix == ".html"
            await self.window_show_document_async(types.ShowDocumentParams(uri_of(made.file), external=page))
        else:
            self._tell(f"{verb.title}: {made.file}")

    @contextmanager
    def _progress(self, title: str) -> Iterator[None]:
        """Show progress, if the client can."""
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress:
            yield
            return
        token = str(uuid4())
        self.work_done_progress.create(token)
        self.work_done_progress.begin(token, types.WorkDoneProgressBegin(title))
        try:
            yield
        finally:
            self.work_done_progress.end(token, types.WorkDoneProgressEnd())

    def _tell(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        self.window_show_message(types.ShowMessageParams(kind, text))

    def close(self) -> None:
        """Remove unpacked and generated files."""
        self.command_runner.close()
        for system in self.systems.values():
            if system.snapshot is not None:
                system.snapshot.close()
        self.shown_descriptions.close()

    def resolves(self, property: str) -> bool:
        """Whether the client asks for this property of a code action later."""
        text = self.client_capabilities.text_document
        support = None if text is None or text.code_action is None else text.code_action.resolve_support
        return support is not None and property in support.properties


def make_server(rest: float = REST) -> SspLanguageServer:
    """A server with all its features, not yet connected to a client."""
    server = SspLanguageServer(rest)
    _follow_documents(server)
    _offer_fixes(server)
    _answer_questions(server)
    _help_typing(server)
    _annotate(server)
    _offer_commands(server)
    return server


def serve(stdin: BinaryIO, stdout: BinaryIO) -> None:
    """Serve a client until it disconnects. Everything that is printed during that time goes to standard error."""
    logging.getLogger("pygls").setLevel(logging.ERROR)
    with redirect_stdout(sys.stderr), closing(make_server()) as server:
        server.start_io(stdin, stdout)


def _follow_documents(server: SspLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.typed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        server.typed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.typed(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)
        server.typed(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def changed_on_disk(params: types.DidChangeWatchedFilesParams) -> None:
        server.changed(list(server.systems.values()))

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        roots = (*server.workspace.folders, server.workspace.root_uri or "")
        work_in(filter(None, map(path_of, roots)))
        workspace = server.client_capabilities.workspace
        watching = None if workspace is None else workspace.did_change_watched_files
        if watching is not None and watching.dynamic_registration:
            options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(WATCHED)])
            watched = types.Registration("watched", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            await server.client_register_capability_async(types.RegistrationParams([watched]))


def _offer_fixes(server: SspLanguageServer) -> None:
    kinds: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, FIX_ALL]

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(kinds, resolve_provider=True))
    async def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        system, path = server.system(params.text_document.uri), path_of(params.text_document.uri)
        if system is None or system.checked is None or path is None:
            return []
        here = _at(params.range, system.shown.get(path, ()))
        offered = quick_fixes(system.checked.fixes, here)
        if any(system.checked.report.fixable.values()):
            every = types.CodeAction("Apply all fixes that are certain", kind=FIX_ALL)
            offered.append(every)
        only = params.context.only
        offered = [one for one in offered if only is None or any(_is_of(one.kind, kind) for kind in only)]
        for one in offered:
            one.data = {**(one.data or {}), "uri": params.text_document.uri}
        return offered if server.resolves("edit") else [await resolve(one) for one in offered]

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        data: dict[str, Any] = dict(action.data or {})
        system = server.system(str(data.pop("uri", "")))
        if system is not None:
            buffers = server.buffers()
            places, version = server.places, server.version_of
            if action.kind == FIX_ALL:
                action.edit = await asyncio.to_thread(edit_of_all, system.path, buffers, places, version)
            else:
                action.edit = await asyncio.to_thread(edit_of_fix, system.path, buffers, data, places, version)
        return action


def _answer_questions(server: SspLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovering(params: types.HoverParams) -> types.Hover | None:
        known = server.run_file(params.text_document.uri)
        if known is not None:
            places = server.places(known[0])
            return hover_of_run_file(places, places.offset(params.position), known[2])
        return await server.ask(params.text_document.uri, lambda one, document: hover(one, document, params.position))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def defined(params: types.DefinitionParams) -> list[types.Location] | None:
        shown = server.shown_descriptions
        return await server.ask(
            params.text_document.uri, lambda one, document: definitions(one, document, params.position, shown)
        )

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def referring(params: types.ReferenceParams) -> list[types.Location] | None:
        declaration = params.context.include_declaration
        return await server.ask(
            params.text_document.uri, lambda one, document: references(one, document, params.position, declaration)
        )

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def outline(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        system, path = server.system(params.text_document.uri), path_of(params.text_document.uri)
        if system is None or path is None:
            return []
        found = await server.ask(params.text_document.uri, symbols)
        if found is not None:
            system.outlines[path] = found  # shown as long as the text is not well-formed
        return system.outlines.get(path, [])

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folds(params: types.FoldingRangeParams) -> list[types.FoldingRange] | None:
        return await server.ask(params.text_document.uri, folding)


def _help_typing(server: SspLanguageServer) -> None:
    triggers = types.CompletionOptions(trigger_characters=["<", " ", '"', "/"])

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, triggers)
    async def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
        known = server.run_file(params.text_document.uri)
        if known is not None:
            text = server.places(known[0])
            at, buffers = text.offset(params.position), server.buffers()
            return await asyncio.to_thread(completions_of_run_file, known[0], text, at, known[2], buffers)
        system, path = server.system(params.text_document.uri), path_of(params.text_document.uri)
        if system is None or path is None:
            return []
        async with server.one_answer_at_a_time:
            buffers, places = server.buffers(), server.places(path)
            of_client = server.client_capabilities.text_document
            item = None if of_client is None or of_client.completion is None else of_client.completion.completion_item
            snippets = item is not None and bool(item.snippet_support)
            offset, kept = places.offset(params.position), system.kept_for_completions
            return await asyncio.to_thread(
                completions_in, system.path, path, buffers, places, offset, kept, snippets=snippets
            )

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def rename_here(params: types.PrepareRenameParams) -> types.Range | None:
        try:
            renamed = await server.ask(
                params.text_document.uri, lambda one, document: renamed_at(one, document, params.position)
            )
        except WrongUsage as problem:
            raise JsonRpcInvalidParams(str(problem)) from None
        return None if renamed is None else renamed.range

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        uri, system = params.text_document.uri, server.system(params.text_document.uri)
        buffers, places, version = server.buffers(), server.places, server.version_of
        try:
            renamed = await server.ask(uri, lambda one, document: renamed_at(one, document, params.position))
            if system is None or renamed is None:
                raise JsonRpcInvalidParams(
                    "only elements, connectors and parameters can be renamed, in text that is well-formed"
                )
            async with server.one_check_at_a_time:
                return await asyncio.to_thread(
                    edit_of_renaming, system.path, buffers, renamed, params.new_name, places, version, system.kept
                )
        except WrongUsage as problem:
            raise JsonRpcInvalidParams(str(problem)) from None


def _annotate(server: SspLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay(params: types.InlayHintParams) -> list[types.InlayHint] | None:
        return await server.ask(params.text_document.uri, lambda one, document: hints(one, document, params.range))

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)
    async def all_tokens(params: types.SemanticTokensParams) -> types.SemanticTokens | None:
        uri = params.text_document.uri
        found = await server.ask(uri, tokens)
        return None if found is None else server.shown_tokens.whole(uri, found)

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, LEGEND)
    async def changed_tokens(
        params: types.SemanticTokensDeltaParams,
    ) -> types.SemanticTokens | types.SemanticTokensDelta | None:
        uri = params.text_document.uri
        found = await server.ask(uri, tokens)
        return None if found is None else server.shown_tokens.since(uri, params.previous_result_id, found)

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, LEGEND)
    async def some_tokens(params: types.SemanticTokensRangeParams) -> types.SemanticTokens | None:
        return await server.ask(params.text_document.uri, lambda one, document: tokens(one, document, params.range))

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def format_document(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        def edits(snapshot: SystemSnapshot, document: Document) -> list[types.TextEdit]:
            places = snapshot.places(document)
            return places.edits(text_changes(places.text, formatted(document)))

        return await server.ask(params.text_document.uri, edits)


def _offer_commands(server: SspLanguageServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def lens(params: types.CodeLensParams) -> list[types.CodeLens] | None:
        return await server.ask(params.text_document.uri, lenses)

    def offer(name: str, verb: SystemCommand) -> None:
        @server.command(name)
        async def carry_out(file: str) -> None:
            await server.carry_out(verb, Path(file))

    for name, verb in COMMANDS.items():
        offer(name, verb)


def _saved(path: Path) -> str:
    return path.read_bytes().decode("utf-8-sig", errors="replace") if path.is_file() else ""


def _at(place: types.Range, shown: Iterable[types.Diagnostic]) -> list[types.Diagnostic]:
    """The findings at a position; if there are none, those on its lines."""
    lines = types.Range(types.Position(place.start.line, 0), types.Position(place.end.line + 1, 0))
    on_lines = [one for one in shown if _touch(one.range, lines) and one.range.start.line <= place.end.line]
    return [one for one in on_lines if _touch(one.range, place)] or on_lines


def _touch(one: types.Range, other: types.Range) -> bool:
    return not (_order(one.end) < _order(other.start) or _order(other.end) < _order(one.start))


def _order(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _is_of(kind: object, wanted: object) -> bool:
    """Whether a kind of code action is the wanted kind or a subkind of it: `source.fixAll` is a `source`."""
    return f"{_text(kind)}.".startswith(f"{_text(wanted)}.")


def _text(kind: object) -> str:
    return str(getattr(kind, "value", kind))
