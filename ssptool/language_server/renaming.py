"""Rename the thing at a position, and everything that refers to it in connections, parameters and mappings.

Elements and connectors are renamed by the edit of `ssptool.editing`, also if the cursor is on a part of a parameter
name or of a mapping target. A parameter that is mapped, or that sets nothing, is renamed together with its mapping
entries.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from lsprotocol import types

from ssptool.api.check import switches_of
from ssptool.api.edit import not_among
from ssptool.documents import ssd, ssm, ssv
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.editing.changes import EditError
from ssptool.editing.editor import Editor
from ssptool.language_server.fixes import EditedFiles, PlacesOf, VersionOf, edit_of
from ssptool.language_server.names import Named, NameKind
from ssptool.language_server.navigation import location
from ssptool.language_server.places import path_of
from ssptool.language_server.snapshot import Spot, SystemSnapshot
from ssptool.language_server.systems import Buffers, open_system
from ssptool.option_words import Sharing
from ssptool.rules.bindings import ParameterUse, uses
from ssptool.rules.kept import Kept
from ssptool.rules.runner import check, check_with_fixes, open_checked
from ssptool.rules.subjects import LoneDocument, around


class Renamed(NamedTuple):
    """The thing to rename: its document, its names from the root system down, and the range of the last name.

    For a parameter there is only its name, and `mentions` lists the places that refer to it.
    """

    document: str
    path: tuple[str, ...]
    range: types.Range
    mentions: tuple[tuple[types.Location, str], ...] = ()
    """Places of the name, each with the text before the name there."""
    taken: frozenset[str] = frozenset()
    """Names of the other parameters of the set."""


def renamed_at(snapshot: SystemSnapshot, document: Document, at: types.Position) -> Renamed | None:
    """The element or connector that is named at a position; None if it is another thing."""
    places = snapshot.places(document)
    spot = snapshot.spot(document, places.offset(at))
    if spot is None:
        return None
    if isinstance(spot.element, ssv.Parameter | ssm.MappingEntry):
        for use in _uses(snapshot, spot):
            if use.targets:
                return _addressed(snapshot, spot, use, places.offset(at))
    for mention in snapshot.mentions(spot):
        named = mention.named
        if named.kind in (NameKind.ELEMENT, NameKind.CONNECTOR) and isinstance(named.scope, Element):
            path = (*_path(named.scope), named.name)
            return Renamed(document.name, path, places.range(spot.start, spot.end))
        if named.kind is NameKind.PARAMETER and isinstance(named.scope, ssv.ParameterSet):
            return _parameter(snapshot, document, named, places.range(spot.start, spot.end))
    return None


def _uses(snapshot: SystemSnapshot, spot: Spot) -> Iterator[ParameterUse]:
    """The uses of a parameter under its own name, or of the target of a mapping entry."""
    for structure in snapshot.package.structures:
        for use in uses(structure) if structure.file.valid and not isinstance(structure, LoneDocument) else ():
            named = spot.attribute == "name" and use.parameter is spot.element and use.entry is None
            if named or (spot.attribute == "target" and use.entry is spot.element):
                yield use


def _addressed(snapshot: SystemSnapshot, spot: Spot, use: ParameterUse, offset: int) -> Renamed | None:
    """The element or connector that is meant by the part of a parameter name at a position.

    Raises
    ------
    EditError
        The part is the name of a variable of an FMU.
    """
    target, parts = use.targets[0], _parts(use, spot)
    if spot.end - spot.start != len(spot.value):
        raise EditError(
            f"'{spot.value}' is written with character references (such as &#46;), in which nothing is renamed: "
            "rename the variable where it is declared"
        )
    for element, start, end in parts:
        if not start <= offset - spot.start <= end:
            continue
        here = snapshot.places(spot.document).range(spot.start + start, spot.start + end)
        if element is not None:
            return Renamed(element.position.file, _path(element), here)
        if target.variable is not None:
            raise EditError(
                f"'{target.name}' is a variable of the FMU of '{target.element.name}', which names it: rename the "
                f"component, or give the parameter a name of its own by a mapping (`ssptool map`)"
            )
        return Renamed(target.element.position.file, (*_path(target.element), target.name), here)
    return None


def _parts(use: ParameterUse, spot: Spot) -> Iterator[tuple[ssd.SystemElement | None, int, int]]:
    """The ranges in a value that name elements, from the owner of the binding down, and last the range of the variable.

    Elements in another document are left out, because their names do not belong to this system.
    """
    target, end = use.targets[0], len(spot.value)
    yield None, end - len(target.name), end
    end -= len(target.name) + 1
    for element in (target.element, *around(target.element, ssd.System)):
        start = end - len(element.name)
        outermost = next(around(element, ssd.System), None) is None
        if element is use.owner or outermost or start < 0 or spot.value[start:end] != element.name:
            return
        yield element, start, end
        end = start - 1


def _parameter(snapshot: SystemSnapshot, document: Document, named: Named, place: types.Range) -> Renamed:
    """A parameter whose own name sets nothing, with the mapping entries that refer to it."""
    found = snapshot.names.of.get(named, ())
    taken = {one.name for one in named.scope.every(ssv.Parameter)} if isinstance(named.scope, ssv.ParameterSet) else ()
    locations = tuple((location(snapshot, mention), mention.before) for mention in found)
    return Renamed(document.name, (named.name,), place, locations, frozenset(taken))


def _edit_of_mentions(renamed: Renamed, new: str, version: VersionOf) -> types.WorkspaceEdit:
    """Raises EditError if the name is taken."""
    if new in renamed.taken or not new.strip():
        raise EditError(f"the parameter set has a parameter '{new}' already" if new.strip() else "the name is empty")
    edits: dict[str, list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]] = {}
    for one, before in renamed.mentions:
        value = escape(before + new, {'"': "&quot;", "'": "&apos;"})
        edits.setdefault(one.uri, []).append(types.TextEdit(one.range, value))
    changes = [
        types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, _version(uri, version)), found)
        for uri, found in edits.items()
    ]
    return types.WorkspaceEdit(document_changes=changes)


def _version(uri: str, version: VersionOf) -> int | None:
    path = path_of(uri)
    return None if path is None else version(path)


def _path(element: Element) -> tuple[str, ...]:
    """The names from the root system down to an element; empty for the root system."""
    around = [one for one in element.iterancestors() if isinstance(one, ssd.System)]
    inner = [one.name for one in reversed(around[:-1])]
    return (*inner, element.get("name", "")) if around else ()


def _caused(
    archive: Archive, files: EditedFiles, editor: Editor, system: Path, buffers: Buffers, kept: Kept
) -> Sequence[Diagnostic]:
    """Errors that the unsaved texts have with the new name only."""
    switches = switches_of(system)
    if system.exists():  # opened again, because data of earlier checks are of trees that are not edited
        with open_checked(system, switches.outside, inside=True) as present:
            for name, content in files.items():
                if content is None:
                    present.remove(name)
                elif archive.has(name):
                    present.put(name, content)
            errors = check_with_fixes(present, kept=kept).report.errors
    else:
        errors = check(archive).errors
    if not errors:
        return ()
    with open_system(system, buffers, switches) as before:
        earlier = check_with_fixes(before, kept=kept).report.diagnostics
    return not_among(errors, earlier, editor.renamed)


def edit_of_renaming(
    system: Path, buffers: Buffers, renamed: Renamed, new: str, places: PlacesOf, version: VersionOf, kept: Kept
) -> types.WorkspaceEdit:
    """The edit that renames the thing. `kept` are data of earlier checks of the system.

    Raises
    ------
    EditError
        The name is taken, something cannot follow, or an error would be new.
    """
    if renamed.mentions:
        return _edit_of_mentions(renamed, new, version)
    with open_system(system, buffers, switches_of(system)) as archive:
        archive.require_links_inside()
        before = {name: archive.content(name) for name in archive.names() if name.lower().endswith((".ssp", ".fmu"))}
        editor = Editor(archive, archive.document(renamed.document), Sharing.REFUSE)
        try:
            editor.rename(renamed.path, new)
            if packed := [name for name, content in before.items() if archive.content(name) != content]:
                raise EditError(
                    f"the packed file {packed[0]} would change, which an editor does not show: use `ssptool rename`"
                )
            files = archive.edited_files()
            if caused := _caused(archive, files, editor, system, buffers, kept):
                raise EditError(f"the new name would cause an error: {caused[0]}")
            return edit_of(archive, files, system, archive.names(), places, version)
        finally:
            editor.close()
