"""Systems of any shape, for the tests of layouts."""

from hypothesis import strategies as st

from ssptool.drawing.diagram.model import Icon, Span, StatedBlock, StatedFeedthrough, StatedLine, StatedPin, StatedSheet
from ssptool.network.tree import ElementPath

PICTURE = Icon(b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml", keeps_ratio=True)
NAMES = st.text(st.sampled_from("abcdefgxyzMWil01_.[]"), min_size=1, max_size=18)
Pins = list[tuple[str, str]]


@st.composite
def systems(draw, most: int = 12) -> dict[ElementPath, StatedSheet]:
    """A system of up to `most` elements without geometry; some have systems inside."""
    return dict(_sheets(draw, (), most, own=draw(pins(3))))


@st.composite
def pins(draw, most: int) -> Pins:
    kinds = st.sampled_from(["input", "input", "output", "output", "parameter", "calculatedParameter"])
    names = draw(st.lists(NAMES, max_size=most, unique=True))
    return [(name, draw(kinds)) for name in names]


def _sheets(draw, path: ElementPath, most: int, own: Pins):
    names = draw(st.lists(NAMES, min_size=1, max_size=most, unique=True))
    faces = {name: draw(pins(draw(st.sampled_from([2, 4, 12])))) for name in names}
    nested = {name for name in names if len(path) < 2 and draw(st.integers(0, 7)) == 0}
    yield path, sheet(path, faces, own, lines(draw, faces, own), nested, {n for n in names if draw(st.booleans())})
    for name in sorted(nested):
        yield from _sheets(draw, (*path, name), 4, faces[name])


def lines(draw, faces: dict[str, Pins], own: Pins) -> list[tuple[tuple[str, str], tuple[str, str]]]:
    """From anything that a signal leaves to anything that takes one; each takes one at most."""
    ends = [(name, pin, kind) for name, face in faces.items() for pin, kind in face]
    sources = [end[:2] for end in ends if end[2] in ("output", "calculatedParameter")]
    sources += [("", pin) for pin, kind in own if kind in ("input", "parameter")]
    takers = [end[:2] for end in ends if end[2] in ("input", "parameter")]
    takers += [("", pin) for pin, kind in own if kind in ("output", "calculatedParameter")]
    if not sources:
        return []
    return [(draw(st.sampled_from(sources)), taker) for taker in takers if draw(st.integers(0, 3))]


def sheet(
    path: ElementPath, faces: dict[str, Pins], own: Pins, ends, nested=frozenset(), pictured=frozenset()
) -> StatedSheet:
    """Of elements by name, with their connectors; everything else has simple values."""
    return StatedSheet(
        path=path,
        name=path[-1] if path else "System",
        canvas=None,
        blocks=tuple(
            StatedBlock(
                path=(*path, name),
                source=f"{name}.fmu",
                described="",
                extent=None,
                rotation=0.0,
                icon=PICTURE if name in pictured else None,
                pins=tuple(map(_pin, face)),
                opens=name in nested,
                span=Span("s", 1, 1),
                feedthrough=tuple(_through(face)) if name not in nested | set(pictured) else (),
            )
            for name, face in faces.items()
        ),
        lines=tuple(StatedLine(start, end, None, ("",), (Span("s", 2, 2),)) for start, end in ends),
        notes=(),
        pins=tuple(map(_pin, own)),
    )


def _pin(pin: tuple[str, str]) -> StatedPin:
    return StatedPin(*pin, None, None, pin[0])


def _through(face: Pins):
    inlets = [name for name, kind in face if kind == "input"]
    outlets = [name for name, kind in face if kind == "output"]
    return (StatedFeedthrough(one, other, "", Span("s", 3, 3)) for one, other in zip(inlets, outlets, strict=False))
