"""Newton's method on the interface of a group, with a Jacobian of the step that is kept while it serves."""

import numpy as np
from numpy.typing import NDArray

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.loops.iterate import Proposal
from ssptool.engine.loops.jacobian import FiniteDifferences
from ssptool.engine.loops.solution import Domain
from ssptool.engine.masters.acceleration import Accelerator, Interface
from ssptool.engine.masters.partners import Memory


@dataclass(frozen=True, slots=True)
class InterfaceNewton:
    """Solve (dS/dx − 1) p = x − S(x), where S maps the inputs at the end of a step to what comes out for them.

    dS/dx follows from partial derivatives of the FMUs where they give them, at the point where they are. That takes no
    step, so it is done in every iteration if no column is missing. Missing columns come from finite differences of
    whole steps, one step per colour of the pattern of what depends on what; then the Jacobian is kept from iteration to
    iteration and from step to step, and taken anew when an iteration reduces the residual by less than `contraction`.

    Derivatives of FMUs need not be those of their steps: after `misses` iterations of one step that reduce the residual
    by less than that, with derivatives taken at the point itself, differences take their place for good. The
    solution of a step is the same whatever the Jacobian is like; it is only found sooner or later.

    References
    ----------
    Sicklinger, Belsky, Engelmann, Elmqvist, Olsson, Wüchner, Bletzinger 2014, "Interface Jacobian-based
    co-simulation"; Curtis, Powell, Reid 1974 (colours); Kelley 2003, "Solving nonlinear equations with Newton's
    method", §2.3 (when to renew the Jacobian).
    """

    contraction: float = 0.2
    relative_step: float = 1e-5
    derivatives: bool = True
    misses: int = 2

    @property
    def name(self) -> str:
        return "interface Newton"

    def start(self, interface: Interface) -> Accelerator:
        return _KeptJacobian(self, interface)


class _KeptJacobian:
    """Remembers the inverse of dS/dx − 1."""

    def __init__(self, method: InterfaceNewton, interface: Interface) -> None:
        self.method = method
        self.interface = interface
        self.derivatives = interface.derivatives if method.derivatives else None
        self.inverse: Floats | None = None
        self.last_size: float | None = None
        self.free = False  # the inverse was taken without any step, at the last iterate
        self.misses = 0

    def begin(self) -> Proposal:
        self.last_size, self.misses = None, 0
        return self

    def memory(self) -> Memory:
        own = {"differences": np.array(self.derivatives is None), "free": np.array(self.free)}
        return own if self.inverse is None else {**own, "inverse": self.inverse}

    def recall(self, memory: Memory) -> None:
        self.inverse = memory.get("inverse")
        self.free = bool(memory["free"])
        if memory["differences"]:
            self.derivatives = None

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        size = float(np.linalg.norm(residual))
        slow = self.last_size is not None and size > self.method.contraction * self.last_size
        if slow and self.free:
            self._doubt()
        if self.inverse is None or slow or self.free:
            self.inverse = self._inverse(x, value)
        self.last_size = size
        return value if self.inverse is None else x - self.inverse @ residual

    def _doubt(self) -> None:
        self.misses += 1
        if self.misses == self.method.misses:
            self.derivatives = None

    def _inverse(self, x: Floats, value: Floats) -> Floats | None:
        """None where the step cannot be done at the points that are needed, or where it answers nothing definite."""
        system = self._jacobian(x, value) - np.eye(len(x))
        if not np.all(np.isfinite(system)) or np.linalg.matrix_rank(system) < len(system):
            return None
        return np.asarray(np.linalg.inv(system))

    def _jacobian(self, x: Floats, value: Floats) -> Floats:
        """Differences last: they leave the components at another point."""
        matrix, left = np.zeros((len(x), len(x))), np.ones(len(x), dtype=bool)
        if self.derivatives is not None:
            found = self.derivatives()
            matrix, left = found.matrix, ~found.known
        self.free = not left.any()
        if not self.free:
            matrix[:, left] = self._differences(left, x, value)
        return matrix

    def _differences(self, columns: NDArray[np.bool_], x: Floats, value: Floats) -> Floats:
        def step(part: Floats) -> Floats:
            moved = x.copy()
            moved[columns] = part
            return self.interface.step(moved)

        differences = FiniteDifferences(self.interface.pattern()[:, columns], self.method.relative_step)
        return differences.at(step, x[columns], value, Domain.of_size(int(columns.sum())))
