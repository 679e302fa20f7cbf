"""Connections of parameters: what comes through them is known before the first step."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ssptool.engine.unsupported import Unsupported
from ssptool.network.network import Network, Port
from ssptool.network.signals import Signal, Wire

GIVEN = frozenset({"parameter", "structuralParameter"})
"""Kinds of connectors of the system whose values are known: they were given to what they lead to (SSP 2.0 §5.2.3)."""

CALCULATED = frozenset({"calculatedParameter", "constant"})
"""Kinds of connectors of components that an FMU knows the values of in initialization mode."""

_TAKING = frozenset({"input", "inout", "parameter"})


class Settled(NamedTuple):
    """A network without its connections of parameters, and those of them through which FMUs tell each other values in
    initialization mode.
    """

    network: Network
    wires: tuple[Wire, ...]
    notes: tuple[str, ...]


def with_connected_locals(network: Network) -> Network:
    """The network with connectors of kind `local` that are connected as the outputs that they act as (SSP 2.0
    §5.3.2.1, Allowed Connections).
    """
    ends = {end for wire in network.wires for end in (wire.source, wire.destination)}

    def acting(ports: tuple[Port, ...]) -> tuple[Port, ...]:
        return tuple(
            replace(port, kind="output") if port.kind == "local" and port.signal in ends else port for port in ports
        )

    components = {name: replace(one, ports=acting(one.ports)) for name, one in network.components.items()}
    return replace(network, components=components, ports=acting(network.ports))


def settle_parameters(network: Network) -> Settled:
    """Take the connections of parameters out of the network.

    Raises
    ------
    Unsupported
        One of them leads to where a value cannot be set any more when it is known.
    """
    ports = _ports(network)
    apart = [wire for wire in network.wires if is_of_parameters(wire, ports)]
    if not apart:
        return Settled(network, (), ())
    for wire in apart:
        if problem := _problem(network, wire, ports):
            raise problem
    calculated = tuple(wire for wire in apart if wire.source.component and wire.destination.component)
    out = [str(wire.destination) for wire in apart if not wire.destination.component]
    notes = (f"not recorded, because they are no signals: {', '.join(out)}",) if out else ()
    wires = tuple(wire for wire in network.wires if wire not in apart)
    return Settled(replace(network, wires=wires, dangling=(*network.dangling, *apart)), calculated, notes)


def is_of_parameters(wire: Wire, ports: dict[Signal, Port]) -> bool:
    source = ports.get(wire.source)
    return source is not None and source.kind in (CALCULATED if wire.source.component else GIVEN)


def _ports(network: Network) -> dict[Signal, Port]:
    return {port.signal: port for port in _every(network)}


def _every(network: Network) -> Iterator[Port]:
    yield from network.ports
    for component in network.components.values():
        yield from component.ports


def _problem(network: Network, wire: Wire, ports: dict[Signal, Port]) -> Unsupported | None:
    subject, destination = f"connection {wire.source} → {wire.destination}", ports.get(wire.destination)
    if not wire.source.component or not wire.destination.component or destination is None:
        return None
    if destination.kind not in _TAKING:
        return Unsupported(
            subject,
            f"{wire.source} is known when the FMUs are in initialization mode, and the {destination.kind} "
            f"{wire.destination} has to be set before that",
            "give it its value in a parameter set",
        )
    for signal in (wire.source, wire.destination):
        if network.components[signal.component].description.fmi_major == 1:
            return Unsupported(
                subject,
                f"the FMU of {signal.component} is of FMI 1.0, which has no initialization mode to exchange it in",
                "give the parameter its value in a parameter set",
            )
    return None
