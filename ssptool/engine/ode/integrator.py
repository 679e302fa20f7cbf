"""Integrator of an ODE as a master: its method and tolerance. Plans need it where there is no CVODE, too."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ssptool.engine.masters.master import CoupledSystem, Stepper
from ssptool.engine.masters.protocols import Participants


class Method(IntEnum):
    """Linear multistep formulas: Adams-Moulton for smooth problems, BDF for stiff ones. The numbers are CVODE's."""

    ADAMS = 1
    BDF = 2


@dataclass(frozen=True, slots=True)
class Integrator:
    """CVODE integrates all components together; communication points are where it is looked at.

    Attributes
    ----------
    rtol
        Relative tolerance of every state; the absolute one is this times its nominal value.
    directional
        The Jacobian comes from the components' directional derivatives, else from finite differences.
    """

    method: Method = Method.BDF
    rtol: float = 1e-6
    directional: bool = False

    @property
    def name(self) -> str:
        return "integrated"

    @property
    def chooses_steps(self) -> bool:
        return True

    def start(self, system: CoupledSystem) -> Stepper:
        if system.integration is None:
            raise ValueError("the components of this system are not those of model exchange")
        return system.integration

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        return (
            *self._integration(f"the states of {', '.join(map(str, groups))}"),
            "at the communication point: interpolate the states; evaluate",
        )

    def as_component(self) -> tuple[str, ...]:
        """Lines on how the ODE is stepped beside other components."""
        return (
            *self._integration("the states of components of model exchange, all together"),
            "it restarts at each macro step that begins with a jump of inputs or is repeated, and keeps its Jacobian "
            "for several steps",
        )

    def _integration(self, what: str) -> tuple[str, ...]:
        return (
            f"CVODE ({self.method.name}, relative tolerance {self.rtol:g}) integrates {what}; for x':",
            "  set time and states; evaluate; get derivatives",
            "after each of its steps: tell the components; at a root, a time event, or where one asks for it:",
            "  event mode; new discrete states and evaluate until nothing changes; continuous-time mode; restart",
        )
