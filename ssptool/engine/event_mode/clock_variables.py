"""The clocks among the variables of a component."""

from ssptool.engine.unsupported import Unsupported
from ssptool.fmu.clocks import Clock, clock_of, in_system
from ssptool.fmu.description import Variable
from ssptool.network.network import Component


def clock_in(component: Component, variable: Variable) -> Clock:
    """A variable of type Clock as its connector has it, if it has one.

    Raises
    ------
    Unsupported
        Clock or connector state what does not go together.
    """
    stated = {port.signal.variable: port.clock for port in component.ports}
    try:
        return in_system(clock_of(variable), variable, stated.get(variable.name, ()))
    except ValueError as error:
        raise Unsupported(
            f"component {component.name}", str(error), "correct the connector, or ask for a corrected FMU"
        ) from None


def is_triggered(variable: Variable) -> bool:
    """Whether a variable of type Clock ticks when something tells it to."""
    return clock_of(variable).triggered
