"""How wide letters are, on the safe side: pictures are shown with the fonts of whoever looks at them."""

from unicodedata import east_asian_width

_CLASSES = (
    (0.46, " ',-./:;IJ\\fijl|"),
    (0.57, '!"()*[]_`rt'),
    (0.67, "?Lcsxz"),
    (0.86, "ABDGHKNRUVX"),
    (0.95, "#&+<=>OQw^~"),
    (1.1, "%@Mm"),
    (1.15, "W"),
)
_WIDTHS = {letter: width for width, letters in _CLASSES for letter in letters}
_OTHER, _FULL = 0.76, 1.1
_REGULAR = 0.93
"""Width of a letter over that of a bold one."""

LINE = 1.2
"""Height of a line of text over that of its letters."""


def text_width(text: str, size: float = 1.0, *, bold: bool = False) -> float:
    """Width of a line of text in letters of this size (the em), in the unit of the size."""
    width = sum(_WIDTHS.get(letter) or (_FULL if east_asian_width(letter) in "WF" else _OTHER) for letter in text)
    return width * size * (1.0 if bold else _REGULAR)
