"""The size of a picture for print."""

import math
import re

from ssptool.dataclass import dataclass

_INCHES = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54}
_LARGEST = 200.0


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
            It is none, or a side is not between nothing and 200 inches.
        """
        found = re.fullmatch(r"\s*([\d.]+)\s*[x×]\s*([\d.]+)\s*(mm|cm|in)\s*", text)
        try:
            sides = [float(found[place]) * _INCHES[found[3]] for place in (1, 2)] if found else []
        except ValueError:
            sides = []
        if len(sides) != 2 or not all(math.isfinite(side) and 0.0 < side <= _LARGEST for side in sides):
            raise ValueError(f"a size is WIDTHxHEIGHT with a unit, like 160x90mm or 6.3x3.5in; found {text!r}")
        return cls(*sides)
