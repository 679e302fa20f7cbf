"""Interface of each component: co-simulation or model exchange, from the SSD, the FMU and the settings."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ssptool.engine.failure import Unsupported, UnsupportedByFmu
from ssptool.engine.settings import ASKED, Choice, ImplementationName, Settings
from ssptool.errors import abbreviated
from ssptool.fmu.description import InterfaceType
from ssptool.network.network import FlatComponent, Network

EXCHANGE, SIMULATION = InterfaceType.MODEL_EXCHANGE, InterfaceType.CO_SIMULATION
_ASKED_FOR = {ImplementationName.ME: EXCHANGE, ImplementationName.CS: SIMULATION}
_WORDS = {EXCHANGE: "model exchange", SIMULATION: "co-simulation"}


class Implementations(NamedTuple):
    """By component; `exchange` are those of model exchange, to be integrated as one ODE."""

    of: Mapping[str, InterfaceType]
    choice: Choice
    notes: tuple[str, ...]

    @property
    def exchange(self) -> tuple[str, ...]:
        return tuple(name for name, kind in self.of.items() if kind is EXCHANGE)


def choose_implementations(network: Network, settings: Settings) -> Implementations:
    """What `--implementation` asks for; else what the SSD states; else co-simulation where the FMU offers it.

    Raises
    ------
    UnsupportedByFmu
        An FMU does not offer what was asked for.
    Unsupported
        A component is to be run as scheduled execution.
    """
    components = network.components.values()
    asked = settings.implementation is not ImplementationName.AUTO
    of = {
        one.name: _demanded(one, _ASKED_FOR[settings.implementation]) if asked else _stated(one) for one in components
    }
    choice = Choice("implementation", _value(of), ASKED if asked else _reason(components))
    return Implementations(of, choice, tuple(_notes(network, of)))


def _demanded(component: FlatComponent, kind: InterfaceType) -> InterfaceType:
    if component.description.interface(kind) is None:
        other = SIMULATION if kind is EXCHANGE else EXCHANGE
        raise UnsupportedByFmu(component.name, f"offers {_WORDS[kind]}", f"implementation {kind}", _WORDS[other])
    return kind


def _stated(component: FlatComponent) -> InterfaceType:
    if component.implementation in (EXCHANGE, SIMULATION):
        return _demanded(component, InterfaceType(component.implementation))
    if component.implementation == "ScheduledExecution":
        raise Unsupported(
            f"component {component.name}", "scheduled execution is not supported", "use co-simulation or model exchange"
        )
    if component.description.co_simulation is None:
        return EXCHANGE
    return SIMULATION


def _value(of: Mapping[str, InterfaceType]) -> str:
    by_kind = {kind: [name for name, own in of.items() if own is kind] for kind in (SIMULATION, EXCHANGE)}
    present = {kind: names for kind, names in by_kind.items() if names}
    if len(present) == 1:
        return _WORDS[next(iter(present))]
    return " and ".join(f"{_WORDS[kind]} of {abbreviated(names)}" for kind, names in present.items())


def _reason(components: Iterable[FlatComponent]) -> str:
    stated = {one.implementation for one in components} & set(map(str, InterfaceType))
    if stated:
        return "stated in the system"
    if any(one.description.co_simulation is None for one in components):
        return "all that the FMUs offer"
    return "offered by all FMUs"


def _notes(network: Network, of: Mapping[str, InterfaceType]) -> Iterable[str]:
    able = all(one.description.model_exchange is not None for one in network.components.values())
    if able and SIMULATION in of.values():
        yield "all components offer model exchange: they can be integrated as one ODE (--implementation me)"
