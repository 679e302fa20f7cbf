"""Signals to draw, put into panels: one per unit, curves that would hide each other as one."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass

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
        Drawn as a staircase (discrete signals); else as a line.
    run
        Which of several runs it is of.
    """

    label: str
    unit: str | None
    t: Floats
    y: Floats
    held: bool = False
    run: str = ""

    @property
    def name(self) -> str:
        """As a legend has it."""
        return f"{self.label} ({self.run})" if self.run else self.label


@dataclass(frozen=True, slots=True)
class Styled:
    """A curve with the numbers of its colour and of its dash pattern, counted from 0."""

    curve: Curve
    colour: int
    dash: int


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves of one unit over a common axis of time."""

    unit: str
    curves: tuple[Styled, ...]

    @property
    def axis_label(self) -> str:
        return f"[{self.unit}]" if self.unit else "[-]"


def panels(curves: Sequence[Curve]) -> tuple[Panel, ...]:
    """In the order in which the units first occur.

    Raises
    ------
    ValueError
        There is nothing to draw: no curve, or none with a point.
    """
    if not curves:
        raise ValueError("there is no signal to draw")
    curves = [curve for curve in curves if curve.t.size]
    if not curves:
        raise ValueError("there is nothing to draw: the results have no rows")
    units = dict.fromkeys(curve.unit or "" for curve in curves)
    return tuple(
        Panel(unit, tuple(_styled(list(_merged(curve for curve in curves if (curve.unit or "") == unit)))))
        for unit in units
    )


def _merged(curves: Iterable[Curve]) -> Iterator[Curve]:
    """Curves of a run with the same values as one with all their labels: a wire's two ends would hide each other."""
    by_values: dict[tuple[str, bytes], list[Curve]] = {}
    for curve in curves:
        by_values.setdefault((curve.run, curve.y.tobytes()), []).append(curve)
    for same in by_values.values():
        yield replace(same[0], label=_label([curve.label for curve in same]))


def _label(labels: Sequence[str]) -> str:
    """Of curves that are one, as many names as can be read."""
    if len(labels) <= _NAMES:
        return " = ".join(labels)
    return f"{' = '.join(labels[: _NAMES - 1])} = … ({len(labels)} signals)"


_NAMES = 8


def _styled(curves: Sequence[Curve]) -> Iterator[Styled]:
    """Signals differ by colour and runs by dashes; a single signal's runs by both: equal ones hide each other else."""
    labels = {label: number for number, label in enumerate(dict.fromkeys(curve.label for curve in curves))}
    runs = {run: number for number, run in enumerate(dict.fromkeys(curve.run for curve in curves))}
    for curve in curves:
        label, run = labels[curve.label], runs[curve.run]
        yield Styled(curve, label, run) if len(labels) > 1 else Styled(curve, run, run)
