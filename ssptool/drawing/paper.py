"""The size of a picture for print."""

import math
import re

from ssptool.dataclass import dataclass

_INCHES = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54}
_SMALLEST, _LARGEST = 0.8, 200.0
"""Of a side [inches]: of less, axes and their labels leave nothing to a curve."""
_DOTS, _PIXELS = 600.0, 1e8
"""Dots per inch for print, and what a picture may have of them, which is some 400 MB of memory."""


@dataclass(frozen=True, slots=True)
class Size:
    """Of a whole picture [inches]."""

    width: float
    height: float

    @classmethod
    def parse(cls, text: str) -> "Size":
        """From a text like `160x90mm`, `16x9cm` or `6.3x3.5in`.

        Raises
        ------
        ValueError
            It is none, or a side is not between 0.8 and 200 inches.
        """
        found = re.fullmatch(r"\s*([\d.]+)\s*[x×]\s*([\d.]+)\s*(mm|cm|in)\s*", text)
        try:
            sides = [float(found[place]) * _INCHES[found[3]] for place in (1, 2)] if found else []
        except ValueError:
            sides = []
        if len(sides) != 2 or not all(math.isfinite(side) and _SMALLEST <= side <= _LARGEST for side in sides):
            raise ValueError(
                "a size is WIDTHxHEIGHT with a unit, like 160x90mm or 6.3x3.5in, each from 0.8 to 200 inches; "
                f"found {text!r}"
            )
        return cls(*sides)

    @property
    def dots_per_inch(self) -> float:
        """600, and fewer for posters."""
        return min(_DOTS, math.sqrt(_PIXELS / (self.width * self.height)))
