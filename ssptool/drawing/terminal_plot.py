"""Plots over time as text of a terminal, in dots of Braille: one panel per unit, as in pictures."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len, chop_cells, set_cell_size

from ssptool.drawing.plot_model import Curve, Floats, Panel, panels, thinned
from ssptool.errors import counted
from ssptool.foreign_text import one_line

LEAST_WIDTH, LEAST_HEIGHT = 30, 8
"""Smallest size of a picture: in a smaller one, labels leave no room for the curves."""
_LEAST_ROWS, _ROWS = 3, 8
"""Rows of the curves of a panel: minimum, and default if the height is free."""
_AXIS = 2
"""Rows of the time axis."""
_COLOURS = (34, 33, 32, 31, 35, 36, 94, 93, 92, 91)
"""Colours of curves, as numbers of ANSI styles: blue, yellow, green, red, magenta, cyan, and brighter ones."""
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BRAILLE = 0x2800


def terminal_lines(
    curves: Sequence[Curve], title: str, width: int, height: int | None = None, *, colour: bool = False
) -> list[str]:
    """Curves over time as lines for a terminal, the title first.

    Above each panel stand its curves with their last values. Several curves of a panel differ by letters, and by
    colours. The last line names the panels that do not fit.

    Parameters
    ----------
    width, height
        Largest number of columns and rows; without a height, as many rows as all panels need.
    colour
        With ANSI styles.
    """
    if width < LEAST_WIDTH or (height is not None and height < LEAST_HEIGHT):
        return _fitted_lines([title, f"too small for a plot: {LEAST_WIDTH} x {LEAST_HEIGHT} at least"], width, height)
    heading = _cut(one_line(title), width)
    heading = f"\x1b[1m{heading}\x1b[0m" if colour else heading
    if not any(curve.t.size for curve in curves):
        return [heading]
    contents = panels([thinned(curve, 4 * width) for curve in curves if curve.t.size])
    layout = _laid_out(contents, width, height, colour=colour)
    drawn = contents[: len(layout.rows)]
    scales = [_Scale.of(panel) for panel in drawn]
    margin = max(cell_len(text) for scale in scales for text in scale.labels)
    times = _Times.of(contents, width - margin - 2)
    lines = [heading]
    for panel, scale, legend, rows in zip(drawn, scales, layout.legends, layout.rows, strict=True):
        lines += legend
        lines += _panel(panel, scale, times, margin, rows, colour=colour)
    lines += times.axis(margin)
    if left := contents[len(layout.rows) :]:
        lines.append(_cut(_left_out(left), width))
    return lines


def _fitted_lines(lines: Sequence[str], width: int, height: int | None) -> list[str]:
    """Lines of text in a terminal that is too small for a plot."""
    parts = [part for line in lines for part in chop_cells(one_line(line), max(width, 2))]
    return parts if height is None else parts[: max(height, 1)]


def _left_out(left: Sequence[Panel]) -> str:
    names = [one.curve.name for panel in left for one in panel.curves]
    return f"{counted(len(names), 'more signal')} (choose by --signals, or enlarge): {', '.join(map(one_line, names))}"


def _cut(text: str, width: int) -> str:
    """A text of at most `width` columns; an ellipsis shows that it was cut."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


# -- legends and heights ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Layout:
    """Lines of legend and rows of curves of each panel that is drawn."""

    legends: tuple[list[str], ...]
    rows: tuple[int, ...]


