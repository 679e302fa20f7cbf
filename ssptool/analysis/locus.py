"""Root loci: the eigenvalues of a system over a parameter."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.analysis.linear_model import LinearModel, save_numbers
from ssptool.analysis.linear_text import table
from ssptool.engine.kernel.calls import Floats
from ssptool.errors import counted
from ssptool.foreign_text import joined_lines, json_text
from ssptool.printed import Printed, prints
from ssptool.public_calls import public


@public
@dataclass(frozen=True)
class RootLocus(Printed):
    """Eigenvalues of a system over the values of a parameter.

    Attributes
    ----------
    name
        Full name of the parameter.
    values : (k,)
        In the unit of the parameter.
    models
        The linear model at each value.
    """

    name: str
    values: Floats
    models: tuple[LinearModel, ...]

    def __repr__(self) -> str:
        return f"<RootLocus of {self.models[0].system}: {len(self.values)} values of {self.name}>"

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """(k, n) All eigenvalues at each value [1/s], complex pairs as two. Columns are branches: each eigenvalue
        belongs to the nearest one at the value before. A value at which there are fewer has nan.
        """
        rows = [_all(model) for model in self.models]
        found = np.full((len(rows), max(map(len, rows))), complex(np.nan, np.nan))
        for place, row in enumerate(rows):
            found[place, _branches(found[place - 1], row) if place else np.arange(len(row))] = row
        return found

    @property
    def margins(self) -> Floats:
        """(k,) Stability margin at each value [1/s]; negative where a mode grows."""
        return np.array([model.margin for model in self.models])

    @property
    def crossings(self) -> tuple[tuple[float, float], ...]:
        """Neighbouring values between which the stability changes."""
        known = [(value, model.stable) for value, model in zip(self.values.tolist(), self.models, strict=True)]
        return tuple((a, b) for (a, one), (b, other) in pairwise(known) if one is not other)

    def to_dict(self) -> dict[str, Any]:
        """Everything as lists, numbers and texts, as in a .json file."""
        each = zip(self.values.tolist(), self.models, strict=True)
        first = self.models[0]
        return {
            "system": first.system,
            "time": first.time,
            "step": first.step,
            "parameter": self.name,
            "crossings": [list(pair) for pair in self.crossings],
            "points": [
                {
                    "value": value,
                    "stable": model.stable,
                    "margin": model.margin,
                    "margin_error": model.margin_error,
                    "modes": [mode.to_dict() for mode in model.modes],
                    "notes": list(model.notes),
                }
                for value, model in each
            ],
        }

    def save(self, path: Path | str) -> None:
        """Write everything to a .json file, or the eigenvalues over the parameter to a .csv file.

        Raises
        ------
        WrongValue
            The file has another ending.
        """
        save_numbers(path, self.to_dict, self._rows)

    def draw(self, path: Path | str) -> None:
        """Draw the eigenvalues in the complex plane, and the stability margin over the parameter: a .png, .svg, .pdf or
        .html file.

        Raises
        ------
        MissingPackage
            matplotlib is not installed.
        WrongValue
            The file has another ending, or the system has no states.
        """
        from ssptool.analysis.pictures import draw_locus  # few calls draw

        first = self.models[0]
        title = f"{first.system}, linear at t = {first.time:g} s"
        draw_locus(self.name, self.values, self.eigenvalues, self.margins, title, Path(path))

    def _rows(self) -> Iterator[list[object]]:
        branches = self.eigenvalues
        numbers = range(1, branches.shape[1] + 1)
        yield [self.name, *(f"{part} {number} [1/s]" for number in numbers for part in ("real", "imaginary"))]
        for value, row in zip(self.values.tolist(), branches, strict=True):
            parts = (part for each in row.tolist() for part in (each.real, each.imag))
            yield [value, *("" if np.isnan(part) else part for part in parts)]


def _all(model: LinearModel) -> NDArray[np.complex128]:
    """The eigenvalues of a model (n,), complex pairs as two."""
    pairs = [(mode.eigenvalue, mode.eigenvalue.conjugate()) for mode in model.modes]
    return np.array([each for one, other in pairs for each in ((one, other) if one.imag else (one,))], dtype=complex)


def _branches(before: NDArray[np.complex128], row: NDArray[np.complex128]) -> NDArray[np.intp]:
    """The branch of each eigenvalue of a row: all together, they are as near as possible to those before."""
    from scipy.optimize import linear_sum_assignment  # only root loci need it

    distances = np.nan_to_num(np.abs(row[:, None] - before[None, :]), nan=np.finfo(float).max / (len(before) + 1))
    return np.asarray(linear_sum_assignment(distances)[1])


@prints(RootLocus)
def locus_text(locus: RootLocus) -> str:
    """One line for each value, with the margin and the least damped mode; then where the stability changes."""
    first = locus.models[0]
    kind = f"discrete modes (macro steps of {first.step:.6g} s)" if first.step else "modes"
    lines = [f"{kind} of {first.system} at t = {first.time:.12g} s over {counted(len(locus.values), 'value')}"]
    rows = [(locus.name, "margin [1/s]", "least damping", "its frequency [Hz]", "stable")]
    for value, model in zip(locus.values.tolist(), locus.models, strict=True):
        least = min(model.modes, key=lambda mode: mode.damping, default=None)
        stable = {True: "yes", False: "no", None: "at the limit"}[model.stable]
        shown = ("", "") if least is None else (f"{least.damping:.4g}", f"{least.frequency:.6g}")
        rows.append((f"{value:.9g}", f"{model.margin:.6g}", *shown, stable))
    lines += [f"note: {note}" for note in dict.fromkeys(note for model in locus.models for note in model.notes)]
    ends = (f"the stability changes between {locus.name} = {a:.9g} and {b:.9g}" for a, b in locus.crossings)
    return joined_lines([*lines, *table(rows), *ends])


LOCUS_RENDERERS: Mapping[str, Callable[[RootLocus], str]] = MappingProxyType(
    {"text": locus_text, "json": lambda locus: json_text(locus.to_dict(), indent=2)}
)
"""Formats of a root locus."""
