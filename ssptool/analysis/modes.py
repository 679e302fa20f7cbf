"""Modes of a linear system: eigenvalues, their frequency and damping, and the states that take part."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ssptool.engine.kernel.calls import Floats
from ssptool.public_calls import public

VANISHES = 1e-9
"""Magnitude up to which an eigenvalue of a macro step is 0: what it belongs to has vanished after the step."""


@public
@dataclass(frozen=True)
class Mode:
    """A real eigenvalue, or a pair of complex ones, of x' = A x, or of a macro step.

    Attributes
    ----------
    eigenvalue : [1/s]
        That with the positive imaginary part.
    participation
        State → its share in the mode, between 0 and 1; all together are 1. The share is |wᵢ vᵢ|, with the left and
        right eigenvectors w and v, and does not depend on units.
    components
        Component → the sum of the shares of its states, the largest first.
    error : [1/s]
        Estimated error of the eigenvalue, from that of A (first-order perturbation).
    """

    eigenvalue: complex
    participation: Mapping[str, float]
    components: Mapping[str, float]
    error: float = 0.0

    @property
    def significant(self) -> complex:
        """The eigenvalue with 0 in place of a part that is not larger than the error [1/s]."""
        real, imaginary = self.eigenvalue.real, self.eigenvalue.imag
        return complex(*(part if abs(part) > self.error else 0.0 for part in (real, imaginary)))

    @property
    def frequency(self) -> float:
        """Frequency of the oscillation [Hz]; 0 for a real eigenvalue."""
        return abs(self.significant.imag) / (2 * np.pi)

    @property
    def damping(self) -> float:
        """Damping ratio: 1 or -1 for a real eigenvalue, 0 if the mode neither decays nor grows."""
        size = abs(self.significant)
        return 0.0 - self.significant.real / size if size else 0.0

    @property
    def time_constant(self) -> float:
        """Time [s] in which it decays by the factor e; negative if it grows, inf if it does neither."""
        return -1 / self.significant.real if self.significant.real else np.inf

    def to_dict(self) -> dict[str, Any]:
        """Everything as numbers and texts; the eigenvalue as its real and imaginary part."""
        return {
            "eigenvalue": [self.eigenvalue.real, self.eigenvalue.imag],
            "error": self.error,
            "frequency": self.frequency,
            "damping": self.damping,
            "time_constant": self.time_constant,
            "participation": dict(self.participation),
            "components": dict(self.components),
        }

    def __repr__(self) -> str:
        return f"<Mode {self.eigenvalue:.6g} 1/s>"


def modes_of(A: Floats, errors: Floats, states: Sequence[tuple[str, str]], step: float = 0.0) -> tuple[Mode, ...]:
    """Modes of A (n, n), the slowest to decay first. States have names, and names of components. `errors` (n,) are
    those of the elements of each row of A. A is that of a macro step [s]; 0: of derivatives.
    """
    if not len(A):
        return ()
    values, right = np.linalg.eig(A)
    left, values = np.linalg.pinv(right), values.astype(complex)
    spread = (np.abs(left) @ errors) * np.abs(right).sum(axis=0)  # |w| ΔA |v|, in which wᵀ v is 1
    shares = np.abs(right * left.T)
    shares /= np.maximum(shares.sum(axis=0), np.finfo(float).tiny)
    kept = list(range(len(values)))
    if step:
        kept = [k for k in kept if abs(values[k]) > max(spread[k], VANISHES)]
        sizes = np.maximum(np.abs(values), VANISHES)
        spread, values = spread / (step * sizes), np.log(values + (np.abs(values) <= VANISHES)) / step
    order = sorted(kept, key=lambda k: (-values[k].real, -abs(values[k].imag)))
    return tuple(
        _mode(complex(values[k]), float(spread[k]), shares[:, k].tolist(), states) for k in order if values[k].imag >= 0
    )


def _mode(eigenvalue: complex, error: float, shares: Sequence[float], states: Sequence[tuple[str, str]]) -> Mode:
    together: dict[str, float] = defaultdict(float)
    for (_, component), share in zip(states, shares, strict=True):
        together[component] += share
    ordered = dict(sorted(together.items(), key=lambda item: -item[1]))
    return Mode(eigenvalue, {name: share for (name, _), share in zip(states, shares, strict=True)}, ordered, error)
