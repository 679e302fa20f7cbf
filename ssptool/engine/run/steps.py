"""Steps of a plan of any kind: co-simulation, one ODE, or both."""

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.run.system import LoadedSystem, SystemSteps


def steps_of(loaded: LoadedSystem, assembly: Assembly, *, resumed: bool = False) -> SystemSteps:
    """Prepare the first step of an initialized or `resumed` system."""
    if assembly.plan.ode is None:
        return SystemSteps(loaded, assembly, resumed=resumed)
    from ssptool.engine.run.ode_steps import OdeSteps  # needed for model exchange only

    return OdeSteps(loaded, assembly, resumed=resumed)
