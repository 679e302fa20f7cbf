"""Notes in the diagram of a system."""

from math import isfinite

from ssptool.arguments import number, text
from ssptool.documents import ssd
from ssptool.documents.vocabulary import number_text
from ssptool.editing.changes import EditError
from ssptool.editing.draft import Draft
from ssptool.editing.interface import GAP, PLACES, CanvasBox, box_of, hold
from ssptool.editing.names import Name, find_system
from ssptool.errors import counted, hint

SIZE = (60.0, 20.0)
"""Width and height of a new note [mm]."""


def annotate(
    draft: Draft,
    words: str,
    of: Name,
    corner: tuple[float, float] | None = None,
    size: tuple[float, float] | None = None,
) -> None:
    """Write a note into the diagram of a system, or move the one with this text.

    Parameters
    ----------
    corner
        Its lower left corner [mm, upwards]; by default below the elements that have places.
    size
        Its width and height [mm]; by default 60 x 20, or as it is.

    Raises
    ------
    EditError
        The text is empty, or the place is not valid.
    """
    where, system = find_system(draft.system, of)
    words = text("text", words)
    if not words.strip():
        raise EditError("the text of the note is empty: write some words, or remove the note")
    known = [note for note in system.notes if note.text == words]
    note = known[0] if known else ssd.Note.new()
    before = _box(note) if known else None
    width, height = size or (SIZE if before is None else (before.x2 - before.x1, before.y2 - before.y1))
    x, y = corner or (_below(system, height) if before is None else (before.x1, before.y1))
    values = [number(*one) for one in (("x", x), ("y", y), ("width", width), ("height", height))]
    if not all(map(isfinite, values)) or min(values[2:]) <= 0:
        raise EditError(
            f"a place is two finite numbers and a size above 0; found {x:g}, {y:g} and {width:g} x {height:g}"
        )
    x, y, width, height = values
    box = CanvasBox(x, y, round(x + width, PLACES), round(y + height, PLACES))
    for name in ("x1", "y1", "x2", "y2"):
        note.set(name, number_text(getattr(box, name)))
    if not known:
        note.text = words
        system.add(note)
    hold(system, box)
    draft.note(f"{'moved' if known else 'added'} a note in {where}")


def remove_note(draft: Draft, words: str, of: Name) -> None:
    """Remove the note of a system that has this text, or begins with it.

    Raises
    ------
    EditError
        There is none, or several begin so.
    """
    where, system = find_system(draft.system, of)
    found = [note for note in system.notes if note.text == words]
    found = found[:1] or [note for note in system.notes if words and note.text.startswith(words)]
    if not found:
        texts = [note.text for note in system.notes]
        raise EditError(f"{where} has no note {words!r}{hint(words, texts)}" if texts else f"{where} has no notes")
    if len(found) > 1:
        raise EditError(f"{counted(len(found), 'note')} of {where} begin with {words!r}: give more of the text")
    found[0].delete()
    draft.note(f"removed a note from {where}")


def _box(note: ssd.Note) -> CanvasBox:
    """The box of a note, whose corners may be stated in any order."""
    (left, right), (bottom, top) = sorted((note.x1, note.x2)), sorted((note.y1, note.y2))
    return CanvasBox(left, bottom, right, top)


def _below(system: ssd.System, height: float) -> tuple[float, float]:
    """The corner of a note below all elements that have places."""
    boxes = [box for one in system.elements if (box := box_of(one)) is not None]
    boxes += map(_box, system.notes)
    if not boxes:
        return 0.0, 0.0
    return min(one.x1 for one in boxes), min(one.y1 for one in boxes) - GAP - height
