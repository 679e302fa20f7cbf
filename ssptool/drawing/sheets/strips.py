"""A long row of layers cut into strips that stand below each other, as lines of text do on a page."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ASPECT = 1.5
"""Width over height of the page on which letters are to be large."""
_FEW, _MOST = 4, 12
"""So many layers are not cut, and into so many strips at most."""
_WORTHWHILE = 1.3
"""Lines across strips are harder to follow: letters must become this much larger."""


class Size(NamedTuple):
    """Of a layer: its width with the lines behind it, and from where to where it reaches upwards."""

    width: float
    bottom: float
    top: float


def in_strips(sizes: Sequence[Size], gap: float) -> tuple[range, ...]:
    """The layers of each strip; one strip, unless more make everything clearly larger on a page.

    Parameters
    ----------
    gap
        Between two strips.
    """

    def page(strips: Sequence[range]) -> float:
        width = max((sum(sizes[layer].width for layer in strip) for strip in strips), default=0.0)
        heights = [
            max(sizes[layer].top for layer in strip) - min(sizes[layer].bottom for layer in strip) for strip in strips
        ]
        return max(width / _ASPECT, sum(heights) + gap * len(heights))

    whole = (range(len(sizes)),) if sizes else ()
    if len(sizes) < _FEW:
        return whole
    widths = [size.width for size in sizes]
    cut = [tuple(_cut(widths, sum(widths) / count)) for count in range(2, min(_MOST, len(sizes) // 2) + 1)]
    best = min(cut, key=page)
    return best if page(whole) > _WORTHWHILE * page(best) else whole


def _cut(widths: Sequence[float], most: float) -> Iterator[range]:
    begin, filled = 0, 0.0
    for layer, width in enumerate(widths):
        if layer > begin and filled + width / 2 > most:
            yield range(begin, layer)
            begin, filled = layer, 0.0
        filled += width
    yield range(begin, len(widths))
