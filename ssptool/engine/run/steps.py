"""Steps of a plan of any kind: co-simulation, one ODE, or both."""

from typing import TYPE_CHECKING, TypeAlias

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.run.system import LoadedSystem, SystemSteps

if TYPE_CHECKING:
    from ssptool.engine.run.ode_steps import OdeBesideSteps, OdeSteps

AnySteps: TypeAlias = "SystemSteps | OdeSteps | OdeBesideSteps"


def steps_of(loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> AnySteps:
    """Prepare the first step of an initialized or `resumed` system."""
    if assembly.plan.ode is None:
        return SystemSteps(loaded, assembly, resumed=resumed)
    from ssptool.engine.run.ode_steps import steps_with_ode  # needed for model exchange only

    return steps_with_ode(loaded, assembly, resumed=resumed)
