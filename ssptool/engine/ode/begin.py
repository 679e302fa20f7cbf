"""From an initialized system to the integration of its components of model exchange."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ssptool.engine.assembly import Assembly
from ssptool.engine.cells import copy_cells
from ssptool.engine.ending import Failure
from ssptool.engine.masters.partners import Drive
from ssptool.engine.ode.beside import Beside
from ssptool.engine.ode.integrated import Integrated
from ssptool.engine.ode.system import OdeSystem, Sweeps

if TYPE_CHECKING:
    # Not where there is no CVODE.
    from ssptool.engine.ode.alone import Alone
    from ssptool.engine.ode.component import OdeComponent
    from ssptool.engine.ode.integration import Integration

Evaluate = Callable[[int, float], Failure | None]


class MissingIntegrator(Exception):
    """FMPy brings no SUNDIALS for this platform."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"model exchange needs CVODE, which FMPy does not bring for this platform ({reason}); "
            "run the components as co-simulation (--implementation cs), if the FMUs offer it"
        )
        self.reason = reason


def begin_alone(assembly: Assembly, sweeps: Sweeps, evaluate: Evaluate, *, afresh: bool) -> "Alone":
    """A system that is nothing but an ODE, at the first instant of continuous time; or if it does not start `afresh`,
    before it recalls where it was.

    Raises
    ------
    MissingIntegrator
        There is no CVODE here.
    """
    integration = _integration(assembly, sweeps, evaluate, assembly.driver)
    from ssptool.engine.ode.alone import Alone

    alone = Alone(integration, assembly.plan.interval)
    if afresh:
        alone.begin()
    return alone


def begin_beside(assembly: Assembly, sweeps: Sweeps, evaluate: Evaluate, *, afresh: bool) -> "OdeComponent":
    """An ODE beside components of co-simulation, likewise; `sweeps` and `evaluate` are those of the kernel of its own.

    Raises
    ------
    MissingIntegrator
        There is no CVODE here.
    """
    plan, own = assembly.plan, assembly.of_ode.kernel
    copy_cells(assembly.kernel, own, np.arange(len(own.values)), plan.numbered)
    integration = _integration(assembly.of_ode, sweeps, evaluate)
    from ssptool.engine.ode.component import OdeComponent

    component = OdeComponent(integration, assembly)
    if afresh:
        component.begin()
    assert assembly.ode is not None
    assembly.ode.stepped = component
    return component


def _integration(assembly: Assembly, sweeps: Sweeps, evaluate: Evaluate, drive: Drive | None = None) -> "Integration":
    plan, master = assembly.plan, assembly.plan.master
    integrator = master.integrator if isinstance(master, Beside) else master
    assert plan.ode is not None and isinstance(integrator, Integrated)
    try:
        # Only here: other platforms can co-simulate all the same.
        from ssptool.engine.ode.integration import Integration
    except (ImportError, OSError) as error:
        raise MissingIntegrator(str(error)) from error
    everyone = assembly.kernel.group(range(len(plan.instances)))
    integration = Integration(OdeSystem(assembly, plan.ode, sweeps, everyone, evaluate, drive), plan, integrator)
    # Not at the end of the run: a simulation that stands there can still be saved, and its inputs set.
    assembly.at_end.callback(integration.close)
    return integration