def _laid_out(contents: Sequence[Panel], width: int, height: int | None, *, colour: bool) -> _Layout:
    """Panels from the first on, as many as fit."""
    if height is None:
        legends = [_legend(panel, width, None, colour=colour) for panel in contents]
        return _Layout(tuple(legends), (_ROWS,) * len(contents))
    free = height - 1 - _AXIS
    count = len(contents)
    if count * (1 + _LEAST_ROWS) > free:
        free -= 1  # for the line about panels left out
        count = max(1, free // (1 + _LEAST_ROWS))
    most = max(1, (free // count - _LEAST_ROWS + 1) // 2)
    legends = [_legend(panel, width, most, colour=colour) for panel in contents[:count]]
    each, more = divmod(free - sum(map(len, legends)), count)
    return _Layout(tuple(legends), tuple(each + (number < more) for number in range(count)))


def _legend(panel: Panel, width: int, most: int | None, *, colour: bool) -> list[str]:
    """The curves of a panel with their last values, in at most `most` lines; the last line states how many are left
    out.
    """
    total = len(panel.curves)
    shown = total if most is None else min(total, most * (width // _SHORTEST + 1))
    while True:
        entries = [(_entry(panel, number, width), _style(panel, number, colour=colour)) for number in range(shown)]
        if shown < total:
            entries.append((_cut(f"… {total - shown} more (choose by --signals)", width), 0))
        lines = _packed(entries, width)
        if most is None or len(lines) <= most:
            return lines
        shown -= 1


_SHORTEST = 9
"""Minimum number of columns of an entry of a legend, with the space before the next one."""


def _packed(entries: Sequence[tuple[str, int]], width: int) -> list[str]:
    """Entries with their styles in lines, as many in each as fit."""
    lines: list[str] = []
    used = width
    for text, style in entries:
        styled = f"\x1b[{style}m{text[0]}\x1b[0m{text[1:]}" if style else text
        if used + 3 + cell_len(text) > width:
            lines.append(styled)
            used = cell_len(text)
        else:
            lines[-1] += f"   {styled}"
            used += 3 + cell_len(text)
    return lines


def _entry(panel: Panel, number: int, width: int) -> str:
    """Marker, name, last value and unit of a curve."""
    curve = panel.curves[number].curve
    value = f"{curve.y[-1]:.6g}{f' {one_line(panel.unit)}' if panel.unit else ''}"
    name = _cut(one_line(curve.name), max(width - cell_len(value) - 4, 8))
    return _cut(f"{_mark(panel, number)} {name}: {value}", width)


def _mark(panel: Panel, number: int) -> str:
    return _LETTERS[number % len(_LETTERS)] if len(panel.curves) > 1 else "─"


def _style(panel: Panel, number: int, *, colour: bool) -> int:
    return _COLOURS[panel.curves[number].colour % len(_COLOURS)] if colour else 0


# -- axes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Scale:
    """Range of the values of a panel, and the labels of its ends."""

    low: float
    high: float

    @classmethod
    def of(cls, panel: Panel) -> "_Scale":
        values = np.concatenate([one.curve.y for one in panel.curves])
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        if high - low > _FLAT * max(abs(low), abs(high)):
            return cls(low, high)
        around = _AROUND * abs(low) or 1.0
        most = float(np.finfo(np.float64).max)
        return cls(max(low - around, -most), min(high + around, most))

    @property
    def labels(self) -> tuple[str, str]:
        low, high = _distinct([self.low, self.high])
        return low, high

    def dots(self, values: Floats, count: int) -> NDArray[np.int64]:
        """Values (n,) as numbers of dots 0 … count - 1 from below."""
        # Halved, because the range may exceed the largest number.
        part = (values / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return np.rint(part * (count - 1)).astype(np.int64)


_FLAT, _AROUND = 1e-12, 0.05
"""Maximum range of a constant relative to its value, and the margin that is shown around it."""


def _distinct(values: Sequence[float]) -> list[str]:
    """Numbers as short texts that differ."""
    for digits in range(4, 17):
        found = [f"{value:.{digits}g}" for value in values]
        if len(set(found)) == len(found):
            return found
    return [repr(value) for value in values]


@dataclass(frozen=True, slots=True)
class _Times:
    """The common time axis of all panels; `columns` is its width."""

    begin: float
    end: float
    columns: int

    @classmethod
    def of(cls, contents: Sequence[Panel], columns: int) -> "_Times":
        curves = [one.curve for panel in contents for one in panel.curves]
        return cls(min(float(one.t[0]) for one in curves), max(float(one.t[-1]) for one in curves), columns)

    def dots(self, times: Floats) -> NDArray[np.int64]:
        """Times (n,) as numbers of dots from the left, two in each column."""
        if not self.end > self.begin:
            return np.zeros(times.shape, dtype=np.int64)
        part = (times / 2 - self.begin / 2) / (self.end / 2 - self.begin / 2)
        return np.rint(part * (2 * self.columns - 1)).astype(np.int64)

    def axis(self, margin: int) -> list[str]:
        """The axis with its ticks, and their times."""
        ticks = self._ticks()
        places = [int(dot) // 2 for dot in self.dots(np.array(ticks))]
        line, texts = ["─"] * self.columns, [" "] * self.columns
        free = 0
        for place, text in zip(places, _distinct(ticks), strict=True):
            begin = min(max(place - len(text) // 2, 0), self.columns - len(text))
            if begin >= free:
                line[place] = "┴"
                texts[begin : begin + len(text)] = text
                free = begin + len(text) + 1
        label = "t [s]" if margin >= 5 else "t"
        return [f"{'':{margin}} └{''.join(line)}", f"{label:>{margin}}  {''.join(texts)}".rstrip()]

    def _ticks(self) -> list[float]:
        """Round times in the interval."""
        span = self.end - self.begin
        if not 0 < span < math.inf:
            return [self.begin]
        wanted = span / max(self.columns // _TICK, 1)
        power = 10.0 ** math.floor(math.log10(wanted))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= wanted * (1 - 1e-9))
        first, last = math.ceil(self.begin / step - 1e-9), math.floor(self.end / step + 1e-9)
        ticks = [number * step for number in range(first, last + 1)]
        return ticks or [self.begin]


_TICK = 11
"""Approximate number of columns between two ticks."""


# -- curves ----------------------------------------------------------------------------------------------------


def _panel(panel: Panel, scale: _Scale, times: _Times, margin: int, rows: int, *, colour: bool) -> Iterator[str]:
    """The rows of a panel behind the labels of its ends."""
    dots = [_dots_of(one.curve, scale, times, rows) for one in panel.curves]
    letters = {} if len(dots) < 2 else _letters(dots)
    low, high = scale.labels
    for row in range(rows):
        label = high if row == 0 else low if row == rows - 1 else ""
        cells = [_cell(dots, letters, row, column) for column in range(times.columns)]
        styles = [0 if one < 0 else _style(panel, one, colour=colour) for _, one in cells]
        yield f"{label:>{margin}} {'┤' if label else '│'}{_styled([text for text, _ in cells], styles)}"


def _dots_of(curve: Curve, scale: _Scale, times: _Times, rows: int) -> NDArray[np.int64]:
    """Patterns of Braille (rows, columns) of one curve, from above; gaps where values are not finite."""
    finite = np.isfinite(curve.y)
    points = np.column_stack([times.dots(curve.t), scale.dots(np.where(finite, curve.y, scale.low), 4 * rows)])
    connected = finite[:-1] & finite[1:]
    before, after = points[:-1][connected], points[1:][connected]
    # A held value goes sideways first, then up or down.
    corner = np.column_stack([after[:, 0], before[:, 1]]) if curve.held else before
    alone = points[finite]
    x, y = _lines(np.concatenate([before, corner, alone]), np.concatenate([corner, after, alone]))
    dots = np.zeros((4 * rows, 2 * times.columns), dtype=np.int64)
    dots[4 * rows - 1 - y, x] = 1
    cells: NDArray[np.int64] = np.einsum("rycx,yx->rc", dots.reshape(rows, 4, times.columns, 2), _BITS)
    return cells


_BITS = np.array([[1, 8], [2, 16], [4, 32], [64, 128]])
"""Bits of a character of Braille, (rows, columns) of its dots."""


def _lines(begin: NDArray[np.int64], end: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places across and up of all dots on the straight lines between points (n, 2)."""
    steps = np.abs(end - begin).max(axis=1, initial=0)
    line = np.repeat(np.arange(len(steps)), steps + 1)
    number = np.arange(len(line)) - np.repeat(np.cumsum(steps + 1) - steps - 1, steps + 1)
    part = number / np.maximum(steps, 1)[line]
    found = np.rint(begin[line] + part[:, np.newaxis] * (end - begin)[line]).astype(np.int64)
    return found[:, 0], found[:, 1]


def _letters(dots: Sequence[NDArray[np.int64]]) -> dict[tuple[int, int], int]:
    """Cells (row, column) that show the letter of a curve: at regular distances, and in different columns for each
    curve.
    """
    found: dict[tuple[int, int], int] = {}
    period = max(_APART * len(dots), _OFTEN)
    for number, pattern in enumerate(dots):
        columns = np.flatnonzero(pattern.any(axis=0))
        chosen = columns[columns % period == (_APART * number + 1) % period]
        if not chosen.size and columns.size:
            chosen = columns[[(number + 1) * (columns.size - 1) // (len(dots) + 1)]]
        for column in chosen.tolist():
            free = [row for row in np.flatnonzero(pattern[:, column]).tolist() if (row, column) not in found]
            if free:
                found[free[0], column] = number
    return found


_APART, _OFTEN = 3, 24
"""Minimum number of columns between letters of two curves, and of one curve."""


def _cell(
    dots: Sequence[NDArray[np.int64]], letters: dict[tuple[int, int], int], row: int, column: int
) -> tuple[str, int]:
    """The character of a cell, and the curve whose colour it has; -1 for none."""
    if (number := letters.get((row, column), -1)) >= 0:
        return _LETTERS[number % len(_LETTERS)], number
    patterns = [int(pattern[row, column]) for pattern in dots]
    last = max((number for number, pattern in enumerate(patterns) if pattern), default=-1)
    whole = 0
    for pattern in patterns:
        whole |= pattern
    return chr(_BRAILLE + whole) if whole else " ", last


def _styled(cells: Sequence[str], styles: Sequence[int]) -> str:
    """The text of the cells; adjacent cells of one style share its codes."""
    parts: list[str] = []
    present = 0
    for cell, style in zip(cells, styles, strict=True):
        if cell == " ":
            style = present
        if style != present:
            parts.append(f"\x1b[{style}m")
            present = style
        parts.append(cell)
    return "".join(parts).rstrip() + ("\x1b[0m" if present else "")
