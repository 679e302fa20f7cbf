"""Rename what is named at a place by the edit verb: with connections, parameters and mappings that refer to it."""

from pathlib import Path
from typing import NamedTuple

from lsprotocol import types

from ssptool.api.check import switches_of
from ssptool.api.edit import new_errors
from ssptool.documents import ssd
from ssptool.documents.document import Document
from ssptool.documents.element import Element
from ssptool.editing.changes import EditError
from ssptool.editing.editor import Editor
from ssptool.editing.names import Sharing
from ssptool.language_server.fixes import PlacesOf, VersionOf, edit_of
from ssptool.language_server.names import NameKind
from ssptool.language_server.snapshot import SystemSnapshot
from ssptool.language_server.systems import Buffers, open_system


class Renamed(NamedTuple):
    """What can be renamed at a place: its document, its names from the root system down, and the place of the last."""

    document: str
    path: tuple[str, ...]
    range: types.Range


def renamed_at(snapshot: SystemSnapshot, document: Document, at: types.Position) -> Renamed | None:
    """The element or connector that is named at a place; None if something else is."""
    places = snapshot.places(document)
    spot = snapshot.spot(document, places.offset(at))
    if spot is None:
        return None
    for mention in snapshot.names.at.get((spot.element, spot.attribute), ()):
        named = mention.named
        if named.kind in (NameKind.ELEMENT, NameKind.CONNECTOR) and isinstance(named.scope, Element):
            path = (*_path(named.scope), named.name)
            return Renamed(document.name, path, places.range(spot.start, spot.end))
    return None


def _path(element: Element) -> tuple[str, ...]:
    """The names from the root system down to an element; of that system itself they are none."""
    around = [one for one in element.iterancestors() if isinstance(one, ssd.System)]
    inner = [one.name for one in reversed(around[:-1])]
    return (*inner, element.get("name", "")) if around else ()


def edit_of_renaming(
    system: Path, buffers: Buffers, renamed: Renamed, new: str, places: PlacesOf, version: VersionOf
) -> types.WorkspaceEdit:
    """The edit that renames.

    Raises
    ------
    EditError
        The name is taken, something cannot follow, or an error would be new.
    """
    with open_system(system, buffers, switches_of(system)) as archive:
        archive.require_links_inside()
        before = {name: archive.content(name) for name in archive.names() if name.lower().endswith((".ssp", ".fmu"))}
        errors = new_errors(archive)
        editor = Editor(archive, archive.document(renamed.document), Sharing.REFUSE)
        try:
            editor.rename(renamed.path, new)
            if packed := [name for name, content in before.items() if archive.content(name) != content]:
                raise EditError(f"{packed[0]} would change, which no editor shows: ssptool rename does it")
            if found := [one for one in new_errors(archive) if one not in errors]:
                raise EditError(f"that would be an error: {found[0]}")
            names = dict.fromkeys((*archive.names(), *(edit.name for edit in archive.edits())))
            return edit_of(archive, system, names, places, version)
        finally:
            editor.close()
