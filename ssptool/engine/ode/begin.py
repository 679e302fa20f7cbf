"""From a coupled system to its integration."""

from collections.abc import Callable

from ssptool.engine.assembly import Assembly
from ssptool.engine.ending import Failure
from ssptool.engine.masters.master import Instances, Stepper
from ssptool.engine.ode.integrated import Integrated
from ssptool.engine.ode.system import OdeSystem


class MissingIntegrator(Exception):
    """FMPy brings no SUNDIALS for this platform."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"model exchange needs CVODE, which FMPy does not bring for this platform ({reason}); "
            "run the components as co-simulation (--implementation cs), if the FMUs offer it"
        )
        self.reason = reason


def begin(
    assembly: Assembly, everything: Instances, evaluate: Callable[[int, float], Failure | None]
) -> Stepper | None:
    """The components of model exchange at the first instant of continuous time; None where there are none.

    Raises
    ------
    MissingIntegrator
        There is no CVODE here.
    """
    plan, master = assembly.plan, assembly.plan.master
    if not isinstance(master, Integrated):
        return None
    try:
        # Only here: other platforms can co-simulate all the same.
        from ssptool.engine.ode.integration import Integration
    except (ImportError, OSError) as error:
        raise MissingIntegrator(str(error)) from error

    system = OdeSystem(assembly, everything.sweep, everything.group, evaluate)
    integration = Integration(system, plan, master)
    integration.begin()
    return integration
