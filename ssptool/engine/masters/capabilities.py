"""Capabilities of a component's FMU that a master algorithm can use."""

from collections.abc import Iterator
from dataclasses import dataclass

from ssptool.fmu.description import FmuDescription, Interface, InterfaceType
from ssptool.network.network import FlatComponent

FOLLOWS = "follows inputs that vary over a step"
SAVES = "saves and restores its state"
VARIES_STEP = "accepts steps of any size"

ADJOINT = "fmi3GetAdjointDerivative"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Of one component; `obstacles` are the reasons for which its inputs can only be held.

    `answers_by_derivatives`: how its outputs at the end of a step answer to an input over it follows from partial
    derivatives that it gives, those by its states included. `adjoint_derivatives` may be the only ones.
    """

    saves_state: bool
    directional_derivatives: bool
    obstacles: tuple[str, ...]
    varies_step: bool = True
    adjoint_derivatives: bool = False
    answers_by_derivatives: bool = False
    rejects_steps: bool = False

    @property
    def repeats_steps(self) -> bool:
        """Whether a step can be done again."""
        return self.saves_state or self.rejects_steps

    @property
    def follows(self) -> bool:
        return not self.obstacles


def capabilities(
    component: FlatComponent, wired: tuple[str, ...], kind: InterfaceType = InterfaceType.CO_SIMULATION
) -> Capabilities:
    """Capabilities of an interface of a component for its `wired` inputs."""
    fmu = component.description
    interface = fmu.interface(kind)
    if interface is None:
        return Capabilities(False, False, (f"it does not offer {kind}",))
    if kind is InterfaceType.MODEL_EXCHANGE:
        # Without events, time and continuous states are all that there is to save.
        return Capabilities(interface.saves_state or not fmu.event_indicators, interface.directional_derivatives, ())
    obstacles = tuple(_obstacles(fmu, interface, wired)) if wired else ()
    # Derivatives by an input that is held say nothing of how it acts in a step.
    moves = not any(fmu.variables[name].is_held for name in wired)
    offered = moves and (interface.directional_derivatives or interface.adjoint_derivatives)
    # Without a list of derivatives a mere co-simulation FMU may have states all the same.
    knows_states = bool(fmu.derivatives) or fmu.model_exchange is not None
    return Capabilities(
        interface.saves_state,
        interface.directional_derivatives,
        obstacles,
        interface.variable_step,
        interface.adjoint_derivatives,
        offered and knows_states,
        interface.rejects_steps,
    )


def _obstacles(fmu: FmuDescription, interface: Interface, wired: tuple[str, ...]) -> Iterator[str]:
    if fmu.fmi_major < 3 and not interface.input_derivatives:
        yield "canInterpolateInputs is not set"
    if fmu.fmi_major == 3 and not interface.intermediate_update:
        yield "providesIntermediateUpdate is not set"
    variables = {variable.array or name: variable for name in wired if (variable := fmu.variables[name])}
    if all(variable.is_held for variable in variables.values()):
        yield from (f"input {name} is {variable.variability}" for name, variable in variables.items())
    if fmu.fmi_major == 3 and interface.intermediate_update:
        moving = (name for name, variable in variables.items() if not variable.is_held)
        silent = (name for name in moving if not variables[name].intermediate_update)
        yield from (f"intermediateUpdate is not set for input {name}" for name in silent)
