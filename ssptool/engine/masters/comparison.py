"""Comparison of signals for the choice of steps: real numbers by their size, all others by whether they change."""

import numpy as np
from numpy.typing import NDArray

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.masters.master import CoupledSystem

_NEGLIGIBLE = 1e-4
"""Share of the largest signal, or of 1 if that is less: a signal without nominal value is at least that large."""


class StepComparison:
    """Signals of a system at communication points.

    The size of a real signal is the larger of its value and its nominal value; if its FMU states none, that of its
    values so far.

    Attributes
    ----------
    discrete
        Slots of signals that are not real numbers.
    sizes
        By real signal.
    """

    def __init__(self, system: CoupledSystem, tolerance: float, order: int) -> None:
        self._system, self._tolerance, self._order = system, tolerance, order
        every = np.arange(len(system.kernel.values))
        self._reals = every if system.reals is None else system.reals
        self.discrete: NDArray[np.intp] = system.discrete
        self._stated = system.nominal_stated[self._reals]
        values = system.kernel.values
        self.sizes: Floats = np.where(self._stated, system.nominal[self._reals], np.abs(values[self._reals]))

    def error(self, fine: Floats, coarse: Floats) -> float:
        """Error of two steps, from their end and that of one step of twice the size; 1 is what is allowed."""
        return float(np.max(self._errors(fine, coarse), initial=0.0))

    def worst(self, fine: Floats, coarse: Floats) -> str:
        """Name of the signal with the largest error."""
        return self._system.name_of(int(self._reals[np.argmax(self._errors(fine, coarse))]))

    def _errors(self, fine: Floats, coarse: Floats) -> Floats:
        found = fine[self._reals]
        difference = np.abs(found - coarse[self._reals])
        sizes = np.fmax(np.abs(found), self.sizes)
        sizes = np.where(self._stated, sizes, np.fmax(sizes, _NEGLIGIBLE * min(self._largest(sizes), 1 / _NEGLIGIBLE)))
        allowed = np.fmax(self._tolerance * sizes, np.finfo(float).tiny) * (2**self._order - 1)
        return np.asarray(difference / allowed)

    def _largest(self, sizes: Floats) -> float:
        return float(np.max(sizes, initial=0.0, where=np.isfinite(sizes)))

    def changed(self, *instants: Floats) -> int | None:
        """The slot of a signal that is not a real number and not the same at all these instants."""
        first, *others = (values.view(np.int64)[self.discrete] for values in instants)
        for other in others:
            if different := np.flatnonzero(other != first).tolist():
                return int(self.discrete[different[0]])
        return None

    def accept(self, values: Floats) -> None:
        """Continue from these values, which may be larger than all before."""
        found = np.abs(values[self._reals])
        self.sizes = np.where(self._stated, self.sizes, np.fmax(found, self.sizes))

    def tolerate(self, fine: Floats, coarse: Floats) -> None:
        """Take differences that no step size removes for noise, if they are negligible beside the largest signal."""
        noise = np.abs(fine[self._reals] - coarse[self._reals]) / self._tolerance
        small = np.isfinite(noise) & (noise <= self._largest(self.sizes))
        self.sizes = np.where(small & ~self._stated, np.fmax(self.sizes, 2 * noise), self.sizes)
