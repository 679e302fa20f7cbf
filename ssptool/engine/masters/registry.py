"""Registry of masters: their entries, the capabilities of FMUs, and the system for which the plan chooses a master.

A master is one module with a class that implements `CouplingMaster` and with a `MasterEntry` called `MASTER`, and one
line that registers its name (`ssptool.engine.method_names`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import NamedTuple

from ssptool.engine.masters.master import CouplingMaster
from ssptool.engine.masters.power_bonds import PowerBond
from ssptool.engine.masters.protocols import InputApproximation
from ssptool.engine.method_names import ApproximationName, NamedMaster, named, registered
from ssptool.engine.settings import Choice, Settings
from ssptool.errors import ContradictingSettings, WrongValue, abbreviated
from ssptool.fmu.description import FmuDescription, Interface, InterfaceType
from ssptool.network.network import FlatComponent

FOLLOWS = "follows varying inputs"
SAVES = "saves and restores its state"
VARIES_STEP = "accepts steps of any size"

ADJOINT = "fmi3GetAdjointDerivative"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Capabilities of one component; `obstacles` are the reasons why its inputs can only be held. `continuous`: no
    event changes its connected inputs or its outputs, as far as variabilities tell.

    `answers_by_derivatives`: the FMU gives all partial derivatives, including those with respect to its states, that
    determine the response of its outputs at the end of a step to an input over it. They may be `adjoint_derivatives`
    only.
    """

    saves_state: bool
    directional_derivatives: bool
    obstacles: tuple[str, ...]
    varies_step: bool = True
    adjoint_derivatives: bool = False
    answers_by_derivatives: bool = False
    rejects_steps: bool = False
    continuous: bool = True

    @property
    def repeats_steps(self) -> bool:
        """True if a step can be repeated."""
        return self.saves_state or self.rejects_steps

    @property
    def follows(self) -> bool:
        return not self.obstacles


def capabilities(
    component: FlatComponent,
    wired: tuple[str, ...],
    kind: InterfaceType = InterfaceType.CO_SIMULATION,
    *,
    jumps: bool = False,
) -> Capabilities:
    """Capabilities of an interface of a component for its `wired` inputs; `jumps`: connected variables may change at
    events.
    """
    fmu = component.description
    interface = fmu.interface(kind)
    if interface is None:
        return Capabilities(False, False, (f"it does not offer {kind}",))
    if kind is InterfaceType.MODEL_EXCHANGE:
        # Without events, only time and continuous states have to be saved.
        saves_state = interface.saves_state or not fmu.event_indicators
        return Capabilities(saves_state, interface.directional_derivatives, (), continuous=False)
    obstacles = tuple(_obstacles(fmu, interface, wired)) if wired else ()
    # Derivatives with respect to a held input do not describe its effect over a step.
    moves = not any(fmu.variables[name].is_held for name in wired)
    offered = moves and (interface.directional_derivatives or interface.adjoint_derivatives)
    # An FMU for co-simulation only may have states although it lists no derivatives.
    knows_states = bool(fmu.derivatives) or fmu.model_exchange is not None
    return Capabilities(
        interface.saves_state,
        interface.directional_derivatives,
        obstacles,
        interface.any_step,
        interface.adjoint_derivatives,
        offered and knows_states,
        interface.rejects_steps,
        moves and not jumps,
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


@dataclass(frozen=True, slots=True)
class Situation:
    """The system for which a master is chosen, in document order: components with connected inputs, cycles of mutually
    coupled components, and all components. `bonds` are power bonds; `successors`
    are fed by others. `single`: inputs of mutually coupled components are of type Float32.
    """

    capabilities: Mapping[str, Capabilities]
    cycles: Sequence[tuple[str, ...]]
    everyone: Mapping[str, Capabilities]
    bonds: tuple[PowerBond, ...] = ()
    successors: frozenset[str] = frozenset()
    single: bool = False

    @property
    def bonded(self) -> tuple[str, ...]:
        """Components at power bonds."""
        return tuple(dict.fromkeys(end.component for bond in self.bonds for end in (bond.first, bond.second)))

    @property
    def cyclic(self) -> tuple[str, ...]:
        return tuple(name for cycle in self.cycles for name in cycle)

    def following(self) -> tuple[str, ...]:
        return tuple(name for name, can in self.capabilities.items() if can.follows)

    def obstacles(self) -> str:
        """Reasons why some inputs can only be held; empty if none."""
        held: dict[tuple[str, ...], list[str]] = {}
        for name, can in self.capabilities.items():
            if can.obstacles:
                held.setdefault(tuple(can.obstacles), []).append(name)
        return abbreviated(
            (f"{abbreviated(names)}: {', '.join(causes)}" for causes, names in held.items()), separator="; "
        )


class Refusal(NamedTuple):
    """Reason why something is not possible, and advice."""

    reason: str
    advice: str


@dataclass(frozen=True, slots=True)
class MasterEntry:
    """Properties of a master that the plan needs.

    Attributes
    ----------
    create
        (input approximation, settings, situation) → the master, and choices for it with reasons. Raises WrongValue for
        a setting out of range.
    approximation
        Default approximation of inputs, if FMUs support it.
    refused_approximations
        Approximations of inputs that the master cannot use.
    settings
        Settings that only some masters have, including this one → reason and advice for the other masters. Settings
        that no entry lists apply to all masters.
    repeats_steps
        True if steps of mutually coupled components are repeated.
    """

    create: Callable[[InputApproximation, Settings, Situation], tuple[CouplingMaster, Sequence[Choice]]]
    approximation: ApproximationName = ApproximationName.HOLD
    refused_approximations: Mapping[ApproximationName, Refusal] = field(default_factory=dict)
    settings: Mapping[str, Refusal] = field(default_factory=dict)
    repeats_steps: bool = False


def entry_of(master: NamedMaster) -> MasterEntry:
    """Entry in the module of a master.

    Raises
    ------
    WrongValue
        The module has no entry, for example because it is the script of another process.
    """
    entry = getattr(import_module(master.module), "MASTER", None)
    if not isinstance(entry, MasterEntry):
        raise WrongValue(
            f"master {master.name}: the module {master.module} has no MasterEntry called MASTER; state it in a module "
            "that every process can import"
        )
    return entry


def master_entry(name: str) -> MasterEntry:
    """The master of this name. Raises KeyError."""
    return entry_of(named(name))


def check_settings_of_master(name: str, settings: Settings) -> None:
    """Reject an input approximation that the master cannot use, and settings that only other masters have.

    Raises
    ------
    ContradictingSettings
    """
    entry = master_entry(name)
    if refusal := entry.refused_approximations.get(settings.approximation):
        raise ContradictingSettings(f"master {name} with approximation {settings.approximation}", *refusal)
    for setting, refusal in _claimed():
        if setting not in entry.settings and (given := _given(setting, settings)):
            raise ContradictingSettings(f"{given} with master {name}", *refusal)


def _claimed() -> Iterator[tuple[str, Refusal]]:
    for master in registered():
        yield from entry_of(master).settings.items()


def _given(setting: str, settings: Settings) -> str:
    """A setting with its value, if it has an effect; otherwise empty."""
    value = getattr(settings, setting)
    if value == getattr(Settings(), setting) or value == "none":
        return ""
    return setting if isinstance(value, Mapping) else f"{setting} {value}"
