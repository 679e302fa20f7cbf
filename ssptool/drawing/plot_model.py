"""Curves, panels, paper sizes and fewer points: the common model of all kinds of plots."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ssptool.errors import WrongValue
from ssptool.public_calls import public

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Curve:
    """One signal of one run.

    Attributes
    ----------
    unit
        Of the values; "" or None: no unit.
    t, y : (n,)
        Times [s] and values.
    held
        Draw steps (discrete signals), not lines.
    run
        Name of the run.
    net
        Signals with the same one are connected: their values are the same, unless time passes in between.
    error
        Half-width of the band of the estimated error, in the unit of the values; 0: there is no band.
    """

    label: str
    unit: str | None
    t: Floats
    y: Floats
    held: bool = False
    run: str = ""
    net: str = ""
    error: float = 0.0

    @property
    def name(self) -> str:
        """The name in a legend."""
        return f"{self.label} ({self.run})" if self.run else self.label


@dataclass(frozen=True, slots=True)
class Styled:
    """A curve with the numbers of its colour and of its dash pattern, counted from 0."""

    curve: Curve
    colour: int
    dash: int


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves of one unit over a common time axis. `dashes_tell_runs`: one legend of runs is used for all panels."""

    unit: str
    curves: tuple[Styled, ...]
    dashes_tell_runs: bool = True

    @property
    def axis_label(self) -> str:
        return f"[{self.unit}]" if self.unit else "no unit stated"


def panels(curves: Sequence[Curve]) -> tuple[Panel, ...]:
    """The curves in panels by unit, in the order in which the units first occur.

    Curves of one unit share a panel while each of them takes at least 1/`READABLE` of its height.

    Raises
    ------
    WrongValue
        No curve, or no curve with a point.
    """
    if not curves:
        raise WrongValue("there is no signal to draw")
    curves = [curve for curve in curves if curve.t.size]
    if not curves:
        raise WrongValue("there is nothing to draw: the results have no rows")
    by_unit: dict[str, list[Curve]] = {}
    for curve in _merged(curves):
        by_unit.setdefault(curve.unit or "", []).append(curve)
    groups = [(unit, group) for unit, same in by_unit.items() for group in _readable(same)]
    together = all(_few(group) for _, group in groups)
    return tuple(Panel(unit, tuple(_styled(group, together)), together) for unit, group in groups)


def _merged(curves: Iterable[Curve]) -> Iterator[Curve]:
    """Connected curves of a run with equal values as one curve with all labels, because they would hide each other."""
    by_values: dict[tuple[str, str, bytes], list[Curve]] = {}
    for curve in curves:
        by_values.setdefault((curve.run, curve.net or curve.label, curve.y.tobytes()), []).append(curve)
    for same in by_values.values():
        yield replace(same[0], label=_label([curve.label for curve in same]))


READABLE = 30.0
"""Maximum ratio between the height of a panel and that of its flattest curve."""
_FLAT = 1e-9
"""Height below which a curve counts as constant, relative to its values or to the highest curve of its unit."""


def _readable(curves: Sequence[Curve]) -> list[list[Curve]]:
    """Groups of curves that can be read on one axis, in their order; a signal of several runs stays together."""
    signals: dict[str, list[Curve]] = {}
    for curve in curves:
        signals.setdefault(curve.label, []).append(curve)
    extents = {label: _extent(same) for label, same in signals.items()}
    highest = max((high - low for low, high in extents.values()), default=0.0)
    groups: list[_Group] = []
    for label in sorted(signals, key=lambda label: extents[label][0] - extents[label][1]):
        low, high = extents[label]
        constant = high - low <= _FLAT * max(highest, abs(low), abs(high))
        flattest = math.inf if constant else high - low
        group = next((one for one in groups if one.takes(low, high, flattest)), None)
        if group is None:
            groups.append(group := _Group())
        group.add(label, low, high, flattest)
    home = {label: number for number, one in enumerate(groups) for label in one.labels}
    found: dict[int, list[Curve]] = {}
    for curve in curves:
        found.setdefault(home[curve.label], []).append(curve)
    return list(found.values())


def _extent(curves: Sequence[Curve]) -> tuple[float, float]:
    """Smallest and largest finite value; 0 if there is none."""
    values = np.concatenate([curve.y for curve in curves])
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


@dataclass(slots=True)
class _Group:
    """Labels of the signals of one panel, with its extent and the height of its flattest curve."""

    labels: list[str] = field(default_factory=list)
    low: float = math.inf
    high: float = -math.inf
    flattest: float = math.inf

    def takes(self, low: float, high: float, flattest: float) -> bool:
        return max(self.high, high) - min(self.low, low) < READABLE * min(self.flattest, flattest)

    def add(self, label: str, low: float, high: float, flattest: float) -> None:
        self.labels.append(label)
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.flattest = min(self.flattest, flattest)


