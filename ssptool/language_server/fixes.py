"""Fixes of findings as code actions; an edit is computed only when its action is chosen."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from lsprotocol import types

from ssptool.api.check import switches_of
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.editing.changes import text_changes
from ssptool.language_server.findings import key
from ssptool.language_server.places import Places, uri_of
from ssptool.language_server.systems import Buffers, is_document, open_system
from ssptool.rules.catalogue import Fix
from ssptool.rules.runner import check_with_fixes, fix

FIX_ALL = types.CodeActionKind.SourceFixAll
PlacesOf = Callable[[Path], Places]
VersionOf = Callable[[Path], int | None]
EditedFiles = Mapping[str, bytes | None]


def quick_fixes(fixes: Mapping[Diagnostic, Fix], chosen: Iterable[types.Diagnostic]) -> list[types.CodeAction]:
    """Code actions for the fixes of diagnostics, without their edits; certain fixes are marked as preferred."""
    by_key = {frozenset(key(finding).items()): fixed for finding, fixed in fixes.items()}
    actions = []
    for diagnostic in chosen:
        stated: dict[str, str] = dict(diagnostic.data or {})
        fixed = by_key.get(frozenset(stated.items()))
        for one in () if fixed is None else fixed.options:
            actions.append(
                types.CodeAction(
                    one.title if one.safe else f"{one.title} (a guess)",
                    kind=types.CodeActionKind.QuickFix,
                    diagnostics=[diagnostic],
                    is_preferred=one.safe,
                    data={**stated, "title": one.title},
                )
            )
    return actions


def edit_of_fix(
    system: Path, buffers: Buffers, data: Mapping[str, str], places: PlacesOf, version: VersionOf
) -> types.WorkspaceEdit | None:
    """The edit of one fix for the current texts; None if its finding no longer exists or has no fix with this title."""
    switches = switches_of(system)
    with open_system(system, buffers, switches) as archive:
        checked = check_with_fixes(archive, switches=switches)
        wanted = {name: text for name, text in data.items() if name != "title"}
        of_finding = next((fixed for finding, fixed in checked.fixes.items() if key(finding) == wanted), None)
        options = () if of_finding is None else of_finding.options
        chosen = next((one for one in options if one.title == data.get("title", one.title)), None)
        if chosen is None:
            return None
        chosen.apply()
        return edit_of(archive, archive.edited_files(), system, checked.report.files, places, version)


def edit_of_all(system: Path, buffers: Buffers, places: PlacesOf, version: VersionOf) -> types.WorkspaceEdit | None:
    """The edit of all fixes that are certain; None if there is none."""
    switches = switches_of(system)
    with open_system(system, buffers, switches) as archive:
        done = fix(archive, switches=switches)
        if not done.diagnostics:
            return None
        return edit_of(archive, archive.edited_files(), system, done.report.files, places, version)


def edit_of(
    archive: Archive, edited: EditedFiles, system: Path, names: Iterable[str], places: PlacesOf, version: VersionOf
) -> types.WorkspaceEdit:
    """Edit of some documents of an archive, relative to the texts in the editor.

    `edited` are the `edited_files` of the archive, which take time to find.
    """
    folder = system if system.is_dir() else system.parent
    edits: list[types.TextDocumentEdit | types.CreateFile] = []
    for name in names:
        shown = is_document(Path(name)) and archive.has(name) and archive.entry_of(folder / name) == name
        if not shown:
            continue
        before = places(folder / name)
        if not (folder / name).exists() and version(folder / name) is None:
            edits.append(types.CreateFile(uri_of(folder / name)))
        after = edited[name] if name in edited else archive.on_disk(name)
        changes = text_changes(before.text, (after or b"").decode("utf-8-sig"))
        if changes:
            of_file = types.OptionalVersionedTextDocumentIdentifier(uri_of(folder / name), version(folder / name))
            edits.append(types.TextDocumentEdit(of_file, list(before.edits(changes))))
    return types.WorkspaceEdit(document_changes=list(edits))
