"""New and edited systems, and what differs between two."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ssptool.api.saving import BrokenEdit, new_errors
from ssptool.arguments import seconds
from ssptool.documents.archive import Archive
from ssptool.editing.changes import unified_diff as unified_diff
from ssptool.editing.compare import Comparison
from ssptool.editing.compare import compare as compare_structures
from ssptool.editing.comparison_text import DIFF_RENDERERS as DIFF_RENDERERS
from ssptool.editing.creating import empty_structure
from ssptool.editing.editor import Editor as Editor


@contextmanager
def edit(
    system: Path | str,
    *,
    variant: str | None = None,
    shared: str = "refuse",
    force: bool = False,
    save: bool = True,
) -> Iterator[Editor]:
    """Edit a system: `with ssptool.edit("x.ssp") as system: system.connect("A.y", "B.u")`.

    At the end of the block the system is checked and saved, all of it or nothing. If the block raises, nothing is
    written.

    Parameters
    ----------
    shared
        What to do if a nested document is to be edited of which several components are made: "refuse" that, edit it
        for "all" of them, or give the one that is named a "copy" of its own first.
    force
        Save even if the edits bring new errors into the system.
    save
        False: check, but write nothing.

    Raises
    ------
    BrokenEdit
        The edits bring new errors. Errors that the system had before do not keep it from being saved.
    """
    with Archive.open(system) as archive, closing(Editor(archive, archive.structure(variant), shared)) as editor:
        yield editor
        _finish(editor, force, save)


@contextmanager
def new(
    system: Path | str,
    *,
    name: str | None = None,
    ssp: str = "1.0",
    start_time: float | str | None = None,
    stop_time: float | str | None = None,
    force: bool = False,
    save: bool = True,
) -> Iterator[Editor]:
    """Make a system: an `.ssp`, an `.ssd`, or else a folder; it is empty, and is saved as `edit` does.

    Parameters
    ----------
    name
        Of the system; else the file's.
    ssp
        Version of SSP: 1.0, which every tool reads and which becomes 2.0 with the first edit that needs it, or 2.0.
    start_time, stop_time
        The default experiment [s].

    Raises
    ------
    FileExistsError
        There is something at `system`.
    """
    path = Path(system)
    start, stop = _time("start_time", start_time), _time("stop_time", stop_time)
    structure = empty_structure(path.stem if name is None else name, ssp, start, stop)
    with Archive.create(path, structure) as archive, closing(Editor(archive, archive.structure())) as editor:
        yield editor
        _finish(editor, force, save)


def diff(a: Path | str, b: Path | str, *, variant: str | None = None, variant_b: str | None = None) -> Comparison:
    """What differs between two systems by meaning, whatever their formatting, order or prefixes.

    Not compared are descriptions, geometry, annotations and metadata.

    Parameters
    ----------
    variant
        Of both systems; or with `variant_b` of the first.
    """
    with Archive.open(a) as first, Archive.open(b) as second:
        structures = first.structure(variant), second.structure(variant_b or variant)
        return compare_structures((first, structures[0]), (second, structures[1]))


def _finish(editor: Editor, force: bool, save: bool) -> None:
    """Check and save the edits of an archive."""
    archive = editor.archive
    if not archive.edits():
        return
    if not force and (found := new_errors(archive, weaker_counts=False)):
        raise BrokenEdit(archive.path, found)
    if save:
        archive.save()


def _time(name: str, given: float | str | None) -> float | None:
    return None if given is None else seconds(name, given)
