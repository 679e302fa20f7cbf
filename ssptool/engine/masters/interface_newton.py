"""Newton's method on the interface of a group, with a Jacobian of the step that is kept while it serves."""

from dataclasses import dataclass

import numpy as np

from ssptool.engine.kernel.interface import Floats
from ssptool.engine.loops.iterate import Proposal
from ssptool.engine.loops.jacobian import FiniteDifferences
from ssptool.engine.loops.solution import Domain
from ssptool.engine.masters.acceleration import Accelerator, Interface
from ssptool.engine.masters.master import Memory


@dataclass(frozen=True, slots=True)
class InterfaceNewton:
    """Solve (dS/dx − 1) p = x − S(x), where S maps the inputs at the end of a step to what comes out for them.

    dS/dx is taken by finite differences of whole steps, one step per colour of the pattern of what depends on what. It
    is kept from iteration to iteration and from step to step, and taken anew when an iteration reduces the residual
    by less than `contraction`.

    References
    ----------
    Sicklinger, Belsky, Engelmann, Elmqvist, Olsson, Wüchner, Bletzinger 2014, "Interface Jacobian-based
    co-simulation"; Curtis, Powell, Reid 1974 (colours); Kelley 2003, "Solving nonlinear equations with Newton's
    method", §2.3 (when to renew the Jacobian).
    """

    contraction: float = 0.2
    relative_step: float = 1e-5

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
        self.inverse: Floats | None = None
        self.last_size: float | None = None

    def begin(self) -> Proposal:
        self.last_size = None
        return self

    def memory(self) -> Memory:
        return {} if self.inverse is None else {"inverse": self.inverse}

    def recall(self, memory: Memory) -> None:
        self.inverse = memory.get("inverse")

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        size = float(np.linalg.norm(residual))
        slow = self.last_size is not None and size > self.method.contraction * self.last_size
        if self.inverse is None or slow:
            self.inverse = self._inverse(x, value)
        self.last_size = size
        return value if self.inverse is None else x - self.inverse @ residual

    def _inverse(self, x: Floats, value: Floats) -> Floats | None:
        """None where the step cannot be done at the points that are needed, or where it answers nothing definite."""
        differences = FiniteDifferences(self.interface.pattern(), self.method.relative_step)
        system = differences.at(self.interface.step, x, value, Domain.of_size(len(x))) - np.eye(len(x))
        if not np.all(np.isfinite(system)) or np.linalg.matrix_rank(system) < len(system):
            return None
        return np.asarray(np.linalg.inv(system))
