"""Integrator of an ODE as a master: its method and tolerance. Plans also need it if CVODE is not available."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ssptool.engine.masters.protocols import Participants


class Method(IntEnum):
    """Formulas of integrators, with the numbers that the kernel gives them.

    One-step formulas of the kernel: Dormand-Prince for problems that are not stiff, a Rosenbrock method (linearly
    implicit) for stiff ones. Linear multistep formulas of CVODE: Adams-Moulton for smooth problems, BDF for stiff ones.
    """

    DORMAND_PRINCE = 0
    ROSENBROCK = 1
    ADAMS = 2
    BDF = 3

    @classmethod
    def named(cls, name: str) -> "Method":
        """The method with this name in settings."""
        return cls[name.upper().replace("-", "_")]

    @property
    def setting(self) -> str:
        return self.name.lower().replace("_", "-")

    @property
    def of_kernel(self) -> "Method":
        """The method of the kernel for the same kind of problems."""
        return _OF_KERNEL.get(self, self)

    @property
    def title(self) -> str:
        return _TITLES[self]

    @property
    def is_of_cvode(self) -> bool:
        return self in (Method.ADAMS, Method.BDF)

    @property
    def is_implicit(self) -> bool:
        """True if the method needs df/dx."""
        return self is not Method.DORMAND_PRINCE


_OF_KERNEL = {Method.ADAMS: Method.DORMAND_PRINCE, Method.BDF: Method.ROSENBROCK}

_TITLES = {
    Method.ADAMS: "CVODE (ADAMS)",
    Method.BDF: "CVODE (BDF)",
    Method.DORMAND_PRINCE: "Dormand-Prince 5(4)",
    Method.ROSENBROCK: "Rodas5P (Rosenbrock)",
}


RETREATED = "--integrator NAME keeps one integrator"
"""Part of the remark that another integrator has replaced the first one."""


@dataclass(frozen=True, slots=True)
class Integrator:
    """One solver integrates all components together; communication points are only points of output.

    Attributes
    ----------
    rtol
        Relative tolerance of every state; the absolute one is this times its nominal value.
    directional
        True: the Jacobian comes from the components' directional derivatives. False: from finite differences.
    retreats
        True if another method may replace this one when it cannot continue, because the user has not chosen a method.
    """

    method: Method = Method.BDF
    rtol: float = 1e-6
    directional: bool = False
    retreats: bool = False

    @property
    def name(self) -> str:
        return "integrated"

    @property
    def chooses_steps(self) -> bool:
        return True

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (
            *self._integration(f"the states of {', '.join(map(str, groups))}"),
            "at the communication point: interpolate the states; evaluate",
        )

    def as_component(self) -> tuple[str, ...]:
        """Lines on the steps of the ODE in a mixed system."""
        return (
            *self._integration("the states of components of model exchange, all together"),
            "it restarts at each macro step that begins with a jump of inputs or is repeated"
            + (", and keeps its Jacobian for several steps" if self.method.is_of_cvode else ""),
        )

    def _integration(self, what: str) -> tuple[str, ...]:
        return (
            f"{self.method.title}, with a relative tolerance of {self.rtol:g}, integrates {what}; for x':",
            "  set time and states; evaluate; get derivatives",
            "after each of its steps: tell the components; at a root, a time event, or where one asks for it:",
            "  event mode; new discrete states and evaluate until nothing changes; continuous-time mode; restart",
        )