def _label(labels: Sequence[str]) -> str:
    """The label of merged curves, with a limited number of names."""
    if len(labels) <= _NAMES:
        return " = ".join(labels)
    return f"{' = '.join(labels[: _NAMES - 1])} = … ({len(labels)} signals)"


_NAMES = 8


COLOURS, DASHES = 10, 4


def _few(curves: Sequence[Curve]) -> bool:
    """Whether colours are enough for the signals of a panel, and dashes for its runs."""
    signals, runs = len({curve.label for curve in curves}), len({curve.run for curve in curves})
    return signals == 1 or runs == 1 or (signals <= COLOURS and runs <= DASHES)


def _styled(curves: Sequence[Curve], together: bool) -> Iterator[Styled]:
    """Styles, all different up to 40 curves: signals differ by colour, runs by dashes, runs of a single signal by both.

    Beyond the ten colours, and where dashes cannot tell the runs, each curve has the next pair of both.
    """
    labels = {label: number for number, label in enumerate(dict.fromkeys(curve.label for curve in curves))}
    runs = {run: number for number, run in enumerate(dict.fromkeys(curve.run for curve in curves))}
    hidden: Counter[bytes] = Counter()
    for number, curve in enumerate(curves):
        label, run = labels[curve.label], runs[curve.run]
        if len(runs) == 1 or not together:
            # Of curves that hide each other, those that are drawn later have gaps.
            values = curve.y.tobytes()
            yield Styled(curve, number, number // COLOURS if len(curves) > COLOURS else hidden[values])
            hidden[values] += 1
        elif len(labels) > 1:
            yield Styled(curve, label, run)
        else:
            yield Styled(curve, run, run if len(runs) <= COLOURS else run // COLOURS)


MOST_POINTS = 4000
"""Most points of a curve in a page: more than a screen has columns."""


def thinned(curve: Curve, most: int = MOST_POINTS) -> Curve:
    """A curve reduced to about `most` points: the smallest and the largest of each interval, and both ends."""
    n = len(curve.t)
    if n <= most:
        return curve
    bounds = np.linspace(0, n, most // 2 + 1).astype(int)[:-1]
    lows, highs = np.minimum.reduceat(curve.y, bounds), np.maximum.reduceat(curve.y, bounds)
    stretch = np.searchsorted(bounds, np.arange(n), side="right") - 1
    extreme = (curve.y == lows[stretch]) | (curve.y == highs[stretch]) | np.isnan(curve.y)
    # Of equal values in an interval the first one is enough.
    keep = np.unique(np.stack([stretch[extreme], curve.y[extreme]]), axis=1, return_index=True)[1]
    chosen = np.union1d(np.flatnonzero(extreme)[keep], [0, n - 1])
    return replace(curve, t=curve.t[chosen], y=curve.y[chosen])


_INCHES = {"in": 1.0, "mm": 1 / 25.4, "cm": 1 / 2.54}
_SMALLEST, _LARGEST = 0.8, 200.0
"""Limits of a side [inches]: in less, axes and their labels leave nothing to a curve."""
_DOTS, _PIXELS = 600.0, 1e8
"""Dots per inch for print, and maximum number of pixels of a picture (about 400 MB of memory)."""


@dataclass(frozen=True, slots=True)
class Size:
    """Size of a whole picture [inches]."""

    width: float
    height: float

    @classmethod
    def parse(cls, text: str) -> "Size":
        """A size from a text like `160x90mm`, `16x9cm` or `6.3x3.5in`.

        Raises
        ------
        WrongValue
            The text is not a size, or a side is not between 0.8 and 200 inches.
        """
        found = re.fullmatch(r"\s*([\d.]+)\s*[x×]\s*([\d.]+)\s*(mm|cm|in)\s*", text)
        try:
            sides = [float(found[place]) * _INCHES[found[3]] for place in (1, 2)] if found else []
        except ValueError:
            sides = []
        if len(sides) != 2 or not all(math.isfinite(side) and _SMALLEST <= side <= _LARGEST for side in sides):
            raise WrongValue(
                "a size is WIDTHxHEIGHT with a unit, like 160x90mm or 6.3x3.5in, each from 0.8 to 200 inches; "
                f"found {text!r}"
            )
        return cls(*sides)

    @property
    def dots_per_inch(self) -> float:
        """Resolution: 600, less for posters."""
        return min(_DOTS, math.sqrt(_PIXELS / (self.width * self.height)))


PICTURES = (".png", ".svg", ".pdf")


PAGES = (".html",)


FORMATS = (*PICTURES, *PAGES)


@public
def check_plot_name(path: Path, formats: Sequence[str] = FORMATS) -> None:
    """Check the ending of a plot file before a long run. Raises ValueError."""
    if path.suffix.lower() not in formats:
        raise WrongValue(f"{path}: the ending must be one of {', '.join(formats)}; found {path.suffix or 'none'}")
